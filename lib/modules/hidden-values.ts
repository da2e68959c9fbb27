/** Values of params as those read them who may not read the secrets among them. */
import type { Context } from "../context.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { Json } from "../json.ts";
import { parseReference, printReferences } from "../module-format/module-reference.ts";
import type { ModuleUse } from "../module-format/module-use.ts";
import { hidden } from "../state/result.ts";
import type { ModuleDocument } from "./documents.ts";
import type { ModuleViews, ViewSummary } from "./module-views.ts";

/** A module that may declare the params. */
interface Declaring {
  name: string;
  params: ViewSummary["params"];
}

export class HiddenValues {
  readonly #context: Context;
  readonly #views: ModuleViews;
  /** What is about to be read, by name. */
  readonly #asked = new Map<string, Promise<Declaring[]>>();

  constructor(context: Context, views: ModuleViews) {
    this.#context = context;
    this.#views = views;
  }

  /**
   * Hides the values of params that one of some modules keeps secret, in its newest revision or that which it is pinned to, and of those
   * that none declares.
   */
  async hide({ modules: names, params: values = {}, pins }: ModuleUse): Promise<{ [key: string]: Json }> {
    const references = new Set([...names, ...printReferences(names, pins)]);
    const found = await Promise.all([...references].map((reference) => this.#find(reference)));
    const modules = found.flat();
    return Object.fromEntries(
      Object.entries(values).map(([key, value]) => {
        const declared = modules.flatMap((module) => findSecrecy(key, module));
        return [key, declared.length > 0 && !declared.includes(true) ? value : hidden];
      }),
    );
  }

  /** None where it was removed meanwhile. All that ask in one turn, as a page of assignments does, get it from one read. */
  #find(name: string): Promise<Declaring[]> {
    const asked = this.#asked.get(name);
    if (asked) return asked;
    const found = nextTurn().then(() => {
      // Whoever asks from now on may know of a later upload.
      this.#asked.delete(name);
      return this.#read(name);
    });
    this.#asked.set(name, found);
    return found;
  }

  async #read(reference: string): Promise<Declaring[]> {
    const { name, revision } = parseReference(reference);
    const collection = revision === undefined ? "modules" : "module_revisions";
    const stored = await this.#context.storage.get<ModuleDocument>(collection, reference);
    return stored ? [{ name, params: (await this.#views.summary(stored.value)).params }] : [];
  }
}

/** Whether a module keeps secret what a key sets, by its name or by `module.name`; none where it declares neither. */
function findSecrecy(key: string, { name, params }: Declaring): boolean[] {
  const own = key.startsWith(`${name}.`) ? params.get(key.slice(name.length + 1)) : undefined;
  return [params.get(key), own].filter((each) => each !== undefined);
}
