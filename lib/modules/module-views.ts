/** What reads show of modules: from where it is stored, or made anew where that is gone, damaged or of another version. */
import type { Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError } from "../errors.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { SharedCalls } from "../internal/shared-answers.ts";
import type { ModuleDocument } from "./documents.ts";
import type { ModuleRevisions } from "./module-revisions.ts";
import { decodeView, encodeView, makeView, noView, type ModuleView } from "./module-view.ts";

/** Hash and size of a content as it is shown: those of all of it would let one try guesses. */
export type ShownContent = Pick<ModuleDocument, "content_hash" | "size">;

/** What lists need of a view. */
export interface ViewSummary {
  /** The names of all params; true for those whose values are secret. */
  params: ReadonlyMap<string, boolean>;
  /** What is shown to those who don't read the secrets; null where that is all of it. */
  shown: ShownContent | null;
}

type Viewed = Readonly<Pick<ModuleDocument, "content_hash" | "view_hash">>;

export class ModuleViews {
  readonly #context: Context;
  readonly #revisions: ModuleRevisions;
  /** By the hash of the content; weighed in characters of names. */
  readonly #summaries = new BoundedCache<ViewSummary>({ entries: 5_000, weight: 4_000_000 });
  /** Views that had to be made, by the hash of the content; weighed in bytes as they would be stored. */
  readonly #made = new BoundedCache<ModuleView>({ entries: 500, weight: 16_000_000 });
  /** What is being made, so that whoever else needs it waits for the same. */
  readonly #making = new SharedCalls<ModuleView>();
  /** The last summary that is asked for: they are read one after the other, as each view may be large. */
  #summarizing: Promise<unknown> = Promise.resolve();

  constructor(context: Context, revisions: ModuleRevisions) {
    this.#context = context;
    this.#revisions = revisions;
  }

  /** What reads show of a module. */
  async view(document: Viewed): Promise<ModuleView> {
    const known = this.#made.get(document.content_hash);
    return known ?? (await this.#stored(document)) ?? (await this.#makeOnce(document));
  }

  /** What lists need of it. Where even the content is damaged all is hidden, so that one module takes no list down. */
  async summary(document: Viewed): Promise<ViewSummary> {
    const { content_hash: hash } = document;
    const known = this.#summaries.get(hash);
    if (known) return known;
    const summary = this.#summarizing.then(() => this.#summaries.get(hash) ?? this.#summarize(document));
    this.#summarizing = summary.catch(() => {});
    return summary;
  }

  /** Hash and size of what is shown; null where that is all of it. */
  contentOf(hidden: { content: string } | null): ShownContent | null {
    if (!hidden) return null;
    const bytes = toUtf8(hidden.content);
    return { content_hash: toHex(this.#context.crypto.sha256(bytes)), size: bytes.length };
  }

  async #summarize(document: Viewed): Promise<ViewSummary> {
    await nextTurn();
    try {
      const summary = this.#toSummary(await this.view(document));
      const weight = [...summary.params.keys()].reduce((sum, name) => sum + name.length, 0);
      this.#summaries.set(document.content_hash, summary, weight);
      return summary;
    } catch (error) {
      if (isOrchestratorError(error, "STORAGE_CORRUPT")) return this.#toSummary(noView);
      throw error;
    }
  }

  #toSummary({ params, secretParams, hidden }: ModuleView): ViewSummary {
    const secret = new Set(secretParams);
    return {
      params: new Map(Object.keys(params).map((name) => [name, secret.has(name)])),
      shown: this.contentOf(hidden),
    };
  }

  /** Null where there is none that can be used. */
  async #stored({ view_hash: hash }: Viewed): Promise<ModuleView | null> {
    if (hash === undefined) return null;
    try {
      return decodeView(await this.#context.contents.read("module", hash));
    } catch (error) {
      if (isOrchestratorError(error, "STORAGE_CORRUPT")) return null;
      throw error;
    }
  }

  async #makeOnce(document: Viewed): Promise<ModuleView> {
    const { content_hash: hash } = document;
    return this.#making.get(hash, () => this.#make(document));
  }

  async #make(document: Viewed): Promise<ModuleView> {
    const view = await this.#fromContent(document.content_hash);
    const bytes = encodeView(view);
    this.#made.set(document.content_hash, view, bytes.length);
    if (document.view_hash === toHex(this.#context.crypto.sha256(bytes))) await this.#save(bytes);
    return view;
  }

  async #fromContent(hash: string): Promise<ModuleView> {
    try {
      const { types, work } = this.#context;
      const parsed = await this.#revisions.parsed(hash);
      return await work.do(makeView(await this.#revisions.content(hash), parsed, types));
    } catch (error) {
      if (isOrchestratorError(error, "MODULE_INVALID")) return noView;
      throw error;
    }
  }

  /** Puts what was lost back; whoever reads has no use of it, and is not to fail where nothing can be written. */
  async #save(bytes: Uint8Array): Promise<void> {
    try {
      await this.#context.contents.save("module", bytes);
    } catch (error) {
      if (!isOrchestratorError(error)) throw error;
    }
  }
}
