/** A clone on the machine: what stands there, which commit is wanted, how to get it. */
import { isOrchestratorError } from "../../../errors.ts";
import { toPublicUrl } from "../../../internal/url-text.ts";
import { act, type Machine } from "../shared/command.ts";
import { obstacle } from "../shared/obstacle.ts";
import { removeStaleLocks } from "../shared/stale-locks.ts";
import {
  goingWith,
  hasHead,
  isBegun,
  isReadable,
  refuse,
  requireOwnWay,
  type SharedPlace,
} from "./folder.ts";
import {
  type Checkout,
  checkoutNote,
  clearRemains,
  forgetCheckout,
  interruptedCheckout,
  noteCheckout,
  remainsOf,
  restoreMissing,
} from "./interrupted-checkout.ts";
import {
  askInClone,
  askOrNull,
  askOutside,
  changeClone,
  type GitPlace,
  hasCommit,
  headOf,
  isWholeHash,
  settingsOf,
  storedAddress,
  whereAndHead,
  writeFiles,
} from "./program.ts";

/** What is wanted of a clone. */
export interface WantedClone extends GitPlace {
  repository: string;
  revision: string;
  remote: string;
  depth?: number | undefined;
  force: boolean;
  submodules: boolean;
}

/** What stands at the path. "begun": an empty folder, or a clone whose making or removal was interrupted. */
export type FoundClone =
  | { kind: "none" }
  | { kind: "begun"; empty: boolean }
  | { kind: "folder" }
  | {
      kind: "clone";
      head: string | null;
      repository: string | null;
      interrupted: Checkout | null;
    };

/** Looks. `HOST_ERROR` where something stands there that is neither folder nor clone. */
export async function findClone(
  place: SharedPlace & { remote: string },
  machine: Machine,
): Promise<FoundClone> {
  const { files } = machine.host;
  requireOwnWay(place, machine);
  const stat = files.stat(place.path);
  if (!stat) return { kind: "none" };
  if (stat.kind !== "directory") throw obstacle(place.path, stat);
  const names = files.list(place.path);
  if (names.length === 0) return { kind: "begun", empty: true };
  if (files.stat(`${place.path}/.git`)?.kind !== "directory") return { kind: "folder" };
  if (isBegun(place, machine)) return { kind: "begun", empty: false };
  if (!hasHead(place, machine)) {
    if (!files.stat(`${place.path}/.git/HEAD`)) return { kind: "folder" };
    // At another commit than before, its files would look changed or, worse, up to date.
    throw refuse(
      place.path,
      "holds a clone whose .git/HEAD is empty, as after a power loss, and files: write the second hash of the last " +
        "line of .git/logs/HEAD into it, or delete the clone",
    );
  }
  const { gitFolder, head } = await whereAndHead(place, machine);
  if (gitFolder !== ".git") throw refuse(place.path, "holds a clone that git can't read");
  const address = `remote.${place.remote}.url`;
  const settings = await settingsOf(place, [address, checkoutNote], machine);
  return {
    kind: "clone",
    head,
    repository: settings.get(address) ?? null,
    interrupted: await interruptedCheckout(place, { head, noted: settings.get(checkoutNote) }, machine),
  };
}

/** Takes away what a power loss left in the way of every git. */
async function clearWay(place: GitPlace, machine: Machine): Promise<void> {
  const { path, user } = place;
  await removeStaleLocks({ cwd: path, within: ".git", name: "*.lock", user }, machine);
  if (hasHead(place, machine) || !machine.host.files.stat(`${path}/.git/HEAD`)) return;
  const argv = ["rm", "-f", "--", ".git/HEAD"] as const;
  await act({ argv, cwd: path, ...(user !== undefined && { user }) }, { ...machine, staysInRoot: true });
}

