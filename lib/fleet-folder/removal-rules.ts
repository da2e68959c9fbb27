/** What is refused of the removals that `prune` asks for, before anything is changed. */
import { parseReference } from "../module-format/module-reference.ts";
import type { DeclaredThing, FleetFolder, FolderFault, PresentThing } from "./fleet-folder.ts";
import { faultOf } from "./folder-faults.ts";
import type { FolderPlanOptions, FolderStep } from "./plan-types.ts";

/** What is removed, and beside what. */
export interface Pruning {
  folder: FleetFolder;
  removals: readonly FolderStep[];
  present: readonly PresentThing[];
  options: FolderPlanOptions;
}

/** Everything that is refused of removals. */
export function findRemovalFaults(pruning: Pruning): FolderFault[] {
  return [...findEmptied(pruning), ...findOwn(pruning), ...findNeeded(pruning), ...findInUse(pruning)];
}

/** A folder that lost its files by accident must not take everything away. */
function findEmptied({ folder, removals, options }: Pruning): FolderFault[] {
  if (options.allowEmpty || removals.length === 0 || folder.things.length > 0 || folder.faults.length > 0)
    return [];
  const count = removals.length === 1 ? "the one thing" : `all ${removals.length} things`;
  const message = `The folder has nothing any more: --prune would remove ${count} that it managed. --allow-empty does so.`;
  return [{ ...folder.labelPlace, code: "VALIDATION_FAILED", path: ["label"], message }];
}

function findOwn({ folder, removals, options }: Pruning): FolderFault[] {
  const isOwn = ({ kind, id }: FolderStep): boolean => kind === "operators" && id === options.operatorId;
  if (options.operatorId === null || !removals.some(isOwn)) return [];
  const message =
    "You are signed in as an operator that would be removed: somebody else removes it, or the folder keeps it.";
  return [{ ...folder.labelPlace, code: "FORBIDDEN", path: ["operators"], message }];
}

/** Modules that something of the folder needs. */
function findNeeded({ folder, removals }: Pruning): FolderFault[] {
  const removed = namesOf(removals, "modules");
  if (removed.size === 0) return [];
  return folder.things.flatMap((thing) => {
    const [field, named] = neededBy(thing);
    return named.flatMap((text, at) => {
      const { name } = parseReference(text);
      if (!removed.has(name)) return [];
      const message = `--prune would remove the module ${name}, which the folder does not have any more.`;
      return [faultOf(thing, { code: "IN_USE", path: [field, at], message })];
    });
  });
}

/** Modules that others use, whom this apply leaves alone. */
function findInUse({ folder, removals, present }: Pruning): FolderFault[] {
  const removed = namesOf(removals, "modules");
  const changed = new Set([
    ...[...removed].map((name) => `module ${name}`),
    ...namesOf(removals, "assignments"),
    ...folder.things.flatMap(({ kind, name }) =>
      kind === "modules" ? [`module ${name}`] : kind === "assignments" ? [name] : [],
    ),
  ]);
  return present.flatMap(({ kind, name, usedBy }) => {
    const users = usedBy.filter((user) => !changed.has(user));
    if (kind !== "modules" || !removed.has(name) || users.length === 0) return [];
    const message = `--prune would remove the module ${name}, which is used by ${users.join(", ")}.`;
    return [{ ...folder.labelPlace, code: "IN_USE" as const, path: ["modules", name], message }];
  });
}

function neededBy({ kind, values, requires }: DeclaredThing): ["modules" | "requires", readonly string[]] {
  return kind === "assignments" ? ["modules", values["modules"] as string[]] : ["requires", requires];
}

function namesOf(steps: readonly FolderStep[], kind: FolderStep["kind"]): Set<string> {
  return new Set(steps.filter((step) => step.kind === kind).map(({ id }) => id!));
}
