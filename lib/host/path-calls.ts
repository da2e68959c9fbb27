/** Steps of file calls that are several calls of the system, some of them in a folder that somebody else can change. */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { toTargetBytes } from "../internal/link-target.ts";
import { hostError } from "./host-error.ts";
import type { FileOwner } from "./host.ts";
import { orNull } from "./local-attempt.ts";
import type { HeldPath, LocalPaths } from "./local-paths.ts";
import { readFlags, refuseLinked, setSpecialAttributes, withFile } from "./open-file.ts";
import { temporaryBeside } from "./temporary-files.ts";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/** Opens a file for reading that is nobody else's by another name. */
export function openOwn(path: string, real: string, linksOf: number | null): number {
  const fd = openSync(real, readFlags);
  try {
    refuseLinked(path, fstatSync, { fd, linksOf });
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** What is in a folder that somebody may put a link in the place of. */
export function listOpen(real: string): string[] {
  const fd = openSync(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    return readdirSync(process.platform === "linux" ? `/proc/self/fd/${fd}` : real);
  } finally {
    closeSync(fd);
  }
}

/** `HOST_ERROR` where somebody has put a folder that has been used in the place of the one that was made. */
export function requireNewFolder(path: string, fd: number): void {
  const stats = fstatSync(fd);
  const isOurs = stats.isDirectory() && stats.uid === process.geteuid?.();
  if (!isOurs || (process.platform === "linux" && readdirSync(`/proc/self/fd/${fd}`).length > 0))
    throw hostError(path, "ESTALE");
}

/** As `HostFiles.ledBy`: of the folder that stands at a path, else of the way to it. */
export function ledBy(path: string, paths: LocalPaths): number | null {
  let held: HeldPath | null = null;
  try {
    held = orNull(() => paths.holdFolder(path), path) ?? orNull(() => paths.hold(path), path);
    return held?.ledBy ?? null;
  } finally {
    held?.release();
  }
}

/** Makes a folder that only the agent can enter until `dress` has made it what it is to be; nothing stays where that fails. */
export function makeFolder(real: string, dress: (fd: number) => void): void {
  mkdirSync(real, 0o700);
  try {
    withFile(real, dress);
  } catch (error) {
    rmdirSync(real);
    throw error;
  }
}

/** Makes or replaces a link at once. */
export function placeLink(real: string, target: string, owner: FileOwner): void {
  const temporary = temporaryBeside(real);
  symlinkSync(toTargetBytes(target), temporary);
  try {
    if (owner.uid !== undefined || owner.gid !== undefined) setSpecialAttributes(temporary, owner);
    renameSync(temporary, real);
  } catch (error) {
    unlinkSync(temporary);
    throw error;
  }
}
