/** Which secrets modules use, in their newest revision: what uses a secret keeps it from being removed. */
import type { Context } from "../context.ts";
import type { ParsedModule } from "../module-format/parsed-module.ts";
import { findSecretNames } from "../module-format/secret-parts.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import type { ModuleSecretDocument } from "./documents.ts";

const collection = "module_secrets";

export class ModuleSecrets {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
    context.references.register("secret", (names) => this.#usersOf(names));
  }

  /** What to write with a module that is taken in. */
  async taking(module: ParsedModule): Promise<Write[]> {
    const used = findSecretNames(module);
    const gone = await this.#of(module.name);
    return [
      ...gone.filter(({ secret }) => !used.has(secret)).map(remove),
      ...[...used].map((secret): Write => {
        const value = { module: module.name, secret };
        return { kind: "put", collection, key: keyOf(value), value };
      }),
    ];
  }

  /** What to write with a module that is removed. */
  async removing(name: string): Promise<Write[]> {
    return (await this.#of(name)).map(remove);
  }

  async #of(module: string): Promise<ModuleSecretDocument[]> {
    const found: ModuleSecretDocument[] = [];
    const query = { index: "by_module", equals: [module] };
    for await (const { value } of eachDocument<ModuleSecretDocument>(
      this.#context.storage,
      collection,
      query,
    ))
      found.push(value);
    return found;
  }

  async #usersOf(names: readonly string[]): Promise<Map<string, string[]>> {
    const users = new Map<string, string[]>();
    for (const name of new Set(names)) {
      const query = { index: "by_secret", equals: [name] };
      for await (const { value } of eachDocument<ModuleSecretDocument>(
        this.#context.storage,
        collection,
        query,
      ))
        users.set(name, [...(users.get(name) ?? []), value.module]);
    }
    return users;
  }
}

function remove(used: ModuleSecretDocument): Write {
  return { kind: "delete", collection, key: keyOf(used) };
}

function keyOf({ module, secret }: ModuleSecretDocument): string {
  return `${module}/${secret}`;
}