/** The commit that a revision names: itself, or what the repository says of the branch or tag. */
export async function wantedCommit(
  spec: WantedClone,
  machine: Machine,
): Promise<{ commit: string; ref: string | null }> {
  const { repository, revision } = spec;
  if (isWholeHash(revision)) return { commit: revision, ref: null };
  const refs = /^(?:HEAD$|refs\/)/.test(revision)
    ? [revision]
    : [`refs/heads/${revision}`, `refs/tags/${revision}`];
  const names = refs.flatMap((ref) => [ref, `${ref}^{}`]);
  const { stdout } = await askOutside(
    spec,
    ["ls-remote", "--", storedAddress(repository), ...names],
    machine,
  );
  const found = new Map<string, string>();
  for (const line of stdout.split("\n")) {
    const [hash = "", name = ""] = line.split("\t");
    found.set(name, hash);
  }
  for (const ref of refs) {
    // What an annotated tag points to comes before the tag itself.
    const commit = found.get(`${ref}^{}`) ?? found.get(ref);
    if (commit !== undefined) return { commit, ref };
  }
  throw refuse(
    toPublicUrl(repository),
    `has no branch or tag "${revision}"; a commit is named by its whole hash`,
  );
}

/** How many files differ from the commit, those that git does not know included where asked; what others declare is left out. */
export async function localChanges(
  place: SharedPlace,
  untracked: "normal" | "no",
  machine: Machine,
): Promise<number> {
  const below = (place.others ?? []).filter((path) => path.startsWith(`${place.path}/`));
  const excluded = below.map((path) => `:(exclude,literal)${path.slice(place.path.length + 1)}`);
  const args = [
    "status",
    "--porcelain",
    `--untracked-files=${untracked}`,
    "--ignore-submodules=none",
    ...(excluded.length > 0 ? ["--", ".", ...excluded] : []),
  ];
  const { stdout } = await askInClone(place, args, machine);
  return stdout.split("\n").filter((line) => line !== "").length;
}

/**
 * Whether a clone has commits that are on no branch of its remotes and no tag: on a branch of its own, in a stash, or made where it stands.
 * What was checked out is none of these, though no branch may hold it: it may have been fetched by its hash.
 */
export async function hasOwnCommits(place: GitPlace, machine: Machine): Promise<boolean> {
  const reflog = ["log", "--walk-reflogs", "-1000", "--no-show-signature", "--format=%H %gs", "HEAD"];
  // 128: there is no commit yet.
  const { stdout: moves } = await askInClone(place, reflog, { ...machine, codes: [0, 128] });
  const own = ["--exclude=refs/remotes/*", "--exclude=refs/tags/*", "--glob=refs/*"];
  const tips = isMadeHere(moves.split("\n")) ? [...own, "HEAD"] : own;
  const args = ["rev-list", "--max-count=1", ...tips, "--not", "--remotes", "--tags"];
  const { stdout } = await askInClone(place, args, machine);
  return /^[0-9a-f]{40}/.test(stdout);
}

/** Whether some move of HEAD to where it stands made that commit: all but those that go to one that was there before. */
function isMadeHere(moves: readonly string[]): boolean {
  const [head = ""] = (moves[0] ?? "").split(" ");
  const toHead = moves.filter((move) => head !== "" && move.startsWith(`${head} `));
  return toHead.some((move) => !/^(?:checkout|clone|reset):/.test(move.slice(head.length + 1)));
}

/** How many submodules are not at the commit that is recorded for them. */
export async function differingSubmodules(place: GitPlace, machine: Machine): Promise<number> {
  const { stdout } = await askInClone(place, ["submodule", "status", "--recursive"], machine);
  return stdout.split("\n").filter((line) => /^[-+U]/.test(line)).length;
}

/** Makes the clone as it is wanted, from whatever an interrupted try left. */
export async function bringTo(spec: WantedClone, machine: Machine): Promise<void> {
  const { remote, repository, force } = spec;
  const git = (...args: string[]): Promise<unknown> => changeClone(spec, args, machine);
  await clearWay(spec, machine);
  // Without a template there are no hooks; over a clone that stands it does nothing.
  await git("init", "--quiet", "--template=");
  await git("config", "--replace-all", `remote.${remote}.url`, storedAddress(repository));
  // What somebody else has it fetch beside the branches is his.
  if ((await askOrNull(spec, ["config", "--get-all", `remote.${remote}.fetch`], machine)) === null)
    await git("config", `remote.${remote}.fetch`, `+refs/heads/*:refs/remotes/${remote}/*`);
  const { commit, ref } = await wantedCommit(spec, machine);
  await fetchCommit(spec, { commit, ref }, machine);
  const from = await headOf(spec, machine);
  const noted = (await settingsOf(spec, [checkoutNote], machine)).get(checkoutNote);
  const interrupted = await interruptedCheckout(spec, { head: from, noted }, machine);
  const isMoving = interrupted !== null || from !== commit || force || spec.submodules;
  const to = [...(interrupted?.to ?? []).filter((each) => each !== commit), commit];
  if (isMoving) await noteCheckout(spec, { from: interrupted ? interrupted.from : from, to }, machine);
  if (interrupted) await clearRemains(spec, { interrupted, isMoved: from !== commit }, machine);
  // No branch is moved, so that no commit of anybody's is lost.
  await writeFiles(spec, ["checkout", "--quiet", "--detach", ...(force ? ["--force"] : []), commit], machine);
  if (interrupted) await restoreMissing(spec, interrupted, machine);
  if (spec.submodules) await updateSubmodules(spec, interrupted, machine);
  if (isMoving) await forgetCheckout(spec, machine);
}

