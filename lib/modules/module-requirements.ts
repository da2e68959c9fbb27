/** Which modules require which, each in its newest revision. */
import type { Context } from "../context.ts";
import type { ParsedModule } from "../module-format/parsed-module.ts";
import { invalidRequirement, walkRequired } from "../module-format/requirement-cycle.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import type { ModuleRequirementDocument } from "./documents.ts";

const collection = "module_requirements";

/** Keeps a dependency cycle, and a requirement of what is not there, from being stored. */
export class ModuleRequirements {
  readonly #context: Context;
  readonly #hold: (names: readonly string[]) => Promise<Write[]>;

  /** @param hold - Gives the writes with which a step fails where one of some modules was changed meanwhile. */
  constructor(context: Context, hold: (names: readonly string[]) => Promise<Write[]>) {
    this.#context = context;
    this.#hold = hold;
    context.references.register("module", (names) => this.#usersOf(names));
  }

  /**
   * What a commit must write beside a module that is taken in.
   *
   * @throws {OrchestratorError} `MODULE_INVALID` where it requires a module that is not there, or one that requires it.
   */
  async taking(module: ParsedModule): Promise<Write[]> {
    const { name, requires } = module;
    const held = await this.#reachable(module);
    const before = new Set(await this.#requiredBy(name));
    const added = requires.filter((each) => !before.has(each));
    const dropped = [...before].filter((each) => !requires.includes(each));
    return [
      ...(await this.#hold(held)),
      ...added.map((each): Write => {
        const value = { module: name, requires: each };
        return { kind: "put", collection, key: keyOf(name, each), value };
      }),
      ...dropped.map((each): Write => ({ kind: "delete", collection, key: keyOf(name, each) })),
    ];
  }

  /** What a commit must write beside the removal of a module. */
  async removing(name: string): Promise<Write[]> {
    const required = await this.#requiredBy(name);
    return required.map((each) => ({ kind: "delete", collection, key: keyOf(name, each) }));
  }

  /** Every module that is required, through others too. */
  async #reachable(module: ParsedModule): Promise<string[]> {
    const walk = walkRequired(module);
    let step = walk.next();
    while (step.done !== true) {
      const { name, by, at } = step.value;
      if (by === module.name && !(await this.#context.storage.get("modules", name)))
        throw invalidRequirement(module, at, `There is no module "${name}".`);
      step = walk.next(await this.#requiredBy(name));
    }
    return step.value;
  }

  async #requiredBy(name: string): Promise<string[]> {
    const names: string[] = [];
    const query = { index: "by_module", equals: [name] };
    for await (const { value } of eachDocument<ModuleRequirementDocument>(
      this.#context.storage,
      collection,
      query,
    ))
      names.push(value.requires);
    return names;
  }

  async #usersOf(names: readonly string[]): Promise<Map<string, string[]>> {
    const users = new Map<string, string[]>();
    for (const name of names) {
      const query = { index: "by_required", equals: [name] };
      const found: string[] = [];
      for await (const { value } of eachDocument<ModuleRequirementDocument>(
        this.#context.storage,
        collection,
        query,
      ))
        found.push(`module ${value.module}`);
      if (found.length > 0) users.set(name, found);
    }
    return users;
  }
}

function keyOf(name: string, required: string): string {
  return `${name} ${required}`;
}
