/** What the things of a folder are refused for beside each other, as far as the files alone show it. */
import { finish } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import { parseReferences, pinOf } from "../module-format/module-reference.ts";
import { requireUsable } from "../module-format/module-use.ts";
import type { ParsedModule } from "../module-format/parsed-module.ts";
import { walkRequired } from "../module-format/requirement-cycle.ts";
import { resourceTypes } from "../state/resources/index.ts";
import { mostThresholds, requireFewThresholds } from "../thresholds/threshold-rules.ts";
import type { DeclaredThing, FolderFault, FolderKind } from "./fleet-folder.ts";
import { faultOf, refusalsOf } from "./folder-faults.ts";
import { nounOf } from "./kinds.ts";

type Modules = ReadonlyMap<string, ParsedModule>;

/** @param modules - Those of the folder that have no fault, by name. */
export function findFolderFaults(things: readonly DeclaredThing[], modules: Modules): FolderFault[] {
  return [
    ...findSame(things, "operators", "public_key"),
    ...(["windows", "channels", "thresholds"] as const).flatMap((kind) => findSame(things, kind, "id")),
    ...findTooMany(things),
    ...things.flatMap((thing) => findFaultsOf(thing, modules)),
  ];
}

function findFaultsOf(thing: DeclaredThing, modules: Modules): FolderFault[] {
  const refusals =
    thing.kind === "assignments"
      ? refusalsOf(() => finish(useOf(thing, modules)))
      : thing.kind === "modules"
        ? refusalsOf(() => walk(thing.name, modules))
        : [];
  return refusals.map((refusal) => faultOf(thing, refusal));
}

/** Keys and ids that two entries have. */
function findSame(
  things: readonly DeclaredThing[],
  kind: FolderKind,
  field: "id" | "public_key",
): FolderFault[] {
  const seen = new Map<Json, DeclaredThing>();
  return things
    .filter((thing) => thing.kind === kind)
    .flatMap((thing) => {
      const value = field === "id" ? thing.id : thing.values[field];
      if (value === undefined) return [];
      const first = seen.get(value);
      seen.set(value, first ?? thing);
      if (!first) return [];
      const what = field === "id" ? "id" : "key";
      const message = `The ${nounOf(kind)} ${first.name} has this ${what}, too.`;
      return [faultOf(thing, { code: "ALREADY_EXISTS", path: [field], message })];
    });
}

/** The first threshold that is one too many. */
function findTooMany(things: readonly DeclaredThing[]): FolderFault[] {
  const thresholds = things.filter(({ kind }) => kind === "thresholds");
  const first = thresholds[mostThresholds];
  if (!first) return [];
  return refusalsOf(() => requireFewThresholds(thresholds.length)).map((refusal) => faultOf(first, refusal));
}

/** Whether the modules of an assignment that the folder has can be used together, with the params that are theirs. */
function* useOf({ values }: DeclaredThing, modules: Modules): ReturnType<typeof requireUsable> {
  const { names, pins } = parseReferences(values["modules"] as string[]);
  const contents = names.flatMap((name) =>
    pinOf(pins, name) === undefined ? (modules.get(name) ?? []) : [],
  );
  if (contents.length === 0) return;
  const params = (values["params"] ?? {}) as JsonObject;
  const isWhole = contents.length === names.length;
  const known = Object.entries(params).filter(([key]) => isWhole || isDeclared(key, contents));
  yield* requireUsable(contents, Object.fromEntries(known), resourceTypes);
}

function isDeclared(key: string, contents: readonly ParsedModule[]): boolean {
  return contents.some(({ name, params }) => {
    const own = key.startsWith(`${name}.`) ? key.slice(name.length + 1) : key;
    return Object.hasOwn(params, own);
  });
}

/** Follows what a module requires through the modules of the folder. */
function walk(name: string, modules: Modules): void {
  const module = modules.get(name);
  if (!module) return;
  const steps = walkRequired(module);
  let step = steps.next();
  while (step.done !== true) step = steps.next(modules.get(step.value.name)?.requires ?? []);
}
