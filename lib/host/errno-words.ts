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

/** A system error in words: "missing" for "ENOENT". What has only a name is told by that, as words. */
export function errnoWords(errno: string): string {
  ofSystem ??= new Map(getSystemErrorMap().values());
  const known = words[errno] ?? ofSystem.get(errno);
  if (known !== undefined) return known;
  // Refusals of a certificate, and those of Node, have names that are words.
  if (!errno.includes("_")) return "refused by the machine";
  return errno.replace(/^ERR_/, "").toLowerCase().replaceAll("_", " ");
}
