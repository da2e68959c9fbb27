/**
 * Blobs that commits dropped: their files are removed after the commit, and again when the journal is replayed. One that is
 * made anew under the same id therefore says so in the journal before it is written.
 *
 *   there ──drop──▶ being removed ──▶ removed ──keep──▶ there
 */
import type { Logger } from "../../logger.ts";
import type { Effect } from "../writes.ts";
import type { BlobFiles } from "./blobs.ts";

/** Takes in what an effect says about blobs: which of them a replay of the journal so far removes. */
export function noteDrop(dropped: Set<string>, effect: Effect): void {
  if (effect.kind === "dropBlob") dropped.add(effect.id);
  else if (effect.kind === "keepBlob") dropped.delete(effect.id);
}

/** What is dropped, until no replay can bring it up again. */
export class DroppedBlobs {
  readonly #blobs: BlobFiles;
  readonly #logger: Logger;
  /** What a replay of the journal would remove, since the newest checkpoint began. */
  #dropped: Set<string>;
  /** The same, from before it: nothing once that checkpoint is done. */
  #before = new Set<string>();
  /** Files that are still to be removed; null after that failed. */
  readonly #removals = new Map<string, Promise<void> | null>();

  /** @param dropped - What the replay at the start has found. */
  constructor(blobs: BlobFiles, logger: Logger, dropped: Set<string>) {
    this.#blobs = blobs;
    this.#logger = logger;
    this.#dropped = dropped;
  }

  /** Removes what was dropped and is there nevertheless: the last process did not come to it. */
  async open(): Promise<void> {
    const isThere = await this.#blobs.known();
    for (const id of this.#dropped) if (isThere(id)) await this.#blobs.delete(id);
  }

  /** Takes in an effect that is durable. Whatever is done with the blob after that is done after its removal. */
  apply(effect: Effect): void {
    noteDrop(this.#dropped, effect);
    if (effect.kind === "dropBlob") this.#remove(effect.id);
    else if (effect.kind === "keepBlob") this.#before.delete(effect.id);
  }

  /** Whether a replay would remove a blob of this id, unless the journal says that it is to be kept. */
  has(id: string): boolean {
    return this.#dropped.has(id) || this.#before.has(id);
  }

  /** Resolves when the file of a dropped blob is gone; rejects where it can't be removed. */
  async removed(id: string): Promise<void> {
    if (this.#removals.get(id) === null) this.#remove(id);
    // It may be dropped once more meanwhile.
    for (let one = this.#removals.get(id); one; one = this.#removals.get(id)) await one;
    if (this.#removals.get(id) === null) throw new Error(`The dropped blob ${id} is still there.`);
  }

  /** Has no replay remove a blob that is about to be made anew. `tell` brings that into the journal. */
  async keep(id: string, tell: () => Promise<void>): Promise<void> {
    while (this.has(id)) {
      await this.removed(id);
      await tell();
    }
  }

  /** A checkpoint begins: it stands for all drops so far. */
  beginCheckpoint(): void {
    for (const id of this.#dropped) this.#before.add(id);
    this.#dropped = new Set();
  }

  /** Resolves when the files of all drops before the checkpoint are gone; rejects where one can't be removed. */
  async settled(): Promise<void> {
    for (const id of this.#removals.keys()) await this.removed(id);
  }

  /** The checkpoint is done: the journal brings none of its drops again. */
  endCheckpoint(): void {
    this.#before.clear();
  }

  #remove(id: string): void {
    const removal = this.#blobs.delete(id).then(
      () => true,
      (error: unknown) => {
        this.#logger.error("A blob that was dropped could not be removed.", { id, error });
        return false;
      },
    );
    const ended = removal.then((isRemoved) => {
      if (this.#removals.get(id) !== ended) return;
      if (isRemoved) this.#removals.delete(id);
      else this.#removals.set(id, null);
    });
    this.#removals.set(id, ended);
  }
}