async function updateSubmodules(
  spec: WantedClone,
  interrupted: Checkout | null,
  machine: Machine,
): Promise<void> {
  await changeClone(spec, ["submodule", "--quiet", "sync", "--recursive"], machine);
  const options = ["--init", "--recursive", ...(spec.force ? ["--force"] : []), ...depthOption(spec)];
  await writeFiles(spec, ["submodule", "--quiet", "update", ...options], machine);
  if (interrupted && (await remainsOf(spec, interrupted, machine)).isDirtyInside)
    throw refuse(
      spec.path,
      "holds a submodule whose files are not all as recorded, which only force overwrites",
    );
}

async function fetchCommit(
  spec: WantedClone,
  { commit, ref }: { commit: string; ref: string | null },
  machine: Machine,
): Promise<void> {
  const { remote, depth } = spec;
  const has = (): Promise<boolean> => hasCommit(spec, commit, machine);
  const fetch = (...refs: string[]): Promise<unknown> =>
    changeClone(
      spec,
      ["fetch", "--quiet", "--no-recurse-submodules", ...depthOption(spec), remote, ...refs],
      machine,
    );
  if (await has()) return;
  if (depth !== undefined) await fetch(ref ?? commit);
  else await fetch(`+refs/heads/*:refs/remotes/${remote}/*`, "+refs/tags/*:refs/tags/*");
  if (!(await has())) await fetch(commit);
}

function depthOption({ depth }: WantedClone): string[] {
  return depth === undefined ? [] : [`--depth=${depth}`];
}

const removing = "fleetwright.removing";

/** Whether a removal was begun: what it took away is no change of anybody's. */
export async function isBeingRemoved(place: GitPlace, machine: Machine): Promise<boolean> {
  return (await askOrNull(place, ["config", "--get", removing], machine)) !== null;
}

/**
 * Empties the folder of a clone, as the user whose it is, but for what others declare. The clone itself goes last: until then it tells
 * what is left.
 */
export async function emptyClone(place: SharedPlace, machine: Machine): Promise<void> {
  const { path, user } = place;
  const names = goingWith(place, machine);
  const remove = async (some: readonly string[]): Promise<void> => {
    const paths = some.map((name) => `./${name}`);
    machine.signal.throwIfAborted();
    const argv = ["rm", "-rf", "--", ...paths] as const;
    const { exitCode } = await machine.host.run(
      { argv, cwd: path, ...(user !== undefined && { user }) },
      machine.signal,
    );
    machine.signal.throwIfAborted();
    if (exitCode !== 0) throw refuse(path, "can't be emptied");
  };
  await clearWay(place, machine);
  if (isReadable(place, machine)) await noteRemoval(place, machine);
  const others = names.filter((name) => name !== ".git");
  for (let at = 0; at < others.length; at += 500) await remove(others.slice(at, at + 500));
  // Without its HEAD, what is left of the rest is no clone any more that may hold something.
  if (names.includes(".git")) await remove([".git/HEAD", ".git"]);
}

/** On a disk that the clone has filled there may be no room for a note: it must go all the same. */
async function noteRemoval(place: GitPlace, machine: Machine): Promise<void> {
  const { files } = machine.host;
  const config = `${place.path}/.git/config`;
  try {
    await changeClone(place, ["config", removing, "true"], machine);
  } catch (error) {
    if (!isOrchestratorError(error, "COMMAND_FAILED") || files.stat(`${config}.lock`)) throw error;
    files.requireChangeable(config, "write");
  }
}
