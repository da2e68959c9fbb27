/**
 * Contents that documents refer to by their hash, as blobs, each kept once for all that refer to it and removed when
 * nothing does.
 *
 *   loose ──an hour later something refers to it──▶ referred to ──that goes──▶ loose
 *     └──an hour later nothing does──▶ removed
 *
 * A content is loose from before it is written, and again from the very commit that removes something that referred to
 * it. So a crash leaves nothing behind, and whoever is about to refer to one has an hour to do so.
 * The commit that removes it fails where it was claimed since, by whatever process.
 */
import type { Clock } from "../clock.ts";
import type { Crypto } from "../crypto/crypto.ts";
import { toHex } from "../crypto/encoding.ts";
import { isOrchestratorError } from "../errors.ts";
import { KeyedQueue } from "../internal/keyed-queue.ts";
import { eachPage } from "../storage/each-document.ts";
import type { CollectionDefinition, Storage, StoredDocument, Write } from "../storage/storage.ts";
import { readContent, saveContent } from "./content-blob.ts";

/** What kinds of contents there are. */
export type ContentKind = "module" | "snapshot" | "rollout";

/** Tells whether a document refers to a content. */
export type ReferenceFinder = (hash: string) => Promise<boolean>;

/** A loose content as it was seen first. */
interface Sight {
  revision: number;
  atMs: number;
}

/** How long a content stays loose at least before it is removed, since it was claimed. */
const looseMs = 3_600_000;
/** One that was claimed is not claimed again for so long. */
const claimMs = 600_000;
const atOnce = 100;

/** Where loose contents are kept, under kind and hash. */
export const contentCollections = {
  loose_contents: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;

/** Keeps contents as long as something refers to them. */
export class Contents {
  readonly #parts: { storage: Storage; clock: Clock; crypto: Crypto };
  readonly #finders = new Map<ContentKind, ReferenceFinder>();
  /** When loose contents were claimed last, by the monotonic clock. */
  readonly #claimedAt = new Map<string, number>();
  /** Since when loose contents have been seen as they are, by the monotonic clock: the wall clock may jump. */
  #seen = new Map<string, Sight>();
  /** What is done with one content, one after the other. */
  readonly #queue = new KeyedQueue();

  constructor(parts: { storage: Storage; clock: Clock; crypto: Crypto }) {
    this.#parts = parts;
  }

  /** Has a feature tell whether anything of its own refers to contents of a kind. */
  onReference(kind: ContentKind, find: ReferenceFinder): void {
    this.#finders.set(kind, find);
  }

  /** Keeps content for an hour at least, durable when resolved, and returns its hash: refer to it in that time. */
  async save(kind: ContentKind, content: Uint8Array): Promise<string> {
    const hash = toHex(this.#parts.crypto.sha256(content));
    const id = `${kind}-${hash}`;
    return this.#queue.do(id, async () => {
      const loose = await this.#loose(id);
      if (loose !== null || !(await this.#isReferred(kind, hash))) await this.#claim(id);
      return saveContent(this.#parts, kind, content);
    });
  }

  /** Whether a content that was saved is still there; if so, it is for an hour at least. */
  async claim(kind: ContentKind, hash: string): Promise<boolean> {
    const id = `${kind}-${hash}`;
    return this.#queue.do(id, async () => {
      if ((await this.#loose(id)) === null) return this.#isReferred(kind, hash);
      await this.#claim(id);
      return true;
    });
  }

  /** Reads content back; `STORAGE_CORRUPT` where it is missing or not what its name says. */
  read(kind: ContentKind, hash: string): Promise<Uint8Array> {
    return readContent(this.#parts, kind, hash);
  }

  /** What the commit has to write that removes something which refers to a content. */
  loosen(kind: ContentKind, hash: string): Write {
    return { kind: "put", collection: "loose_contents", key: `${kind}-${hash}`, value: {} };
  }

  /** Removes the contents that have been loose for an hour and that nothing refers to; yields after each slice. */
  async *sweep(): AsyncGenerator<void> {
    const seen = new Map<string, Sight>();
    for await (const items of eachPage(this.#parts.storage, "loose_contents", { limit: atOnce })) {
      for (const { key, revision } of items) {
        const now = this.#parts.clock.monotonic();
        const known = this.#seen.get(key);
        const sight = known?.revision === revision ? known : { revision, atMs: now };
        // One that was claimed shortly before this one was not written again.
        if (now - sight.atMs < looseMs + claimMs) seen.set(key, sight);
        else await this.#queue.do(key, () => this.#settle(key, revision));
      }
      yield;
    }
    this.#seen = seen;
    const now = this.#parts.clock.monotonic();
    for (const [id, atMs] of this.#claimedAt) if (now - atMs >= claimMs) this.#claimedAt.delete(id);
  }

  /** Removes a loose content, or has it be loose no more. */
  async #settle(id: string, revision: number): Promise<void> {
    const { storage } = this.#parts;
    if ((await this.#loose(id))?.revision !== revision) return;
    // Only `#claim` and `loosen` make these, of a kind.
    const kind = id.slice(0, id.indexOf("-")) as ContentKind;
    const isReferred = await this.#isReferred(kind, id.slice(kind.length + 1));
    const writes: Write[] = [{ kind: "delete", collection: "loose_contents", key: id, expected: revision }];
    // Whoever is about to refer to it has claimed it since, in this process or in another, and then this commit fails.
    if (!isReferred) writes.push({ kind: "dropBlob", id });
    try {
      await storage.commit(writes, { reserve: true });
    } catch (error) {
      // It became loose once more in the meantime.
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }

  async #claim(id: string): Promise<void> {
    const { storage, clock } = this.#parts;
    const now = clock.monotonic();
    const claimedAt = this.#claimedAt.get(id) ?? -Infinity;
    if (now - claimedAt < claimMs && (await this.#loose(id)) !== null) return;
    await storage.commit([{ kind: "put", collection: "loose_contents", key: id, value: {} }]);
    this.#claimedAt.set(id, now);
  }

  #loose(id: string): Promise<StoredDocument | null> {
    return this.#parts.storage.get("loose_contents", id);
  }

  async #isReferred(kind: ContentKind, hash: string): Promise<boolean> {
    return (await this.#finders.get(kind)?.(hash)) ?? true;
  }
}
