/**
 * A folder. Owns its mode and owner; what is in it only with `recurse` (owner and mode) or `purge` (what no resource
 * declares goes). The folder above must exist or be declared, unless `parents` has it made.
 *
 * Taken away only while empty: a folder that holds something is never deleted with its content. No link is followed and
 * no mount point crossed. What the first purge took away comes back when the resource is removed.
 *
 * @example
 * ```yaml
 * - { type: directory, path: /etc/nginx/conf.d, mode: "0755", purge: true }
 * ```
 */
import { z } from "zod";
import type { FileAttributes, FileStat, Host } from "../../host/host.ts";
import { isSameJson, type JsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { StayingThings } from "../resource.ts";
import type { Change } from "../result.ts";
import { hasModeOfKeys, modeEdit, noText } from "../text-edits.ts";
import { addKept, attributesFor, keepContent, keptEntrySchema, surveyContent } from "./directory/content.ts";
import {
  emptyParents,
  madeParentsSchema,
  makeParents,
  missingParents,
  withMissingParents,
} from "./directory/parents.ts";
import { isAsKept, notDeclared, removeFound, restoreEntry } from "./directory/restore.ts";
import {
  attributeShape,
  captureAttributes,
  captureDeclared,
  compareAttributes,
  newAttributes,
  ownerNumbersShape,
  toFileAttributes,
} from "./shared/attributes.ts";
import { describeChange } from "./shared/describe.ts";
import { captureAllExtras, compareExtras, extrasSchema } from "./shared/extras.ts";
import { addMissing } from "./shared/later-prior.ts";
import { obstacle } from "./shared/obstacle.ts";
import { ensureSchema, modeSchema, pathSchema } from "./shared/properties.ts";
import { isSystemFolder } from "./shared/system-folders.ts";

const properties = z.strictObject({
  path: pathSchema,
  /** "absent" fails for a folder that is not empty. */
  ensure: ensureSchema.default("present"),
  /** `mode`: default for a new folder "0755". */
  ...attributeShape,
  /** Makes the folders above it where they are missing, with mode "0755" and the agent as owner. */
  parents: z.boolean().default(false),
  /** Gives owner and group to all that is in it too, and the mode to all folders. */
  recurse: z.boolean().default(false),
  /** With `recurse`: mode of all that is neither folder nor link. */
  file_mode: modeSchema.optional(),
  /** Takes away what no resource of the run declares. */
  purge: z.boolean().default(false),
  /** Keeps copies of what the first purge takes away, so that it comes back on removal. */
  backup: z.boolean().default(true),
});

export const directorySchema = properties
  .refine((spec) => spec.file_mode === undefined || spec.recurse, {
    path: ["file_mode"],
    message: "needs recurse",
  })
  .refine((spec) => spec.ensure === "present" || !(spec.parents || spec.recurse || spec.purge), {
    path: ["ensure"],
    message: "can't be absent with parents, recurse or purge",
  })
  .refine((spec) => !(spec.recurse || spec.purge) || !isSystemFolder(spec.path), {
    path: ["path"],
    message: "is a folder of the system: recurse and purge are refused",
  });

/** As many as one run may purge and change. */
const maxKept = 11_000;

const directoryPriorSchema = properties.extend({
  ...ownerNumbersShape,
  /** What we made goes away only if nobody put anything into it: then it is in sync as it is. */
  only_if_empty: z.boolean().optional(),
  /** Folders above it that we made, the topmost first: they go with it, the innermost first, while nothing else is in them. */
  made_parents: madeParentsSchema,
  /** Nothing is said of what was left alone: where no folder stands any more, there is nothing to give its mode and owner back to. */
  only_if_there: z.boolean().optional(),
  /** Whether it was purged already, so that what is purged from now on was put there later. */
  purged: z.boolean().optional(),
  /** What was in it and differed or went. */
  inside: z.array(keptEntrySchema).max(maxKept).optional(),
  /** What it had beside mode and owner. */
  extras: extrasSchema.optional(),
  /** What we made is another resource's by now, and stays. */
  stays: z.boolean().optional(),
  /** Paths that other resources of the run are about. */
  declared: z.array(z.string()).optional(),
});

/** Properties of a `directory`, and those of a captured one. */
export type DirectorySpec = z.infer<typeof directoryPriorSchema>;

export const directoryResourceType = defineResourceType<DirectorySpec>({
  type: "directory",
  summary: "A folder with its mode and owner, and perhaps those of what is in it.",
  schema: directorySchema,
  namespace: "path",
  identity: (spec) => spec.path,
  check,
  apply,
  capture,
  describe: describeChange,
  clears: ({ ensure, path }) => (ensure === "absent" ? path : null),
  edits: ({ path, ensure, mode }) => [
    noText(path, ensure),
    ...(ensure === "present" && hasModeOfKeys(path) ? modeEdit(path, mode) : []),
  ],
  planning: {
    withDeclaredPaths: (spec, paths) =>
      spec.recurse || spec.purge
        ? { ...spec, declared: paths.filter((path) => path.startsWith(`${spec.path}/`)) }
        : spec,
    // A package may put back what is purged, and a script anything.
    restsOn: (spec) => (spec.recurse || spec.purge ? ["/"] : []),
  },
  removing: {
    priorSchema: directoryPriorSchema,
    extendPrior,
    withStaying,
    gone({ path }, { type, spec: { keep_folder } }) {
      const isFolder = type === "directory" || keep_folder === true;
      return isFolder ? null : { type: "directory", spec: { path, ensure: "absent", only_if_empty: true } };
    },
  },
});

function check(spec: DirectorySpec, host: Host, signal: AbortSignal): Change[] | Promise<Change[]> {
  const stat = host.files.stat(spec.path);
  if (spec.only_if_there === true && stat?.kind !== "directory") return [];
  if (stat && stat.kind !== "directory") throw obstacle(spec.path, stat);
  if (spec.ensure === "absent") return compareAbsence(spec, stat !== null, host);
  if (!stat) {
    const parents = spec.parents ? missingParents(spec.path, host) : [];
    const ensure: Change = { property: "ensure", before: "absent", after: "present" };
    return [ensure, ...parentChange([], parents), ...newAttributes(spec), ...insideChange(spec, host)];
  }
  const changes = compareAttributes(spec, stat, host);
  if (spec.extras) changes.push(...compareExtras(spec.path, spec.extras, host.files));
  changes.push(...insideChange(spec, host));
  if (!spec.recurse && !spec.purge) return changes;
  return surveyContent(spec, host, signal).then(({ differing, strangers }) => {
    if (differing.length > 0) {
      changes.push({ property: "recurse", before: print(differing, spec.path), after: [] });
    }
    if (strangers.length > 0) {
      changes.push({ property: "purge", before: print(strangers, spec.path), after: [] });
    }
    return changes;
  });
}

/** What was in the folder and comes back; with a folder that a version took away, all of it. */
function insideChange({ path, inside = [] }: DirectorySpec, host: Host): Change[] {
  const missing = inside.filter((entry) => !isAsKept(entry, path, host));
  return missing.length === 0 ? [] : [{ property: "inside", before: null, after: print(missing, path) }];
}

function compareAbsence(spec: DirectorySpec, stands: boolean, host: Host): Change[] {
  if (stands && spec.stays === true) return [];
  if (stands && spec.only_if_empty === true && host.files.list(spec.path).length > 0) return [];
  const parents = emptyParents(spec.path, spec.made_parents ?? [], host);
  const ensure: Change = { property: "ensure", before: "present", after: "absent" };
  return [...(stands ? [ensure] : []), ...parentChange(parents, [])];
}

/** Folders above it that are made or go. */
function parentChange(before: string[], after: string[]): Change[] {
  return before.length + after.length === 0 ? [] : [{ property: "parents", before, after }];
}

/** Paths below the folder, the first hundred of them. */
function print(found: readonly { path: string }[], folder: string): string[] {
  const names = found.slice(0, 100).map(({ path }) => path.slice(folder.length + 1));
  return found.length > names.length ? [...names, `and ${found.length - names.length} more`] : names;
}

async function apply(
  spec: DirectorySpec,
  changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const ensure = changes.find((change) => change.property === "ensure");
  const changed = (...names: string[]): boolean => changes.some(({ property }) => names.includes(property));
  signal.throwIfAborted();
  if (spec.ensure === "absent") {
    if (ensure) host.files.removeDirectory(spec.path);
    for (const parent of emptyParents(spec.path, spec.made_parents ?? [], host)) {
      signal.throwIfAborted();
      host.files.removeDirectory(parent);
    }
    return;
  }
  const attributes: FileAttributes = toFileAttributes(spec, host);
  if (spec.extras) attributes.extras = spec.extras;
  if (ensure) {
    if (spec.parents) makeParents(spec.path, host, signal);
    host.files.makeDirectory(spec.path, { mode: 0o755, ...attributes });
  } else if (changed("mode", "owner", "group", "extras"))
    await host.files.setAttributes(spec.path, attributes);
  for (const entry of spec.inside ?? []) {
    if (isAsKept(entry, spec.path, host)) continue;
    signal.throwIfAborted();
    await restoreEntry(entry, spec.path, { host, signal });
  }
  if (!changed("recurse", "purge")) return;
  const { differing, strangers } = await surveyContent(spec, host, signal);
  for (const found of strangers) {
    signal.throwIfAborted();
    removeFound(found, spec.path, host);
  }
  const files = host.files.below(spec.path);
  for (const { path, stat } of differing) {
    signal.throwIfAborted();
    await files.setAttributes(path, toFileAttributes(attributesFor(spec, stat), host));
  }
}

function capture(spec: DirectorySpec, host: Host, signal: AbortSignal): Prior | Promise<Prior> {
  const { path } = spec;
  const stat = host.files.stat(path);
  if (!stat) {
    const prior = { type: "directory", spec: { path, ensure: "absent", only_if_empty: true } };
    return spec.parents ? withMissingParents(prior, path, host) : prior;
  }
  return extendPrior(captureFolder(spec, stat, host), spec, host, signal);
}

/** All of a folder that is to go; else only what the resource would change: what it leaves alone must not come back. */
function captureFolder(spec: DirectorySpec, stat: FileStat, host: Host): Prior {
  const { path, ensure } = spec;
  const captured =
    ensure === "absent"
      ? { ...captureAttributes(stat, host), ...captureAllExtras(path, host.files) }
      : { only_if_there: true, ...captureDeclared(spec, stat, host) };
  return { type: "directory", spec: { path, ensure: "present", ...(captured as JsonObject) } };
}

/**
 * A folder that is first purged long after it was first declared: what stands in it now is what stood before. What is given another
 * owner or mode later is added; what is purged later is not, or copies would gather for ever.
 */
function extendPrior(
  first: Prior,
  spec: DirectorySpec,
  host: Host,
  signal: AbortSignal,
): Prior | Promise<Prior> {
  const { ensure } = first.spec;
  if (first.type !== "directory") return first;
  const stat = host.files.stat(spec.path);
  const isPart = first.spec["only_if_there"] === true;
  // What somebody else took away is not what stood before a version that makes it anew.
  if (isPart && !stat) return capture(spec, host, signal);
  const prior =
    isPart && stat?.kind === "directory" ? addMissing(first, captureFolder(spec, stat, host)) : first;
  // They went after we made the folder, and are made again.
  if (ensure === "absent" && spec.parents) return withMissingParents(prior, spec.path, host);
  if (ensure !== "present") return prior;
  if (!spec.recurse && !spec.purge) return prior;
  const inside = directoryPriorSchema.shape.inside.parse(prior.spec["inside"]);
  // Agents of earlier versions noted only that something was.
  const wasPurged = (prior.spec["purged"] ?? inside !== undefined) === true;
  return surveyContent(spec, host, signal).then(async ({ differing, strangers }) => {
    const coming = { differing, strangers: wasPurged || !spec.backup ? [] : strangers };
    const kept = await keepContent(coming, spec, { host, signal });
    const all = addKept(inside ?? [], kept, maxKept) as JsonObject[];
    const purged = wasPurged || spec.purge;
    if (inside && purged === wasPurged && isSameJson(all, inside as JsonObject[])) return prior;
    return { ...prior, spec: { ...prior.spec, purged, inside: all } };
  });
}

/** What another resource declares by now stays as it is, with what is above it. */
function withStaying(spec: DirectorySpec, staying: StayingThings): DirectorySpec {
  const { path, ensure, made_parents: made = [], inside } = spec;
  if (ensure === "present") {
    return inside ? { ...spec, inside: notDeclared(inside, path, staying.pathsIn(path, "declared")) } : spec;
  }
  const isDeclared = (folder: string): boolean => staying.pathsIn(folder).includes(folder);
  if (isDeclared(path)) return { ...spec, made_parents: [], stays: true };
  return { ...spec, made_parents: made.slice(made.findLastIndex(isDeclared) + 1) };
}
