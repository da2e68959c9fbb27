import { statfsSync } from "node:fs";
import { constants } from "node:os";
import { dirname } from "node:path";
import { getSystemErrorMap } from "node:util";

/** Words for the errors that people meet; the system has some for all others. */
const words: Readonly<Record<string, string>> = {
  ENOENT: "missing",
  ENOTDIR: "a part of the path is not a folder",
  EISDIR: "is a folder",
  EEXIST: "exists already",
  ENOTEMPTY: "folder not empty",
  EACCES: "permission denied",
  EPERM: "not permitted",
  ENOSPC: "disk full",
  EDQUOT: "disk quota used up",
  EROFS: "read-only file system",
  ELOOP: "is a link, or has too many links on the way",
  EMLINK: "has another name, which somebody who can change the folder may have given it",
  ESTALE: "something else was put there",
  ETXTBSY: "the program is running",
  EBUSY: "in use, or something is mounted there",
  EIO: "the disk failed",
  ENAMETOOLONG: "name too long",
  EMFILE: "too many open files",
  ENFILE: "too many open files on the machine",
  ENOEXEC: "not a program that this machine can run",
  ENOTFOUND: "no such host",
};

let ofSystem: ReadonlyMap<string, string> | undefined;

/**
 * A system error in words: "missing" for "ENOENT". What has only a name is told by that, as words.
 *
 * @param cause - What was thrown: the system has one error for a disk without space and one without inodes.
 */
export function errnoWords(errno: string, cause?: unknown): string {
  if (errno === "ENOSPC" && hasNoInodes(cause)) return "no inodes left on the disk (df -i)";
  ofSystem ??= new Map(getSystemErrorMap().values());
  const known = words[errno] ?? ofSystem.get(errno);
  if (known !== undefined) return known;
  // Refusals of a certificate, and those of Node, have names that are words.
  if (!errno.includes("_")) return "refused by the machine";
  return errno.replace(/^ERR_/, "").toLowerCase().replaceAll("_", " ");
}

/** Whether there is room for bytes where a call failed, and none for another file. */
function hasNoInodes(cause: unknown): boolean {
  const { dest, path } = (cause ?? {}) as { dest?: unknown; path?: unknown };
  const place = dest ?? path;
  if (typeof place !== "string") return false;
  try {
    const { files, ffree } = statfsSync(dirname(place));
    return files > 0 && ffree === 0;
  } catch {
    return false;
  }
}

/**
 * The name of a system error that was thrown, e.g. "ENOENT"; undefined where it has none. Node calls all by one name that
 * it does not know, a used up quota (EDQUOT) and a stale file of NFS among them: those are named by their number.
 */
export function systemErrorName(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  const { code } = error;
  if (typeof code !== "string") return undefined;
  const isUnnamed = code === "UNKNOWN" || code.startsWith("Unknown system error");
  if (!isUnnamed || !("errno" in error) || typeof error.errno !== "number") return code;
  return errnoName(Math.abs(error.errno)) ?? code;
}

/** The name of an error by the number that the system has for it. */
export function errnoName(errno: number): string | undefined {
  return Object.entries(constants.errno).find(([, each]) => each === errno)?.[0];
}
