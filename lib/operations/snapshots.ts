import type { Context } from "../context.ts";
import { toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError } from "../errors.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { keepCanonical } from "../internal/canonical-json.ts";
import type { Json } from "../json.ts";
import type { ResolvedResource } from "../state/resource.ts";

/** What refers to snapshots, each with the index by which that is found. */
const references = [
  ["operations", "by_snapshot"],
  ["agent_states", "by_baseline"],
] as const;

/** How many are kept in memory: agents with the same desired state share one. */
const keptInMemory = 100;

/**
 * Sets of resolved resources, kept by content and never changed: what an operation was asked to make true.
 *
 * The one way by which values that templates gave reach the orchestrator's disk, in the clear. Whatever must not lie there
 * has to be taken out before {@link save} and put back after {@link load}.
 */
export class Snapshots {
  readonly #context: Context;
  readonly #known = new BoundedCache<readonly ResolvedResource[]>({ entries: keptInMemory });
  readonly #hashes = new WeakMap<readonly ResolvedResource[], string>();

  constructor(context: Context) {
    this.#context = context;
    context.contents.onReference("snapshot", async (hash) => {
      for (const [collection, index] of references) {
        const { items } = await context.storage.list(collection, { index, equals: [hash], limit: 1 });
        if (items.length > 0) return true;
      }
      return false;
    });
  }

  /** Keeps resources, durable when resolved, and returns the hash that names them; an operation must name it within the hour. */
  async save(resources: readonly ResolvedResource[]): Promise<string> {
    const known = this.#hashes.get(resources);
    if (known !== undefined && (await this.#context.contents.claim("snapshot", known))) return known;
    const content = toUtf8(keepCanonical(resources as unknown as readonly Json[]));
    const hash = await this.#context.contents.save("snapshot", content);
    this.#remember(hash, resources);
    return hash;
  }

  /** Reads resources. The list is the same for every operation that shares it, so that signing a thousand commands writes it once. */
  async load(hash: string): Promise<readonly ResolvedResource[]> {
    const known = this.#known.get(hash);
    if (known) return known;
    const content = await this.#context.contents.read("snapshot", hash);
    const resources = JSON.parse(new TextDecoder().decode(content)) as ResolvedResource[];
    keepCanonical(resources as unknown as readonly Json[]);
    this.#remember(hash, resources);
    return resources;
  }

  /** The same; null for a snapshot that is lost or damaged. */
  async loadIfWhole(hash: string): Promise<readonly ResolvedResource[] | null> {
    try {
      return await this.load(hash);
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_CORRUPT")) throw error;
      this.#context.logger.warn("What was applied to a machine can't be read any more.", { error });
      return null;
    }
  }

  #remember(hash: string, resources: readonly ResolvedResource[]): void {
    this.#known.set(hash, resources);
    this.#hashes.set(resources, hash);
  }
}
