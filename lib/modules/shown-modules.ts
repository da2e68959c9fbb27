/** What is shown of modules to whom: those who may write them read everything, all others what is not secret. */
import { allows } from "../callers/authorizer.ts";
import type { Caller } from "../callers/caller.ts";
import type { ModuleDocument } from "./documents.ts";
import type { ModuleRevisions } from "./module-revisions.ts";
import type { ModuleViews } from "./module-views.ts";
import type { ModuleDetail } from "./schemas.ts";

/** A module as somebody reads it. */
export type ShownDetail = Pick<ModuleDetail, "content" | "params" | "resources">;

export class ShownModules {
  readonly #revisions: ModuleRevisions;
  readonly #views: ModuleViews;

  constructor(revisions: ModuleRevisions, views: ModuleViews) {
    this.#revisions = revisions;
    this.#views = views;
  }

  /** Whether somebody reads the secrets in modules. */
  seesSecrets(caller: Caller): boolean {
    return allows(caller, "modules.upload");
  }

  /** The document as a caller sees it. */
  async documentFor(caller: Caller, document: Readonly<ModuleDocument>): Promise<Readonly<ModuleDocument>> {
    if (this.seesSecrets(caller)) return document;
    const { shown } = await this.#views.summary(document);
    return shown === null ? document : { ...document, ...shown };
  }

  /** A content with its params and resources, as a caller sees them. */
  async detailFor(caller: Caller, document: Readonly<ModuleDocument>): Promise<ShownDetail> {
    const { params, resources, hidden } = await this.#views.view(document);
    if (hidden !== null && !this.seesSecrets(caller)) return hidden;
    return { content: await this.#revisions.content(document.content_hash), params, resources };
  }
}
