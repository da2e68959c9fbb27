/**
 * A clone of a git repository at a branch, tag or commit. HEAD is detached at the commit, so no branch is ever moved.
 *
 * A branch or tag is asked for at the repository (`git ls-remote`), in checks too; a whole hash needs no network. Files
 * that somebody changed are not overwritten without `force`, and a clone that holds such files or new ones is not removed.
 * No hook is run, no question asked, and a password in the address is neither on disk nor on a command line.
 *
 * @example
 * ```yaml
 * - { type: git, path: /srv/site, repository: https://example.com/site.git, revision: v1.2, user: www-data, depth: 1 }
 * ```
 */
import { z } from "zod";
import type { Host } from "../../host/host.ts";
import { toPublicUrl } from "../../internal/url-text.ts";
import type { JsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { noText } from "../text-edits.ts";
import {
  bringTo,
  differingSubmodules,
  emptyClone,
  findClone,
  type FoundClone,
  isBeingRemoved,
  hasOwnCommits,
  localChanges,
  type WantedClone,
  wantedCommit,
} from "./git/clone.ts";
import { goingWith, refuse } from "./git/folder.ts";
import { type Checkout, holdsChanges, remainsOf } from "./git/interrupted-checkout.ts";
import { storedAddress } from "./git/program.ts";
import { toFileAttributes } from "./shared/attributes.ts";
import type { Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import {
  captureKeptFolder,
  extendKeptFolder,
  keptFolderChanges,
  keptFolderShape,
  makeKeptFolder,
} from "./shared/kept-file.ts";
import { accountSchema, ensureSchema, pathSchema } from "./shared/properties.ts";

const properties = z.strictObject({
  path: pathSchema,
  ensure: ensureSchema.default("present"),
  /** As git takes it: https, ssh, or a path of the machine. Not a transport that runs a program, like `ext::`. */
  repository: z
    .string()
    .min(1)
    .max(4096)
    .regex(
      // eslint-disable-next-line no-control-regex -- an address is one word of one line
      /^(?!-)(?![A-Za-z0-9+.-]*::)[^\u0000-\u0020\u007f]+$/,
      "must be an address, without a transport that runs programs",
    )
    .optional(),
  /** A branch, a tag or a whole hash. Default: the branch that the repository proposes. */
  revision: z
    .string()
    .regex(/^(?!.*\.\.)[A-Za-z0-9_][A-Za-z0-9._/+@=#-]{0,249}$/, "must be a branch, a tag or a whole hash")
    .default("HEAD"),
  remote: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,99}$/)
    .default("origin"),
  /** Commits of history to fetch. Default: all. */
  depth: z.int().min(1).optional(),
  submodules: z.boolean().default(false),
  /** Whose clone it is: git runs as this user. Default: the agent's. */
  user: accountSchema.optional(),
  /** Overwrites, and on removal deletes, what somebody changed in the clone. */
  force: z.boolean().default(false),
});

export const gitSchema = properties.refine(
  (spec) => spec.ensure === "absent" || spec.repository !== undefined,
  { path: ["repository"], message: "is required" },
);

const gitPriorSchema = properties.extend({
  /** Whatever a clone that stood before us had. */
  repository: z.string().optional(),
  ...keptFolderShape,
  /** Something was begun there that is no clone yet: not the same as nothing. */
  begun: z.boolean().optional(),
  /** Paths in it that other resources are about: what they make there is no change of anybody's, and stays. */
  others: z.array(z.string()).optional(),
});

/** Properties of a `git`, and those of a captured one. */
export type GitSpec = z.infer<typeof gitPriorSchema>;

export const gitResourceType = defineResourceType<GitSpec>({
  type: "git",
  summary: "A clone of a git repository at a branch, tag or commit.",
  schema: gitSchema,
  namespace: "path",
  checksWithPrograms: true,
  identityBeginsWithPath: true,
  identity: (spec) => spec.path,
  edits: ({ path, ensure }) => (ensure === "present" ? [noText(path, ensure)] : []),
  async check(spec, host, signal) {
    const machine = { host, signal };
    const found = await findClone(spec, machine);
    const wanted = toWanted(spec);
    return wanted ? compare(wanted, found, machine) : findRemains(spec, found, machine);
  },
  apply,
  capture,
  describe: describeChange,
  planning: {
    async foresee(spec, _changes, host, signal) {
      const { path, user } = spec;
      const wanted = toWanted(spec);
      if (!wanted) {
        if (!host.files.stat(path)) makeKeptFolder(spec, host);
        else for (const name of goingWith(spec, { host })) host.files.removeAll(`${path}/${name}`);
        if (isToGo(spec, host)) host.files.removeDirectory(path);
        return;
      }
      if (!host.files.stat(path))
        host.files.makeDirectory(path, { mode: 0o755, ...toFileAttributes({ owner: user }, host) });
      await wantedCommit(wanted, { host, signal });
    },
    unknownAfterApply: (spec) => (spec.ensure === "present" ? spec.path : null),
    withDeclaredPaths(spec, paths) {
      const others = spec.force ? paths.filter((path) => path.startsWith(`${spec.path}/`)) : [];
      return others.length > 0 ? { ...spec, others } : spec;
    },
    assumedChanges(spec) {
      const wanted = toWanted(spec);
      return wanted ? changesOfNew(wanted) : [removal];
    },
  },
  removing: {
    priorSchema: gitPriorSchema,
    extendPrior: extendKeptFolder,
    withStaying(spec, { pathsIn }) {
      const others = spec.ensure === "absent" ? [...pathsIn(spec.path)] : [];
      return others.length > 0 ? { ...spec, others, keep_folder: true } : spec;
    },
    asDeclared: (prior, { force }) =>
      prior.type === "git" ? { ...prior, spec: { ...prior.spec, force } } : prior,
    gone(spec, { type, spec: { ensure } }) {
      const keeps = type === "directory" && ensure === "present" && { keep_folder: true };
      return type === "git"
        ? null
        : { type: "git", spec: { ...ownProperties(spec), ensure: "absent", ...keeps } };
    },
  },
});

function toWanted(spec: GitSpec): (WantedClone & Pick<GitSpec, "others">) | null {
  const { ensure, repository } = spec;
  return ensure === "absent" || repository === undefined ? null : { ...spec, repository };
}

async function compare(
  spec: WantedClone & Pick<GitSpec, "others">,
  found: FoundClone,
  machine: Machine,
): Promise<Change[]> {
  const { path, repository, force } = spec;
  if (found.kind === "folder") throw refuse(path, "is a folder with something else in it");
  if (found.kind !== "clone") return changesOfNew(spec);
  const changes: Change[] = [];
  if (found.repository === null || storedAddress(found.repository) !== storedAddress(repository)) {
    const before = found.repository === null ? null : toPublicUrl(found.repository);
    changes.push({ property: "repository", before, after: toPublicUrl(repository) });
  }
  const { commit } = await wantedCommit(spec, machine);
  const { head, interrupted } = found;
  const isMoved = head !== commit;
  if (interrupted)
    changes.push({ property: "revision", before: `part of ${interrupted.to.join(" and ")}`, after: commit });
  else if (isMoved) changes.push({ property: "revision", before: head, after: commit });
  if (head !== null && (force || isMoved)) {
    // Another commit may have anything in their place.
    const others = isMoved ? [] : spec.others;
    const changed = interrupted
      ? (await remainsOf(spec, interrupted, machine)).changed
      : await localChanges({ ...spec, others }, "no", machine);
    if (changed > 0 && !force) throw refuse(path, holdsChanges);
    if (changed > 0) changes.push({ property: "changed_files", before: changed, after: 0 });
  }
  if (!spec.submodules || changes.some(({ property }) => property === "revision")) return changes;
  const differing = await differingSubmodules(spec, machine);
  if (differing > 0)
    changes.push({ property: "submodules", before: `${differing} differ`, after: "as recorded" });
  return changes;
}

function changesOfNew({ repository, revision }: WantedClone): Change[] {
  return [
    { property: "ensure", before: "absent", after: "present" },
    { property: "repository", before: null, after: toPublicUrl(repository) },
    { property: "revision", before: null, after: revision },
  ];
}

/** What is left of a clone that is not wanted. */
async function findRemains(spec: GitSpec, found: FoundClone, machine: Machine): Promise<Change[]> {
  if (found.kind === "none") return keptFolderChanges(spec, machine.host);
  if (found.kind === "folder") return [];
  if (found.kind === "begun" && found.empty && spec.keep_folder === true) return [];
  if (found.kind === "clone" && !spec.force && !(await isBeingRemoved(spec, machine))) {
    const changed = await countOfOthers(spec, found.interrupted, machine);
    if (changed > 0) throw refuse(spec.path, "holds new or changed files, which only force deletes");
    if (await hasOwnCommits(spec, machine))
      throw refuse(spec.path, "holds commits that its repository has not, which only force deletes");
  }
  return [removal];
}

/** How much of a clone would be lost with it. */
async function countOfOthers(spec: GitSpec, interrupted: Checkout | null, machine: Machine): Promise<number> {
  if (!interrupted) return localChanges(spec, "normal", machine);
  const { changed, unknown } = await remainsOf(spec, interrupted, machine);
  return changed + unknown;
}

const removal: Change = { property: "ensure", before: "present", after: "absent" };

async function apply(
  spec: GitSpec,
  _changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const { path, user } = spec;
  const wanted = toWanted(spec);
  signal.throwIfAborted();
  if (!wanted) {
    if (!host.files.stat(path)) return makeKeptFolder(spec, host);
    await emptyClone(spec, { host, signal });
    if (isToGo(spec, host)) host.files.removeDirectory(path);
    return;
  }
  if (!host.files.stat(path)) {
    host.files.makeDirectory(path, { mode: 0o755, ...toFileAttributes({ owner: user }, host) });
  }
  await bringTo(wanted, { host, signal });
  signal.throwIfAborted();
  // Git makes its objects durable, not the files that it checks out. A system that can't sync one disk need not.
  await host.run({ argv: ["sync", "-f", "."], cwd: path }, signal);
}

/** Whether nothing is left in a folder that was made for the clone. */
function isToGo({ path, keep_folder }: GitSpec, { files }: Host): boolean {
  return keep_folder !== true && files.stat(path) !== null && files.list(path).length === 0;
}

/** What every git that works on the clone has to know. */
function ownProperties({ path, remote, force, user }: GitSpec): JsonObject {
  return { path, remote, force, ...(user !== undefined && { user }) };
}

async function capture(spec: GitSpec, host: Host, signal: AbortSignal): Promise<Prior | null> {
  const own = ownProperties(spec);
  const found = await findClone(spec, { host, signal });
  if (found.kind === "folder") return null;
  if (found.kind !== "clone") {
    if (found.kind === "none") return { type: "git", spec: { ...own, ensure: "absent" } };
    const begun = found.empty ? captureKeptFolder(spec.path, host) : { begun: true };
    return { type: "git", spec: { ...own, ensure: "absent", ...begun } };
  }
  const { head, repository } = found;
  if (head === null || repository === null) return null;
  return { type: "git", spec: { ...own, ensure: "present", repository, revision: head } };
}
