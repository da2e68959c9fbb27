/** What of a clone stands in its folder, as it can be told without git. */
import { OrchestratorError } from "../../../errors.ts";
import type { HostFiles } from "../../../host/host.ts";
import type { Machine } from "../shared/command.ts";
import type { GitPlace } from "./program.ts";

/** A clone in which other resources may be about some paths. */
export type SharedPlace = GitPlace & { others?: readonly string[] | undefined };

type Files = Pick<Machine, "host">;

/** Not where a power loss left it empty, which no git can read. */
export function hasHead({ path }: GitPlace, { host }: Files): boolean {
  return (host.files.stat(`${path}/.git/HEAD`)?.sizeBytes ?? 0) > 0;
}

/** Whether git sees a clone there at all, whatever it makes of it. */
export function isReadable(place: GitPlace, { host }: Files): boolean {
  const stands = (name: string): boolean => host.files.stat(`${place.path}/.git/${name}`) !== null;
  return hasHead(place, { host }) && stands("objects") && stands("refs");
}

/**
 * Whether a `.git` is one whose making or removal was cut, and nothing else is there that somebody could miss. Git makes its folders one
 * after another, and takes them away so: without all of them it knows no clone.
 */
export function isBegun(place: SharedPlace, machine: Files): boolean {
  if (isReadable(place, machine) || hasOthersInside(place)) return false;
  if (hasHead(place, machine) && !isEmptyStore(place.path, machine.host.files)) return false;
  return goingWith(place, machine).every((name) => name === ".git");
}

/** Whether a `.git` holds no commit of anybody's. */
function isEmptyStore(path: string, files: HostFiles): boolean {
  const objects = `${path}/.git/objects`;
  const list = (folder: string): string[] =>
    files.stat(folder)?.kind === "directory" ? files.list(folder) : [];
  return (
    files.stat(`${path}/.git/packed-refs`) === null &&
    list(objects).every((name) => list(`${objects}/${name}`).length === 0)
  );
}

function hasOthersInside({ path, others = [] }: SharedPlace): boolean {
  return others.some((other) => `${other}/`.startsWith(`${path}/.git/`));
}

/**
 * What goes with a clone, by names in its folder: all but what others declare, and the folders above that.
 *
 * @throws {OrchestratorError} `HOST_ERROR` where they declare something in what makes it a clone.
 */
export function goingWith({ path, others = [] }: SharedPlace, { host }: Pick<Machine, "host">): string[] {
  if (hasOthersInside({ path, others }))
    throw refuse(path, "holds something in its .git that another resource declares");
  const files = host.files.below(path);
  const look = (folder: string): string[] =>
    files.list(folder).flatMap((name) => {
      const each = `${folder}/${name}`;
      if (others.includes(each)) return [];
      const leads = others.some((other) => other.startsWith(`${each}/`));
      return leads && files.stat(each)?.kind === "directory" ? look(each) : [each.slice(path.length + 1)];
    });
  return look(path);
}

/** Git goes by names, and where it does so as root it could be led anywhere: as another user it gets no further than he. */
export function requireOwnWay({ path, user }: GitPlace, { host }: Files): void {
  const uid = host.files.ledBy(path);
  const isRoot = user === undefined || user === "0" || host.users.userId(user) === 0;
  if (uid === null || !isRoot) return;
  const who = host.users.userName(uid) ?? String(uid);
  const message =
    `${path} is in a folder that somebody else than root can change (${who}), who could lead git elsewhere: ` +
    `say "user", so that it does not run as root, or give the folder to root.`;
  throw new OrchestratorError("HOST_ERROR", { message, details: { path, uid } });
}

/** The error for what is left alone. */
export function refuse(what: string, why: string): OrchestratorError {
  return new OrchestratorError("HOST_ERROR", { message: `${what} ${why}.`, details: { path: what } });
}
