/**
 * Which revision of which module, and which version of which secret, each agent has, so that a list finds agents by it. Whoever applies says
 * what to write.
 */
import type { Context } from "../context.ts";
import { eachDocument, eachPage } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import type { AppliedModuleDocument, AppliedSecretDocument } from "./documents.ts";

/** Revisions of modules, or versions of secrets, by their names. */
export type Revisions = ReadonlyMap<string, number>;

/** A collection with one document for each agent and name, under `node_id/name`. */
abstract class Applied<Document extends { node_id: string }> {
  protected readonly context: Context;
  protected readonly collection: string;

  constructor(context: Context, collection: string) {
    this.context = context;
    this.collection = collection;
  }

  /** What to write where an agent has others than before. */
  change(nodeId: string, { before, after }: { before: Revisions; after: Revisions }): Write[] {
    const { collection } = this;
    const gone = [...before.keys()].filter((name) => !after.has(name));
    const changed = [...after].filter(([name, revision]) => before.get(name) !== revision);
    return [
      ...gone.map((name): Write => ({ kind: "delete", collection, key: keyOf(nodeId, name) })),
      ...changed.map(([name, revision]): Write => {
        const value = this.document(nodeId, name, revision);
        return { kind: "put", collection, key: keyOf(nodeId, name), value };
      }),
    ];
  }

  /** What to delete with an agent. */
  async forget(nodeId: string): Promise<Write[]> {
    const { collection } = this;
    const writes: Write[] = [];
    const query = { from: keyOf(nodeId, ""), to: keyOf(nodeId, "\u{10ffff}") };
    for await (const { key } of eachDocument(this.context.storage, collection, query))
      writes.push({ kind: "delete", collection, key });
    return writes;
  }

  protected abstract document(nodeId: string, name: string, revision: number): Document;

  /** What those of some agents have that have something of a name. */
  protected async find(nodeIds: readonly string[], name: string): Promise<Document[]> {
    const keys = nodeIds.map((nodeId) => keyOf(nodeId, name));
    const found = await this.context.storage.getMany<Document>(this.collection, keys);
    return found.flatMap((each) => each?.value ?? []);
  }
}

/** The revision of each module that was last applied to its end. */
export class AppliedModules extends Applied<AppliedModuleDocument> {
  constructor(context: Context) {
    super(context, "applied_modules");
  }

  /** What agents have of some modules, by node_id. */
  async revisionsOf(modules: readonly string[]): Promise<Map<string, Revisions>> {
    const byAgent = new Map<string, Map<string, number>>();
    for (const module of new Set(modules)) {
      const query = { index: "by_module", equals: [module] };
      const documents = eachDocument<AppliedModuleDocument>(this.context.storage, this.collection, query);
      for await (const { value } of documents) {
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
    for await (const page of eachPage<AppliedModuleDocument>(this.context.storage, this.collection, query))
      yield page.map(({ value }) => value.node_id);
  }

  /** Those of some agents that have a module, in any revision or one. */
  async having(
    nodeIds: readonly string[],
    { name, revision }: { name: string; revision?: number },
  ): Promise<ReadonlySet<string>> {
    const found = await this.find(nodeIds, name);
    return new Set(
      found.flatMap((each) => (revision === undefined || each.revision === revision ? each.node_id : [])),
    );
  }

  protected document(nodeId: string, module: string, revision: number): AppliedModuleDocument {
    return { node_id: nodeId, module, revision };
  }
}

/** The oldest version of each secret's value that an agent has. */
export class AppliedSecrets extends Applied<AppliedSecretDocument> {
  constructor(context: Context) {
    super(context, "applied_secrets");
  }

  /** The agents that have a secret in an older version than one, after a node_id, page by page. */
  async *pages(
    { name, revision = Infinity }: { name: string; revision?: number },
    { after, limit }: { after: string; limit: number },
  ): AsyncGenerator<string[]> {
    const query = { index: "by_secret", equals: [name], limit, from: keyOf(after, "\u{10ffff}") };
    for await (const page of eachPage<AppliedSecretDocument>(this.context.storage, this.collection, query))
      yield page.flatMap(({ value }) => (value.version < revision ? value.node_id : []));
  }

  /** Those of some agents that have a secret in an older version than one. */
  async having(
    nodeIds: readonly string[],
    { name, revision = Infinity }: { name: string; revision?: number },
  ): Promise<ReadonlySet<string>> {
    const found = await this.find(nodeIds, name);
    return new Set(found.flatMap((each) => (each.version < revision ? each.node_id : [])));
  }

  protected document(nodeId: string, secret: string, version: number): AppliedSecretDocument {
    return { node_id: nodeId, secret, version };
  }
}

function keyOf(nodeId: string, name: string): string {
  return `${nodeId}/${name}`;
}
