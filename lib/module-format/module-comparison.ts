/** Finds where modules of one use contradict those of another. */
import { isOrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import { WorkBudget, type SlicedWork, type Work } from "../internal/work.ts";
import type { JsonObject } from "../json.ts";
import type { SelectorCache } from "../selectors/selector-cache.ts";
import { allOf, type Selector } from "../selectors/selector.ts";
import {
  conflictBudget,
  conflictKeys,
  findConflicts,
  isTextKey,
  type ResourceConflict,
} from "../state/conflicts.ts";
import { resourceIdentityKey } from "../state/definition.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import { resolveKnown, type KnownResource } from "./module-resources.ts";
import type { ModuleUse } from "./module-use.ts";
import { valuesFor } from "./params.ts";
import type { ParsedModule } from "./parsed-module.ts";

/** What a module is about: identities of resources, each with what it says of it; see {@link unprinted}. */
export type Things = ReadonlyMap<string, string>;

/** What is said depends on params, or the module says several things under different conditions. */
export const unprinted = "";

/** A module, and what it is about. */
export interface ModuleThings {
  name: string;
  things: Things;
}

/** Two resources that contradict each other on every agent that gets both. */
export interface Contradiction {
  conflict: ResourceConflict;
  /** Which agents want both, of those that get both modules. */
  where: Selector;
}

/** A param of a module that both uses bring, and give different values. */
export interface DifferingParam {
  module: string;
  param: string;
  /** Which agents the module supports. */
  where: Selector;
}

/** Where a comparison reads modules. */
interface Source {
  /** Null where it can't be used any more. */
  content: (name: string, use: ModuleUse) => Promise<ParsedModule | null>;
  thingsOf: (name: string, use: ModuleUse) => Promise<Things>;
  selectors: SelectorCache;
  types: ResourceTypes;
  work: SlicedWork;
}

/** More contradictions than this between two uses are not looked for: hostile modules could have millions. */
const mostFound = 1_000;

/** Stands for more than one module; no name of a module is empty. */
const several = "";

export class ModuleComparison {
  readonly #use: ModuleUse;
  readonly #source: Source;
  /** Which module of the use is about each thing, and what it says. */
  readonly #about = new Map<string, { name: string; print: string }>();

  constructor(use: ModuleUse, modules: readonly ModuleThings[], source: Source) {
    this.#use = use;
    this.#source = source;
    for (const { name, things } of modules)
      for (const [thing, print] of things) this.#note(thing, name, print);
  }

  #note(thing: string, name: string, print: string): void {
    const before = this.#about.get(thing);
    if (!before) this.#about.set(thing, { name, print });
    else this.#about.set(thing, { name: several, print: before.print === print ? print : unprinted });
  }

  /**
   * What a module of the other use is about, and another of this one, where they may say different things. Parses nothing
   * that was seen before: costs a look at each thing of the other.
   */
  async shared(other: ModuleUse): Promise<ReadonlySet<string>> {
    const shared = new Set<string>();
    for (const name of new Set(other.modules)) {
      for (const [thing, print] of await this.#source.thingsOf(name, other)) {
        const there = this.#about.get(thing);
        if (there === undefined || there.name === name) continue;
        if (print === unprinted || there.print !== print) shared.add(thing);
      }
    }
    return shared;
  }

  /** The params to which both uses give a value, each another one. */
  async differingParams(other: ModuleUse): Promise<DifferingParam[]> {
    const found: DifferingParam[] = [];
    for (const module of new Set(other.modules)) {
      if (!this.#use.modules.includes(module)) continue;
      const content = await this.#source.content(module, this.#use);
      if (!content) continue;
      const [own, others] = [this.#use, other].map((use) =>
        valuesFor(module, content.params, use.params ?? {}),
      );
      for (const [param, value] of Object.entries(own!)) {
        const there = others![param];
        if (there === undefined || canonicalJson(there) === canonicalJson(value)) continue;
        found.push({ module, param, where: allOf(supportedBy(content, this.#source.selectors)) });
      }
    }
    return found;
  }

  /**
   * Compares what both say of some things, each module with the params of all uses that bring it. What depends on an agent, or on
   * params in which the two differ, is left out: a run finds out.
   */
  async contradictions(other: ModuleUse, shared: ReadonlySet<string>): Promise<Contradiction[]> {
    const { types, selectors, work } = this.#source;
    const known: Placed[] = [];
    for (const name of new Set([...this.#use.modules, ...other.modules])) {
      const content = await this.#source.content(name, this.#use.modules.includes(name) ? this.#use : other);
      const given = content && agreedValues(content, [this.#use, other]);
      if (!content || !given) continue;
      for (const each of await work.do(resolveShared(content, { given, types }, shared))) known.push(each);
    }
    return findContradictions(known, { selectors, types });
  }
}

/** A resource that is the same on every agent, with the module that it is from, and what it shares with others. */
type Placed = KnownResource & { content: ParsedModule; keys: string[] };

/** The values that a module gets from some uses; null where they differ in one. */
function agreedValues({ name, params }: ParsedModule, uses: readonly ModuleUse[]): JsonObject | null {
  const agreed: JsonObject = {};
  for (const use of uses) {
    if (!use.modules.includes(name)) continue;
    for (const [param, value] of Object.entries(valuesFor(name, params, use.params ?? {}))) {
      const before = agreed[param];
      if (before !== undefined && canonicalJson(before) !== canonicalJson(value)) return null;
      agreed[param] = value;
    }
  }
  return agreed;
}

/** Those resources of a module that are about certain things. */
function* resolveShared(
  content: ParsedModule,
  { given, types }: { given: JsonObject; types: ResourceTypes },
  things: ReadonlySet<string>,
): Work<Placed[]> {
  const sharesTexts = [...things].some(isTextKey);
  const mayShare = (at: number): boolean => {
    const outline = content.outline[at]!;
    if (sharesTexts && types.get(outline.type)?.edits) return true;
    return outline.isLiteral && things.has(resourceIdentityKey(outline, types));
  };
  const known = yield* resolveUsable(content, { given, types, budget: new WorkBudget() }, mayShare);
  return known.flatMap((each) => {
    const keys = conflictKeys(each.resource, types).filter((key) => things.has(key));
    return keys.length > 0 ? [{ ...each, content, keys }] : [];
  });
}

/** As {@link resolveKnown}; nothing of a module that became invalid, or whose values do not fit it. */
export function* resolveUsable(...args: Parameters<typeof resolveKnown>): Work<KnownResource[]> {
  try {
    return yield* resolveKnown(...args);
  } catch (error) {
    if (isOrchestratorError(error, "TEMPLATE_FAILED") || isOrchestratorError(error, "MODULE_INVALID"))
      return [];
    throw error;
  }
}

function findContradictions(
  known: readonly Placed[],
  { selectors, types }: Pick<Source, "selectors" | "types">,
): Contradiction[] {
  const byKey = new Map<string, Placed[]>();
  const found: Contradiction[] = [];
  const budget = conflictBudget();
  for (const each of known) {
    const before = new Set(each.keys.flatMap((key) => byKey.get(key) ?? []));
    for (const other of before) {
      if (found.length === mostFound) return found;
      const [conflict] =
        other.content === each.content ? [] : findConflicts([other.resource, each.resource], types, budget);
      if (!conflict) continue;
      found.push({ conflict, where: allOf([wantedWhere(other, selectors), wantedWhere(each, selectors)]) });
    }
    for (const key of each.keys) byKey.set(key, [...(byKey.get(key) ?? []), each]);
  }
  return found;
}

/** Which agents want a resource, of those that get its module. */
function wantedWhere({ when, content }: Placed, selectors: SelectorCache): Selector {
  return allOf([...(when === null ? [] : [selectors.kept(when)]), ...supportedBy(content, selectors)]);
}

function supportedBy(content: ParsedModule, selectors: SelectorCache): Selector[] {
  const supports = content.supports.map((each) => selectors.kept(each));
  return supports.length > 1 ? [{ kind: "or", operands: supports }] : supports;
}
