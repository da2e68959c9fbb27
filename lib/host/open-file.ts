/** Calls on an open file of this machine, and what stands at a path in the words of the port. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  ftruncateSync,
  lchownSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  writeSync,
} from "node:fs";
import { andThen, lastly, type MaybeWaiting } from "../internal/maybe-waiting.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { keepingCapabilities } from "./extra-attributes.ts";
import { losesCapabilities } from "./hands.ts";
import { hostError } from "./host-error.ts";
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

/** Blocks of this size are holes or none on the file systems that have holes. */
const blockBytes = 4096;
const zeros = Buffer.alloc(blockBytes);

/**
 * Copies an open file to one that is empty, as {@link eachPiece} reads it. A sparse file stays sparse: where the source takes
 * less room than its size, blocks of zeros are left out.
 */
export function copyFile(
  source: number,
  target: number,
  { take, signal }: { take?: (piece: Uint8Array) => void; signal?: AbortSignal | undefined } = {},
): MaybeWaiting<number> {
  const { blocks, size } = fstatSync(source);
  const isSparse = blocks * 512 < size;
  let at = 0;
  const write = (piece: Uint8Array): void => {
    take?.(piece);
    if (isSparse) writeSparse(target, piece, at);
    else writeAll(target, piece);
    at += piece.length;
  };
  return andThen(eachPiece(source, write, signal), (sizeBytes) => {
    if (isSparse) ftruncateSync(target, sizeBytes);
    return sizeBytes;
  });
}

function writeSparse(fd: number, piece: Uint8Array, position: number): void {
  for (let at = 0; at < piece.length;) {
    // Up to the next border of a block of the file, wherever the piece began.
    const end = Math.min(piece.length, at + blockBytes - ((position + at) % blockBytes));
    if (zeros.compare(piece, at, end, 0, end - at) !== 0)
      for (let from = at; from < end;) from += writeSync(fd, piece, from, end - from, position + from);
    at = end;
  }
}

/** Opens what stands at a path for reading, links refused, and closes it when it was used. */
export function withFile<T>(real: string, use: (fd: number) => T): T {
  const fd = openSync(real, readFlags);
  return lastly(
    () => use(fd),
    () => closeSync(fd),
  );
}

/**
 * `HOST_ERROR` with errno EMLINK for a file with several names in a folder that somebody can put names into: it may be one
 * that he could not read himself. `linksOf` is whose files are his own there; -1 = nobody's, null = everybody's.
 */
export function refuseLinked(
  path: string,
  look: (fd: number) => Stats,
  { fd = -1, linksOf }: { fd?: number; linksOf: number | null },
): void {
  if (linksOf === null) return;
  const stats = look(fd);
  if (stats.isFile() && stats.nlink > 1 && stats.uid !== linksOf) throw hostError(path, "EMLINK");
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
  const kind: FileStat["kind"] =
    format === S_IFREG ? "file" : format === S_IFDIR ? "directory" : format === S_IFLNK ? "symlink" : "other";
  const stat = { kind, mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid, sizeBytes: stats.size };
  return kind === "file" && stats.nlink > 1 ? { ...stat, links: stats.nlink } : stat;
}

/**
 * Owner before mode: a change of owner takes away the set-user-id bit, and capabilities, which are given back unless the next
 * owner is unprivileged.
 */
export function setAttributes(fd: number, { mode, uid = -1, gid = -1 }: FileAttributes): void {
  if (mode !== undefined && uid === -1 && gid === -1) return fchmodSync(fd, mode);
  const now = fstatSync(fd);
  const moves = (uid !== -1 && uid !== now.uid) || (gid !== -1 && gid !== now.gid);
  const give = (): void => fchownSync(fd, uid, gid);
  if (moves && losesCapabilities(now, uid)) give();
  else if (moves) keepingCapabilities(fd, give);
  const wanted = mode ?? (moves ? withoutSetId(now) : now.mode & 0o7777);
  if (moves || wanted !== (now.mode & 0o7777)) fchmodSync(fd, wanted);
}

/** The mode of a file that gets another owner: as with chown(2), it runs as that owner only where somebody says so. */
export function withoutSetId(stats: Stats): number {
  return stats.mode & (stats.isFile() ? 0o1777 : 0o7777);
}

/** Names a file without opening it: Linux alone has it, and Node no word for it. */
const O_PATH = 0o10_000_000;

/**
 * The same for a link, pipe, socket or device, which is not opened: that would wait for somebody, rewind a tape, or lead elsewhere.
 * `HOST_ERROR` with errno ELOOP for the mode of a link.
 */
export function setSpecialAttributes(real: string, attributes: FileAttributes): void {
  if (process.platform !== "linux") return setByPath(real, attributes);
  const fd = openSync(real, O_PATH | O_NOFOLLOW);
  try {
    const stats = fstatSync(fd);
    // Another thing was put there since it was looked at, or it is somebody else's by another name.
    if (stats.isFile() || stats.isDirectory()) throw hostError(real, "ESTALE");
    if (stats.nlink > 1) throw hostError(real, "EMLINK");
    change(`/proc/self/fd/${fd}`, toStat(stats), { attributes, chown: chownSync });
  } finally {
    closeSync(fd);
  }
}

function setByPath(real: string, attributes: FileAttributes): void {
  change(real, toStat(lstatSync(real)), { attributes, chown: lchownSync });
}

function change(
  path: string,
  now: FileStat,
  { attributes, chown }: { attributes: FileAttributes; chown: typeof chownSync },
): void {
  const { mode, uid = -1, gid = -1 } = attributes;
  if (mode !== undefined && now.kind === "symlink") throw hostError(path, "ELOOP");
  const moves = (uid !== -1 && uid !== now.uid) || (gid !== -1 && gid !== now.gid);
  if (moves) chown(path, uid, gid);
  if (mode === undefined || (!moves && mode === now.mode)) return;
  try {
    chmodSync(path, mode);
  } catch (error) {
    if (moves) chown(path, now.uid, now.gid);
    throw error;
  }
}
