/** Giving a file or folder of this machine, which stands and stays, its owner, extras and mode: all of it or nothing. */
import { fchmodSync, fchownSync, fstatSync, type Stats } from "node:fs";
import { giveExtras, readExtras } from "./extra-attributes.ts";
import { lostError } from "./host-error.ts";
import type { ChangeOptions, FileExtras } from "./host.ts";
import { setAttributes } from "./open-file.ts";

/**
 * Gives an open file or folder its owner, extras and mode where they are given. Where one can't be given it is left as it was.
 *
 * @throws OrchestratorError `HOST_ERROR` where it would lose an extra. Any other error where it could not be left as it was.
 */
export function dressThere(fd: number, path: string, attributes: ChangeOptions): void {
  const before = fstatSync(fd);
  const had = readExtras(fd);
  try {
    dress(fd, path, attributes);
  } catch (error) {
    putBack(fd, { before, had }, error);
    throw error;
  }
}

function dress(fd: number, path: string, attributes: ChangeOptions): void {
  const { extras, mode, uid = -1, gid = -1, loseExtras = false } = attributes;
  const owner = { uid, gid };
  if (!extras) return setAttributes(fd, { ...owner, ...(mode !== undefined && { mode }) });
  setAttributes(fd, owner);
  const wanted = mode ?? fstatSync(fd).mode & 0o7777;
  giveAll(fd, extras, { path, mode: wanted, loseExtras });
  setAttributes(fd, { mode: wanted });
}

/** Gives a file its extras, in the order that opens nothing. `HOST_ERROR` where it can't have one. */
export function giveAll(
  fd: number,
  extras: FileExtras,
  { path, mode, loseExtras }: { path: string; mode: number; loseExtras: boolean },
): void {
  const lost = giveExtras(fd, extras, mode);
  if (lost.size > 0 && !loseExtras) throw lostError(path, lost);
}

function putBack(
  fd: number,
  { before, had }: { before: Stats; had: FileExtras | null },
  cause: unknown,
): void {
  const mode = before.mode & 0o7777;
  try {
    const now = fstatSync(fd);
    if (now.uid !== before.uid || now.gid !== before.gid) fchownSync(fd, before.uid, before.gid);
    const lost = had ? giveExtras(fd, had, mode) : new Map();
    if ((fstatSync(fd).mode & 0o7777) !== mode) fchmodSync(fd, mode);
    if (lost.size > 0) throw new Error("extras");
  } catch {
    // Not a refusal, which would say that nothing was changed.
    throw new Error("It was changed in part and could not be put back.", { cause });
  }
}
