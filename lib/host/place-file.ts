/**
 * Putting a finished file in the place of another:
 *
 * ```
 * temporary file, 0600 ──content──> owner ──> extras, ACL last ──> mode ──> renamed to its place
 *                          └─ mounted there, or all names to be kept ─> old content kept ──> written over ──> done
 *                                                                             └─ failure ──> old content written back
 * ```
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { dressThere, giveAll } from "./dress-there.ts";
import { giveFlags, keepingCapabilities, readExtras, unkeepable } from "./extra-attributes.ts";
import {
  capabilityAttribute,
  isCapable,
  isGiver,
  losesCapabilities,
  mustBeNew,
  withoutCapabilities,
} from "./hands.ts";
import { type HeldPlace, refuseHeld } from "./held.ts";
import { errnoOf, heldError, hostError, lostError } from "./host-error.ts";
import type { ChangeOptions, FileExtras, WriteOptions } from "./host.ts";
import { refuseLinked, setAttributes, toStat, withFile, withoutSetId } from "./open-file.ts";
import { temporaryBeside } from "./temporary-files.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;

/** How a file will stand in its place. */
export interface Placing {
  path: string;
  mode: number;
  uid?: number | undefined;
  gid?: number | undefined;
  /** What it has beside them; null = whatever a new file gets there. */
  extras: FileExtras | null;
  loseExtras: boolean;
  /** The file that must be written over in its place; null = a new one takes its place. */
  over: Stats | null;
  /** Nothing but a new file will do. */
  isNew: boolean;
  /** A link stands there, which goes. */
  isLink: boolean;
}

/** Where a file is to be put, and whose files with several names are his own there. */
export type Place = HeldPlace & { linksOf?: number | null };

/** Looks at what stands in the place of a file that is to be written. `HOST_ERROR` where it can't be replaced. */
export function lookAtPlace(at: Place, options: WriteOptions): Placing {
  const { path, real, linksOf = null, isFolderKnown = false } = at;
  const there = lstatSync(real, { throwIfNoEntry: false });
  if (there?.isDirectory()) throw hostError(path, "EISDIR");
  const { isMountPoint } = refuseHeld({ path, real, isFolderKnown, isFree: !there }, "write");
  const old = there?.isFile() && options.fresh !== true ? there : null;
  const keepsNothing = options.mode !== undefined && options.uid !== undefined && options.gid !== undefined;
  if (old && (!keepsNothing || options.keepLinks === true)) refuseLinked(path, () => old, { linksOf });
  const keepsLinks = options.keepLinks === true && old !== null && old.nlink > 1;
  if (keepsLinks) refuseForeignName(real, path, old);
  const { uid = old?.uid, gid = old?.gid } = options;
  const moves = old !== null && (old.uid !== uid || old.gid !== gid);
  const isNew = old !== null && mustBeNew(old, options, () => extrasAt(real));
  if (isNew && (keepsLinks || isMountPoint)) throw mustStayError(path);
  const kept = (): FileExtras | null => extrasToKeep({ at, old, fresh: options.fresh === true }, options);
  return {
    path,
    mode: options.mode ?? (old ? (moves ? withoutSetId(old) : old.mode & 0o7777) : 0o600),
    uid,
    gid,
    extras: options.extras ?? kept(),
    loseExtras: options.loseExtras === true,
    over: keepsLinks || isMountPoint ? old : null,
    isNew,
    isLink: there?.isSymbolicLink() === true,
  };
}

/** Null = whatever a new file gets there; in a folder of somebody else that would be for him to say. */
function extrasToKeep(
  { at, old, fresh }: { at: Place; old: Stats | null; fresh: boolean },
  options: WriteOptions,
): FileExtras | null {
  if (!old) return fresh ? {} : null;
  const { path, real, linksOf = null } = at;
  // A file of somebody else's by another name says nothing about this one.
  const isForeign = linksOf !== null && old.nlink > 1 && old.uid !== linksOf;
  if (isForeign || !isGiver(old, options.uid)) return {};
  const extras = extrasAt(real);
  if (!isCapable(extras) || !losesCapabilities(old, options.uid)) return extras;
  refuseCapabilityLoss(path, options);
  return extras && withoutCapabilities(extras);
}

/** What a program may do is not for an unprivileged owner to use as he likes. */
export function refuseCapabilityLoss(path: string, { loseExtras }: ChangeOptions): void {
  if (loseExtras !== true) throw lostError(path, new Map([[capabilityAttribute, "EPERM"]]));
}

/** A file that must become a new one and can't. */
export function mustStayError(path: string): Error {
  const why =
    "has to be written in its place, where whoever could write to it until now may go on doing so: it can't be given to " +
    "another owner, nor get a set-id bit or capabilities";
  return heldError(path, "EPERM", why);
}

