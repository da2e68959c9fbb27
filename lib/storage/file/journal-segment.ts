/** A file of the journal: zeros on disk before it is used, so that a commit changes no metadata and needs no space. */
import { join } from "node:path";
import { isOrchestratorError } from "../../errors.ts";
import type { Disk, DiskFile, FileIdentity } from "./disk.ts";
import { storageError, takeEach } from "./errors.ts";
import { journalNameOf, type FoundSegment } from "./journal-replay.ts";
import { isBlankFrom } from "./record.ts";

const zeroBlock = Buffer.alloc(1 << 20);

/** A segment that is open for writing. */
export interface Segment {
  number: number;
  path: string;
  file: DiskFile;
  identity: FileIdentity | null;
  /** Where the next record goes. */
  end: number;
}

/** What segments are made of. */
export interface SegmentOptions {
  disk: Disk;
  folder: string;
  /** Size of a segment. */
  segmentBytes: number;
}

/** Throws where nothing may be written any more, be it zeros for later. */
type MayWrite = () => void;

/** Makes a segment durably, without a record; leaves none where it fails. */
export async function createSegment(
  { disk, folder, segmentBytes }: SegmentOptions,
  number: number,
  mayWrite: MayWrite,
): Promise<Segment> {
  const path = join(folder, journalNameOf(number));
  const file = await disk.open(path, "durable");
  try {
    await fillWithZeros(file, { from: 0, to: segmentBytes, mayWrite });
    await disk.syncFolder(folder);
  } catch (error) {
    await takeEach([() => file.close(), () => disk.remove(path)]).catch(() => {});
    throw error;
  }
  return { number, path, file, identity: disk.identityOf(path), end: 0 };
}

/** Opens a segment that was read: without what is torn off behind its last record, and with zeros there. */
export async function continueSegment(
  { disk, segmentBytes }: SegmentOptions,
  { number, path, content, end }: FoundSegment & { end: number },
): Promise<Segment> {
  const file = await disk.open(path, "durable");
  try {
    const isTorn = !isBlankFrom(content, end);
    if (isTorn) await file.truncate(end);
    // What a killed process took back may not be taken back on the disk.
    await file.sync();
    await refill(file, { from: isTorn ? end : content.length, to: segmentBytes });
  } catch (error) {
    await takeEach([() => file.close()]).catch(() => {});
    throw error;
  }
  return { number, path, file, identity: disk.identityOf(path), end };
}

/** Allocates again what a cut took from the end of a file, as far as there is space. */
export async function refill(file: DiskFile, { from, to }: { from: number; to: number }): Promise<void> {
  try {
    await fillWithZeros(file, { from, to, mayWrite: () => {} });
  } catch (error) {
    if (!isOrchestratorError(storageError(error), "STORAGE_FULL")) throw error;
  }
}

async function fillWithZeros(
  file: DiskFile,
  { from, to, mayWrite }: { from: number; to: number; mayWrite: MayWrite },
): Promise<void> {
  for (let at = from; at < to; at += zeroBlock.length) {
    mayWrite();
    await file.write(zeroBlock.subarray(0, to - at), at);
  }
}
