/** Naming a module: `web` in its newest revision, or `web@3`, pinned to that one. */
import { z } from "zod";
import type { JsonObject } from "../json.ts";

/** A module, and the revision that it is pinned to. */
export interface ModuleReference {
  name: string;
  /** Absent = the newest. */
  revision?: number;
}

/** Revisions by the name of their module; of one that is absent, the newest. */
export type Pins = Readonly<Record<string, number>>;

const namePattern = "[a-z0-9][a-z0-9._-]{0,63}";

/** Name of a module, with or without a revision. */
export const moduleReferenceSchema = z
  .string()
  .regex(
    new RegExp(`^${namePattern}(@[1-9][0-9]{0,8})?$`),
    "a module, such as web, or one of its revisions, such as web@3",
  );

/** Several modules, each named once. */
export const moduleReferencesSchema = z
  .array(moduleReferenceSchema)
  .max(100)
  .superRefine((texts, issues) => {
    const first = new Map<string, string>();
    for (const [at, text] of texts.entries()) {
      const { name } = parseReference(text);
      const other = first.get(name);
      if (other !== undefined && other !== text)
        issues.addIssue({ code: "custom", path: [at], message: `names the same module as ${other}` });
      first.set(name, other ?? text);
    }
  });

/** What a call named for one agent, by module: it stays wanted there, whoever applies later. */
export interface NamedModule {
  /** The revision that it is pinned to; absent = as assignments say, or the newest. */
  revision?: number;
  /** The values of params that the call gave it; absent = none. */
  params?: JsonObject;
}

/** Modules that calls named for one agent. */
export type NamedModules = Readonly<Record<string, NamedModule>>;

/** What a call named of one module; undefined = nothing. */
export function namedOf(named: NamedModules | undefined, module: string): NamedModule | undefined {
  return named && Object.hasOwn(named, module) ? named[module] : undefined;
}

/** Reads a reference that the schema took. */
export function parseReference(text: string): ModuleReference {
  const [name = "", revision] = text.split("@");
  return revision === undefined ? { name } : { name, revision: Number(revision) };
}

/** Reads several: their names, each once, and the revisions that some are pinned to. */
export function parseReferences(texts: readonly string[]): { names: string[]; pins: Pins } {
  const references = texts.map(parseReference);
  const pinned = references.flatMap(({ name, revision }) =>
    revision === undefined ? [] : [[name, revision]],
  );
  return {
    names: [...new Set(references.map(({ name }) => name))],
    pins: Object.fromEntries(pinned) as Pins,
  };
}

/** The revision that a module is pinned to; undefined = the newest. */
export function pinOf(pins: Pins | undefined, name: string): number | undefined {
  return pins && Object.hasOwn(pins, name) ? pins[name] : undefined;
}

/** Writes modules as people name them. */
export function printReferences(names: readonly string[], pins: Pins | undefined): string[] {
  return names.map((name) => {
    const revision = pinOf(pins, name);
    return revision === undefined ? name : `${name}@${revision}`;
  });
}

/** Whoever brings modules, pinned to revisions or not. */
interface Bringer {
  name: string;
  pins?: Pins | undefined;
}

/** Whether two assignments that bring a module bring it in one revision: both the newest, or both pinned to the same. */
export function bringTheSame(module: string, first: Bringer, second: Bringer): boolean {
  return pinOf(first.pins, module) === pinOf(second.pins, module);
}

/** Says that two assignments bring different revisions of a module. */
export function differentRevisions(module: string, first: Bringer, second: Bringer): string {
  const [one, other] = [first, second].map(({ pins }) => pinOf(pins, module) ?? "the newest");
  return `Assignments ${first.name} and ${second.name} bring module ${module} in different revisions: ${one} and ${other}.`;
}
