/** Moving a file or link, also to another file system. */
import { fstatSync, futimesSync, lstatSync, readlinkSync, renameSync, unlinkSync } from "node:fs";
import { toTargetText } from "../internal/link-target.ts";
import { andThen, type MaybeWaiting } from "../internal/maybe-waiting.ts";
import { readExtras } from "./extra-attributes.ts";
import { errnoOf, hostError } from "./host-error.ts";
import { attempt } from "./local-attempt.ts";
import type { PathUse } from "./local-paths.ts";
import { copyFile, withFile } from "./open-file.ts";
import { placeLink } from "./path-calls.ts";
import { type LocalFilesParts, replaceFile } from "./replace-file.ts";
import { beginPart } from "./temporary-files.ts";

/** As `HostFiles.move`. */
export function moveFile(from: string, to: string, parts: LocalFilesParts): MaybeWaiting<void> {
  const { paths, pending } = parts;
  const put: PathUse<MaybeWaiting<void>> = (source, sourceLasting) => {
    const stats = lstatSync(source);
    if (stats.isDirectory()) throw hostError(from, "EISDIR");
    return andThen(rename(source, to, parts), (isRenamed) => {
      if (!isRenamed) return andThen(copy(source, to, parts), () => unlinkSync(source));
      pending.addEntry(sourceLasting);
      return undefined;
    });
  };
  return attempt(from, put, paths.outside);
}

/** False where the two are on different file systems. */
function rename(source: string, to: string, { paths, pending }: LocalFilesParts): boolean {
  return attempt(
    to,
    (real, lasting) => {
      try {
        renameSync(source, real);
      } catch (error) {
        if (errnoOf(error) === "EXDEV") return false;
        throw error;
      }
      paths.forget();
      pending.addFile(lasting);
      return true;
    },
    paths,
  );
}

function copy(source: string, to: string, parts: LocalFilesParts): MaybeWaiting<void> {
  const stats = lstatSync(source);
  if (stats.isSymbolicLink()) return copyLink(source, to, parts);
  return withFile(source, (fd) => {
    const { mode, uid, gid, atime, mtime } = fstatSync(fd);
    const fill = (target: number): MaybeWaiting<void> =>
      andThen(copyFile(fd, target), () => futimesSync(target, atime, mtime));
    const options = { fresh: true, mode: mode & 0o7777, uid, gid, extras: readExtras(fd) ?? {} };
    return replaceFile(to, { options, fill, temporaryFor: beginPart }, parts);
  });
}

function copyLink(source: string, to: string, { paths, pending }: LocalFilesParts): void {
  const { uid, gid } = lstatSync(source);
  attempt(
    to,
    (real, lasting) => {
      pending.begin(lasting);
      placeLink(real, toTargetText(readlinkSync(source, "buffer")), { uid, gid });
      paths.forget();
      pending.addEntry(lasting);
    },
    paths,
  );
}
