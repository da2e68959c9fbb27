/** Which version of which secret each agent has, so that a list finds those that still have an old one. */
import type { Context } from "../context.ts";
import { eachDocument, eachPage } from "../storage/each-document.ts";
import type { Write } from "../storage/storage.ts";
import type { AppliedSecretDocument } from "./documents.ts";

const collection = "applied_secrets";

/** Versions by the name of their secret. */
type Versions = ReadonlyMap<string, number>;

export class AppliedSecrets {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** What to write where an agent has other secrets than before. */
  change(nodeId: string, { before, after }: { before: Versions; after: Versions }): Write[] {
    const gone = [...before.keys()].filter((secret) => !after.has(secret));
    const changed = [...after].filter(([secret, version]) => before.get(secret) !== version);
    return [
      ...gone.map((secret): Write => ({ kind: "delete", collection, key: keyOf(nodeId, secret) })),
      ...changed.map(([secret, version]): Write => {
        const value = { node_id: nodeId, secret, version };
        return { kind: "put", collection, key: keyOf(nodeId, secret), value };
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

  /** The agents that have a secret in an older version than one, after a node_id, page by page. */
  async *pages(
    { name, revision = Infinity }: { name: string; revision?: number },
    { after, limit }: { after: string; limit: number },
  ): AsyncGenerator<string[]> {
    const query = { index: "by_secret", equals: [name], limit, from: keyOf(after, "\u{10ffff}") };
    for await (const page of eachPage<AppliedSecretDocument>(this.#context.storage, collection, query))
      yield page.flatMap(({ value }) => (value.version < revision ? value.node_id : []));
  }

  /** Those of some agents that have a secret in an older version than one. */
  async having(
    nodeIds: readonly string[],
    { name, revision = Infinity }: { name: string; revision?: number },
  ): Promise<ReadonlySet<string>> {
    const keys = nodeIds.map((nodeId) => keyOf(nodeId, name));
    const found = await this.#context.storage.getMany<AppliedSecretDocument>(collection, keys);
    return new Set(
      found.flatMap((each) => (each && each.value.version < revision ? each.value.node_id : [])),
    );
  }
}

function keyOf(nodeId: string, secret: string): string {
  return `${nodeId}/${secret}`;
}
