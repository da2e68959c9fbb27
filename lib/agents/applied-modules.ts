/** Which revision of which module each agent has, so that a list finds agents by it. Whoever applies modules says what to write. */
import type { Context } from "../context.ts";
import { eachDocument, eachPage } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import type { AppliedModuleDocument } from "./documents.ts";

const collection = "applied_modules";

/** Revisions by the name of their module. */
export type Revisions = ReadonlyMap<string, number>;

export class AppliedModules {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** What to write where an agent has other modules than before. */
  change(nodeId: string, { before, after }: { before: Revisions; after: Revisions }): Write[] {
    const gone = [...before.keys()].filter((module) => !after.has(module));
    const changed = [...after].filter(([module, revision]) => before.get(module) !== revision);
    return [
      ...gone.map((module): Write => ({ kind: "delete", collection, key: keyOf(nodeId, module) })),
      ...changed.map(([module, revision]): Write => {
        const value = { node_id: nodeId, module, revision };
        return { kind: "put", collection, key: keyOf(nodeId, module), value };
      }),
    ];
  }

  /** What to delete with an agent. */
  async forget(nodeId: string): Promise<Write[]> {
    const writes: Write[] = [];
    const query = { from: keyOf(nodeId, ""), to: keyOf(nodeId, "\u{10ffff}") };
    for await (const { key } of eachDocument(this.#context.storage, collection, query))
      writes.push({ kind: "delete", collection, key });
    return writes;
  }

  /** What agents have of some modules, by node_id. */
  async revisionsOf(modules: readonly string[]): Promise<Map<string, Revisions>> {
    const byAgent = new Map<string, Map<string, number>>();
    for (const module of new Set(modules)) {
      const query = { index: "by_module", equals: [module] };
      for await (const { value } of eachDocument<AppliedModuleDocument>(
        this.#context.storage,
        collection,
        query,
      )) {
        const own = byAgent.get(value.node_id) ?? new Map<string, number>();
        byAgent.set(value.node_id, own.set(module, value.revision));
      }
    }
    return byAgent;
  }

  /** The agents that have a module, in any revision or one, after a node_id, page by page. */
  async *pages(
    { name, revision }: { name: string; revision?: number },
    { after, limit }: { after: string; limit: number },
  ): AsyncGenerator<string[]> {
    const which =
      revision === undefined
        ? { index: "by_module", equals: [name] }
        : { index: "by_revision", equals: [name, revision] };
    const query = { ...which, limit, from: keyOf(after, "\u{10ffff}") };
    for await (const page of eachPage<AppliedModuleDocument>(this.#context.storage, collection, query))
      yield page.map(({ value }) => value.node_id);
  }

  /** Those of some agents that have a module, in any revision or one. */
  async having(
    nodeIds: readonly string[],
    { name, revision }: { name: string; revision?: number },
  ): Promise<ReadonlySet<string>> {
    const keys = nodeIds.map((nodeId) => keyOf(nodeId, name));
    const found = await this.#context.storage.getMany<AppliedModuleDocument>(collection, keys);
    return new Set(
      found.flatMap((each) =>
        each && (revision === undefined || each.value.revision === revision) ? each.value.node_id : [],
      ),
    );
  }
}

function keyOf(nodeId: string, module: string): string {
  return `${nodeId}/${module}`;
}
