/** What is shown of modules to whom: those who may write them read everything, all others what is not secret. */
import { allows } from "../access/allows.ts";
import type { Caller } from "../access/caller.ts";
import type { Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import type { ModuleDocument } from "./documents.ts";
import type { ModuleRevisions } from "./module-revisions.ts";
import type { ModuleDetail } from "./schemas.ts";

/** Of how many contents it is remembered how they are shown. */
const keptInMemory = 5_000;

/** Hash and size of a content as it is shown: those of all of it would let one try guesses. */
export type ShownContent = Pick<ModuleDocument, "content_hash" | "size">;

/** A module as somebody reads it. */
export type ShownDetail = Pick<ModuleDetail, "content" | "params" | "resources">;

export class ShownModules {
  readonly #context: Context;
  readonly #revisions: ModuleRevisions;
  /** By the hash of the content; null where nothing of it is secret. */
  readonly #shown = new Map<string, ShownContent | null>();

  constructor(context: Context, revisions: ModuleRevisions) {
    this.#context = context;
    this.#revisions = revisions;
  }

  /** Whether somebody reads the secrets in modules. */
  seesSecrets(caller: Caller): boolean {
    return allows(caller, "modules.upload");
  }

  /** The document as a caller sees it. Each content is read once for it. */
  async documentFor(caller: Caller, document: Readonly<ModuleDocument>): Promise<Readonly<ModuleDocument>> {
    if (this.seesSecrets(caller)) return document;
    const { content_hash: hash } = document;
    let shown = this.#shown.get(hash);
    if (shown === undefined) {
      shown = this.contentOf((await this.#revisions.view(document)).hidden);
      if (this.#shown.size >= keptInMemory) this.#shown.clear();
      this.#shown.set(hash, shown);
    }
    return shown === null ? document : { ...document, ...shown };
  }

  /** A content with its params and resources, as a caller sees them. */
  async detailFor(caller: Caller, document: Readonly<ModuleDocument>): Promise<ShownDetail> {
    const { params, resources, hidden } = await this.#revisions.view(document);
    if (hidden !== null && !this.seesSecrets(caller)) return hidden;
    return { content: await this.#revisions.content(document.content_hash), params, resources };
  }

  /** Hash and size of what is shown; null where that is all of it. */
  contentOf(hidden: { content: string } | null): ShownContent | null {
    if (!hidden) return null;
    const bytes = toUtf8(hidden.content);
    return { content_hash: toHex(this.#context.crypto.sha256(bytes)), size: bytes.length };
  }
}
