import type { Context } from "../context.ts";
import { toJsonObject, type Json } from "../json.ts";
import type { ModuleUse } from "../module-format/module-use.ts";
import type { ParsedModule } from "../module-format/parsed-module.ts";
import type { Write } from "../storage/storage.ts";
import type { ModuleDocument } from "./documents.ts";
import { HiddenValues } from "./hidden-values.ts";
import { ModuleAgreement } from "./module-agreement.ts";
import { ModuleRequirements } from "./module-requirements.ts";
import { moduleNotFound, ModuleRevisions, type ModuleRevision } from "./module-revisions.ts";
import { ModuleSecrets } from "./module-secrets.ts";
import { ModuleViews } from "./module-views.ts";

/**
 * Stands between a module and its being taken in: refuses it by what it throws, or calls `store`, once, with what must be
 * written in the same step.
 */
export type UploadGuard = <Result>(
  module: ParsedModule,
  store: (also: readonly Write[]) => Promise<Result>,
) => Promise<Result>;

/** Modules for other features: what they hold, whether they go together, and that none is removed while it is used. */
export class ModuleService {
  /** Tells which modules can stand beside each other. */
  readonly agreement: ModuleAgreement;
  readonly requirements: ModuleRequirements;
  readonly secrets: ModuleSecrets;
  readonly revisions: ModuleRevisions;
  readonly views: ModuleViews;
  readonly #context: Context;
  readonly #hiddenValues: HiddenValues;
  #guard: UploadGuard = (_module, store) => store([]);

  constructor(context: Context) {
    this.#context = context;
    this.requirements = new ModuleRequirements(context, (names) => this.hold(names));
    this.secrets = new ModuleSecrets(context);
    this.revisions = new ModuleRevisions(context);
    this.views = new ModuleViews(context, this.revisions);
    this.#hiddenValues = new HiddenValues(context, this.views);
    this.agreement = new ModuleAgreement(this.revisions, context);
    context.contents.onReference("module", async (hash) => {
      for (const index of ["by_content", "by_view"]) {
        const { items } = await context.storage.list("module_revisions", { index, equals: [hash], limit: 1 });
        if (items.length > 0) return true;
      }
      return false;
    });
  }

  /**
   * Reads a module for an operation, in its newest revision or that which is given.
   *
   * @throws {OrchestratorError} `NOT_FOUND` naming it.
   */
  resolve(name: string, wanted?: number): Promise<ModuleRevision> {
    return this.revisions.resolve(name, wanted);
  }

  /** Whether there is a module of this name. */
  async exists(name: string): Promise<boolean> {
    return (await this.#context.storage.get("modules", name)) !== null;
  }

  /**
   * What a commit must write beside a reference to modules, so that none of them is removed in the same moment: the step
   * fails with `REVISION_CONFLICT` where one was.
   *
   * @throws {OrchestratorError} `NOT_FOUND` naming the first that is missing.
   */
  hold(names: readonly string[]): Promise<Write[]> {
    return Promise.all(
      [...new Set(names)].map(async (name): Promise<Write> => {
        const stored = await this.#context.storage.get<ModuleDocument>("modules", name);
        if (!stored) throw moduleNotFound(name);
        return toModulePut(stored.value, stored.revision);
      }),
    );
  }

  /**
   * Values of params for some modules as lists show them, and Viewers see them: "(sensitive)" where one of the modules, in its newest
   * revision or that which it is pinned to, keeps a param secret, or where none declares it.
   */
  hideValues(use: ModuleUse): Promise<{ [key: string]: Json }> {
    return this.#hiddenValues.hide(use);
  }

  /** Has a feature say which modules may be taken in. */
  guardUploads(guard: UploadGuard): void {
    this.#guard = guard;
  }

  /** Has `store` called with what must be written beside a module that may be taken in. */
  guard<Result>(module: ParsedModule, store: (also: readonly Write[]) => Promise<Result>): Promise<Result> {
    return this.#guard(module, store);
  }
}

/** The write that puts a module where it has this version. */
export function toModulePut(document: Readonly<ModuleDocument>, expected: number): Write {
  const value = toJsonObject(document);
  return { kind: "put", collection: "modules", key: document.name, value, expected };
}
