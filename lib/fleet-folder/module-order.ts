/** What the things of a folder need of modules: their order, and that they are there. */
import type { Issue } from "../errors.ts";
import { didYouMean } from "../internal/check-options.ts";
import { parseReference } from "../module-format/module-reference.ts";
import type { DeclaredThing } from "./fleet-folder.ts";

/** Modules after those that they require, as far as these are in the folder; everything else as it comes. */
export function requiredFirst(things: readonly DeclaredThing[]): DeclaredThing[] {
  const modules = new Map(things.filter(isModule).map((thing) => [thing.name, thing]));
  const sorted = new Set<DeclaredThing>();
  const begun = new Set<DeclaredThing>();
  const take = (thing: DeclaredThing): void => {
    if (begun.has(thing)) return;
    begun.add(thing);
    for (const name of thing.requires) {
      const required = modules.get(name);
      if (required) take(required);
    }
    sorted.add(thing);
  };
  for (const thing of things) take(thing);
  return [...sorted];
}

/** Which modules there will be. */
export interface KnownModules {
  /** Their newest revisions, by name. */
  newest: ReadonlyMap<string, number>;
  /** Those whose text has faults: nobody can tell which revision they will have. */
  faulty: ReadonlySet<string>;
}

/** The modules that a thing names and that are nowhere, and revisions that can't be there. */
export function findMissingModules(
  { kind, requires, values }: DeclaredThing,
  { newest, faulty }: KnownModules,
): Issue[] {
  const named = kind === "assignments" ? (values["modules"] as string[]) : requires;
  const field = kind === "assignments" ? "modules" : "requires";
  return named.flatMap((text, at) => {
    const { name, revision } = parseReference(text);
    const last = newest.get(name);
    if (faulty.has(name) || (last !== undefined && (revision ?? 1) <= last)) return [];
    const hint = didYouMean(name, [...newest.keys(), ...faulty]) || ".";
    const message =
      last === undefined
        ? `There is no module ${name}, neither in the folder nor on the server${hint}`
        : `There is no revision ${revision} of module ${name}: the newest is ${last}.`;
    return [{ path: [field, at], message }];
  });
}

/** Whether something is a module. */
export function isModule({ kind }: Pick<DeclaredThing, "kind">): boolean {
  return kind === "modules";
}
