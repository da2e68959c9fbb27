/** Calls on an open file of this machine, and what stands at a path in the words of the port. */
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  openSync,
  readSync,
  type Stats,
  writeSync,
} from "node:fs";
import { andThen, lastly, type MaybeWaiting } from "../internal/maybe-waiting.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { FileAttributes, FileDigest, FileStat } from "./host.ts";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, S_IFDIR, S_IFLNK, S_IFMT, S_IFREG } = constants;

/** Not blocking, because a pipe may stand where a file was expected. */
export const readFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;

/** Reading allocates nothing: every slice is synchronous, so one buffer serves all. */
const buffer = Buffer.allocUnsafeSlow(65_536);

/** So much of a file is read before others get their turn: a few milliseconds. */
const sliceBytes = 4 * 1024 * 1024;

/** SHA-256 and size of an open file; see {@link eachPiece}. */
export function digest(fd: number, signal?: AbortSignal): MaybeWaiting<FileDigest> {
  const hash = createHash("sha256");
  const reading = eachPiece(fd, (piece) => hash.update(piece), signal);
  return andThen(reading, (sizeBytes) => ({ sha256: hash.digest("hex"), sizeBytes }));
}

/**
 * Reads an open file to its end in pieces that are good until the next; returns its size. A large file gives way to others
 * after each slice, and is left there where the signal is aborted.
 */
export function eachPiece(
  fd: number,
  take: (piece: Uint8Array) => void,
  signal?: AbortSignal,
): MaybeWaiting<number> {
  const sizeBytes = takeSlice(fd, take);
  return sizeBytes < sliceBytes ? sizeBytes : takeRest(fd, { take, sizeBytes, signal });
}

async function takeRest(
  fd: number,
  begun: { take: (piece: Uint8Array) => void; sizeBytes: number; signal: AbortSignal | undefined },
): Promise<number> {
  let { sizeBytes } = begun;
  for (let slice = sizeBytes; slice >= sliceBytes; sizeBytes += slice) {
    await nextTurn();
    begun.signal?.throwIfAborted();
    slice = takeSlice(fd, begun.take);
  }
  return sizeBytes;
}

/** Less than a slice only at the end of the file. */
function takeSlice(fd: number, take: (piece: Uint8Array) => void): number {
  let sizeBytes = 0;
  while (sizeBytes < sliceBytes) {
    const read = readSync(fd, buffer);
    if (read === 0) break;
    sizeBytes += read;
    take(buffer.subarray(0, read));
  }
  return sizeBytes;
}

/** Writes everything, however little the system takes at a time. */
export function writeAll(fd: number, content: Uint8Array): void {
  for (let at = 0; at < content.length;) at += writeSync(fd, content, at);
}

/** Opens what stands at a path for reading, links refused, and closes it when it was used. */
export function withFile<T>(real: string, use: (fd: number) => T): T {
  const fd = openSync(real, readFlags);
  return lastly(
    () => use(fd),
    () => closeSync(fd),
  );
}

/** Whether an open file holds exactly this content from where it stands. */
export function holds(fd: number, content: Uint8Array): boolean {
  let at = 0;
  while (at < content.length) {
    const read = readSync(fd, buffer, 0, Math.min(buffer.length, content.length - at), null);
    if (read === 0 || buffer.compare(content, at, at + read, 0, read) !== 0) return false;
    at += read;
  }
  return true;
}

/** What stands at a path, in the words of the port. */
export function toStat(stats: Stats): FileStat {
  const format = stats.mode & S_IFMT;
  const kind =
    format === S_IFREG ? "file" : format === S_IFDIR ? "directory" : format === S_IFLNK ? "symlink" : "other";
  return { kind, mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid, sizeBytes: stats.size };
}

/** Owner before mode: a change of owner takes away the set-user-id bit. */
export function setAttributes(fd: number, { mode, uid = -1, gid = -1 }: FileAttributes): void {
  if (mode !== undefined && uid === -1 && gid === -1) return fchmodSync(fd, mode);
  const now = fstatSync(fd);
  const moves = (uid !== -1 && uid !== now.uid) || (gid !== -1 && gid !== now.gid);
  if (moves) fchownSync(fd, uid, gid);
  const wanted = mode ?? now.mode & 0o7777;
  if (moves || wanted !== (now.mode & 0o7777)) fchmodSync(fd, wanted);
}
