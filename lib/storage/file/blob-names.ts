/** How the files of blobs are called. */

/** A blob. */
export const suffix = ".blob";
/** Stands for a blob that is missing, and was accepted as lost. */
export const lostSuffix = ".blob.lost";
/** A blob that was deleted while a backup was being made: nobody's any more but the backup's. */
export const deletedSuffix = ".blob.deleted";
/** A new blob before it is durable: it gets its name afterwards. */
export const draftSuffix = ".blob.new";
/** A mark that bytes are being added to a blob; see `syncedSize`. */
export const changingSuffix = ".blob.changing";

/** The path of what belongs to a blob. */
export function withSuffix(path: string, ending: string): string {
  return path.slice(0, -suffix.length) + ending;
}