/** Whose the folder is may have given another's file a name there: what is written in its place would reach that file. */
function refuseForeignName(real: string, path: string, old: Stats): void {
  const folder = statSync(dirname(real));
  if (folder.uid !== 0 && folder.uid !== process.geteuid?.() && folder.uid !== old.uid)
    throw hostError(path, "EPERM");
}

/** What stands at a path has, unless `refuse` throws; null where that can't be known. */
export function extrasAt(real: string, refuse?: (fd: number) => void): FileExtras | null {
  try {
    return withFile(real, (fd) => {
      refuse?.(fd);
      return readExtras(fd);
    });
  } catch (error) {
    // An owner other than root may write what he may not read.
    if (errnoOf(error) === "EACCES") return null;
    throw error;
  }
}

/** Throws what writing a file would meet, as far as that is known before. */
export function requireWritable(at: Place, options: WriteOptions): void {
  const { extras, loseExtras } = lookAtPlace(at, options);
  const lost = unkeepable(extras ?? {});
  if (lost.size > 0 && !loseExtras) throw lostError(at.path, lost);
}

/** Gives a new file, still empty, the flags that must come before the content. */
export function begin(fd: number, { extras, over }: Placing): void {
  if (extras && !over) giveFlags(fd, extras);
}

/** Gives a new file its owner, extras and mode, at no moment more open than it will be. */
export function dress(fd: number, { path, mode, uid, gid, extras, loseExtras, over }: Placing): void {
  if (over) return;
  // -1 = as it is, as chown(2) has it.
  const owner = { uid: uid ?? -1, gid: gid ?? -1 };
  if (!extras) return setAttributes(fd, { mode, ...owner });
  setAttributes(fd, owner);
  giveAll(fd, extras, { path, mode, loseExtras });
  setAttributes(fd, { mode });
}

/** A new file of the agent's own that nobody else can open. */
export function openNew(path: string): number {
  return openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
}

/** A file that will take the place of another: its name is for the rename alone, since somebody may lead it elsewhere. */
export interface Finished {
  temporary: string;
  fd: number;
}

/** Puts a finished temporary file in its place; it is gone then. */
export function place({ temporary, fd }: Finished, real: string, placing: Placing): void {
  const { over, isNew, path } = placing;
  if (!over) {
    try {
      return renameSync(temporary, real);
    } catch (error) {
      if (errnoOf(error) !== "EBUSY") throw error;
      if (isNew) throw mustStayError(path);
    }
  }
  writeOver(fd, real, { ...placing, over: over ?? lstatSync(real) });
  unlinkSync(temporary);
}

/** Not atomic; so the old content is kept until the new one stands, and written back where that fails. */
function writeOver(source: number, real: string, placing: Placing & { over: Stats }): void {
  const { path, over, mode, uid, gid } = placing;
  const fd = openSync(real, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  const old = openNameless(real);
  try {
    const now = fstatSync(fd);
    if (now.ino !== over.ino || now.dev !== over.dev || !now.isFile()) throw hostError(path, "ESTALE");
    const extras = readExtras(fd);
    copy(fd, old);
    try {
      // Neither the old content under the new mode, nor the new one under the old.
      if ((now.mode & mode & 0o7777) !== (now.mode & 0o7777)) fchmodSync(fd, now.mode & mode & 0o7777);
      keepingCapabilities(fd, () => copy(source, fd));
      dressThere(fd, path, {
        mode,
        uid: uid ?? -1,
        gid: gid ?? -1,
        ...(placing.extras && { extras: placing.extras }),
        loseExtras: placing.loseExtras,
      });
    } catch (error) {
      copy(old, fd);
      dressThere(fd, path, { ...toStat(now), ...(extras && { extras }) });
      throw error;
    }
  } finally {
    closeSync(old);
    closeSync(fd);
  }
}

/** A file that is gone when it is closed, however that comes. */
function openNameless(real: string): number {
  const temporary = temporaryBeside(real);
  const fd = openNew(temporary);
  unlinkSync(temporary);
  return fd;
}

/** Makes the content of one open file that of another, in the blocks that it has: a full disk stops what grows only. */
function copy(source: number, target: number): void {
  const buffer = Buffer.allocUnsafe(65_536);
  let at = 0;
  for (let read = readSync(source, buffer, 0, buffer.length, at); read > 0;) {
    for (let written = 0; written < read;)
      written += writeSync(target, buffer, written, read - written, at + written);
    at += read;
    read = readSync(source, buffer, 0, buffer.length, at);
  }
  ftruncateSync(target, at);
}
