/** Writing a file anew beside its place, and putting it there. */
import { closeSync, fstatSync, futimesSync, lstatSync, type Stats } from "node:fs";
import { andThen, lastly, type MaybeWaiting, orFail } from "../internal/maybe-waiting.ts";
import { dressThere } from "./dress-there.ts";
import { readExtras } from "./extra-attributes.ts";
import { isCapable, isGiver, losesCapabilities, mustBeNew } from "./hands.ts";
import { refuseHeld } from "./held.ts";
import type { ChangeOptions, FileExtras, WriteOptions } from "./host.ts";
import { attempt } from "./local-attempt.ts";
import type { LocalPaths } from "./local-paths.ts";
import type { PendingWrites } from "./local-sync.ts";
import { copyFile, refuseLinked, setSpecialAttributes, withFile, withoutSetId } from "./open-file.ts";
import {
  begin,
  dress,
  extrasAt,
  lookAtPlace,
  mustStayError,
  openNew,
  place,
  type Place,
  refuseCapabilityLoss,
} from "./place-file.ts";
import { beginPart, discard } from "./temporary-files.ts";

/** How a file is replaced. */
export interface Replacement {
  options: WriteOptions;
  fill: (fd: number) => MaybeWaiting<unknown>;
  /** Names the file that will take the place of another; nothing stands there. */
  temporaryFor: (real: string) => string;
}

/** What the files of a host share. */
export interface LocalFilesParts {
  paths: LocalPaths;
  pending: PendingWrites;
}

/** Puts a new file in its place once it is filled and has its attributes; a promise only where filling it gives one. */
export function replaceFile(
  path: string,
  { options, fill, temporaryFor }: Replacement,
  { paths, pending }: LocalFilesParts,
): MaybeWaiting<void> {
  return attempt(
    path,
    (real, lasting, linksOf) => {
      const isFolderKnown = pending.hasChanged(lasting);
      const placing = lookAtPlace({ path, real, isFolderKnown, linksOf }, options);
      if (placing.isLink) paths.forget();
      pending.begin(lasting);
      const temporary = temporaryFor(real);
      const write = (fd: number): MaybeWaiting<void> => {
        begin(fd, placing);
        return andThen(fill(fd), () => {
          dress(fd, placing);
          place({ temporary, fd }, real, placing);
          pending.addFile(lasting);
        });
      };
      return orFail(
        () => withNew(temporary, write),
        (error) => {
          discard(temporary);
          throw error;
        },
      );
    },
    paths,
  );
}

function withNew(temporary: string, write: (fd: number) => MaybeWaiting<void>): MaybeWaiting<void> {
  const fd = openNew(temporary);
  return lastly(
    () => write(fd),
    () => closeSync(fd),
  );
}

/** Changes the attributes of what stands at a path, as `HostFiles.setAttributes` says. */
export function changeAttributes(
  path: string,
  attributes: ChangeOptions,
  parts: LocalFilesParts,
): MaybeWaiting<void> {
  const { paths, pending } = parts;
  return attempt(
    path,
    (real, lasting, linksOf) => {
      const { isMountPoint } = refuseHeld({ path, real }, "attributes");
      const there = lstatSync(real);
      if (!there.isFile() && !there.isDirectory()) {
        setSpecialAttributes(real, attributes);
        pending.addEntry(lasting);
        return undefined;
      }
      return withFile(real, (fd) => {
        refuseLinked(path, fstatSync, { fd, linksOf });
        const stats = fstatSync(fd);
        refuseChange({ path, stats, isMountPoint, extras: () => readExtras(fd) }, attributes);
        if (stats.isFile() && mustBeNew(stats, attributes, () => readExtras(fd)))
          return renew({ path, fd, stats }, attributes, parts);
        dressThere(fd, path, attributes);
        if (stats.isDirectory()) paths.forget();
        pending.addFile(lasting);
        return undefined;
      });
    },
    paths,
  );
}

/** Throws what {@link changeAttributes} would meet. */
export function requireAttributes({ path, real, linksOf = null }: Place, attributes: ChangeOptions): void {
  const { isMountPoint } = refuseHeld({ path, real }, "attributes");
  const stats = lstatSync(real);
  refuseLinked(path, () => stats, { linksOf });
  refuseChange({ path, stats, isMountPoint, extras: () => extrasAt(real) }, attributes);
}

function refuseChange(
  of: { path: string; stats: Stats; isMountPoint: boolean; extras: () => FileExtras | null },
  attributes: ChangeOptions,
): void {
  const { path, stats, isMountPoint } = of;
  if (!stats.isFile()) return;
  const stays = isMountPoint || (attributes.keepLinks === true && stats.nlink > 1);
  if (stays && mustBeNew(stats, attributes, of.extras)) throw mustStayError(path);
  if (attributes.extras !== undefined || !losesCapabilities(stats, attributes.uid)) return;
  if (isCapable(of.extras())) refuseCapabilityLoss(path, attributes);
}

/** The same content in a new file, which nobody has open. Its times are those of the old one. */
function renew(
  { path, fd, stats }: { path: string; fd: number; stats: Stats },
  attributes: ChangeOptions,
  parts: LocalFilesParts,
): MaybeWaiting<void> {
  const fill = (target: number): MaybeWaiting<void> =>
    andThen(copyFile(fd, target), () => futimesSync(target, stats.atime, stats.mtime));
  const { uid = stats.uid, gid = stats.gid } = attributes;
  const moves = uid !== stats.uid || gid !== stats.gid;
  const mode = attributes.mode ?? (moves ? withoutSetId(stats) : stats.mode & 0o7777);
  const extras = attributes.extras ?? (isGiver(stats, uid) ? readExtras(fd) : {});
  // All of it is said: what its owner puts in its place meanwhile counts for nothing.
  const options = { ...attributes, mode, uid, gid, ...(extras && { extras }) };
  return replaceFile(path, { options, fill, temporaryFor: beginPart }, parts);
}
