import type { z } from "zod";
import { answering, toSubject, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { OrchestratorError } from "../errors.ts";
import type { ManagedBy, Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { isManagedAs, managedAfter } from "../managed-by.ts";
import { readModule } from "../module-format/module-document.ts";
import type { ParsedModule } from "../module-format/parsed-module.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { revisionKey, type ModuleDocument } from "./documents.ts";
import { moduleNotFound } from "./module-revisions.ts";
import { toModulePut, type ModuleService } from "./module-service.ts";
import { encodeView, makeView, type ModuleView } from "./module-view.ts";
import {
  getModuleInput,
  listModulesInput,
  moduleNameInput,
  uploadModuleInput,
  type Module,
  type ModuleDetail,
  type UploadedModule,
} from "./schemas.ts";
import { ShownModules } from "./shown-modules.ts";

/** What is uploaded, and how. */
interface Upload {
  content: string;
  parsed: ParsedModule;
  view: ModuleView;
  /** Absent = as before. */
  managedBy: ManagedBy | null | undefined;
  options: ChangeOptions | undefined;
}

/** Declared state, uploaded as YAML. Every upload of other content is a new revision; old ones stay readable. */
export class Modules {
  readonly #context: Context;
  readonly #service: ModuleService;
  readonly #shown: ShownModules;

  constructor(context: Context, service: ModuleService) {
    this.#context = context;
    this.#service = service;
    this.#shown = new ShownModules(service.revisions, service.views);
  }

  /** Lists modules by name, each in its newest revision. */
  async list(caller: Caller, input: z.input<typeof listModulesInput> = {}): Promise<Page<Module>> {
    await this.#context.authorize(caller, "modules.list");
    const { limit = 50, cursor } = parseInput(listModulesInput, input);
    const page = await this.#context.storage.list<ModuleDocument>("modules", {
      limit,
      ...(cursor !== undefined && { after: String(decodeCursor("modules", {}, cursor)) }),
    });
    return {
      items: await this.#toModules(
        await Promise.all(page.items.map(({ value }) => this.#shown.documentFor(caller, value))),
      ),
      next_cursor: page.next === null ? null : encodeCursor("modules", {}, page.next),
    };
  }

  /**
   * Reads a module with its content, in its newest or an older revision. Who may not upload modules gets it without its secrets: the
   * values of `sensitive` resources and params are "(sensitive)", and hash and size are those of what is shown.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof getModuleInput>): Promise<ModuleDetail> {
    await this.#context.authorize(caller, "modules.get");
    const { name, revision } = parseInput(getModuleInput, input);
    const document = await this.#service.revisions.read(name, revision);
    return {
      ...(await this.#toModule(await this.#shown.documentFor(caller, document))),
      ...(await this.#shown.detailFor(caller, document)),
    };
  }

  /**
   * Takes a module in. Content that equals the newest revision's changes nothing, unless another folder manages it from now on: that is
   * a revision, too.
   *
   * @param options.ifVersion - The newest revision there may be; 0 = none.
   * @returns The module; `created` tells whether a revision was made.
   * @throws {OrchestratorError} `MODULE_INVALID` with line and column of every fault, and where it requires a module that is
   * not there or that requires it; `RESOURCE_CONFLICT` where it contradicts
   * another module of an assignment that uses it; `PRECONDITION_FAILED`. Nothing is stored then.
   */
  async upload(
    caller: Caller,
    input: z.input<typeof uploadModuleInput>,
    options?: ChangeOptions,
  ): Promise<UploadedModule> {
    await this.#context.authorize(caller, "modules.upload");
    const { content, name, managed_by: managedBy } = parseInput(uploadModuleInput, input);
    const { types, work } = this.#context;
    const parsed = await work.do(readModule(content, types));
    if (name !== undefined && name !== parsed.name) {
      throw new OrchestratorError("MODULE_INVALID", {
        issues: [{ path: ["name"], message: `the content is named ${parsed.name}, not ${name}` }],
      });
    }
    const view = await work.do(makeView(content, parsed, types));
    return retryOnConflict(() => this.#take(caller, { content, parsed, view, managedBy, options }));
  }

  async #take(caller: Caller, upload: Upload): Promise<UploadedModule> {
    const { content, parsed, view, managedBy } = upload;
    const newest = await this.#context.storage.get<ModuleDocument>("modules", parsed.name);
    requireVersion({ revision: newest?.value.revision ?? 0 }, upload.options);
    const bytes = toUtf8(content);
    const hash = toHex(this.#context.crypto.sha256(bytes));
    if (newest?.value.content_hash === hash && isManagedAs(newest.value, managedBy)) {
      await this.#service.revisions.mend(hash, bytes);
      return { ...(await this.#toModule(newest.value)), created: false };
    }
    const shown = encodeView(view);
    const hashes = { hash, viewHash: toHex(this.#context.crypto.sha256(shown)) };
    const made = this.#toDocument(caller, parsed, { ...hashes, size: bytes.length, before: newest });
    const document = managedAfter(made, managedBy);
    const requirements = await this.#service.requirements.taking(parsed);
    const secrets = await this.#service.secrets.taking(parsed);
    // Nothing is read once it is written: who could not be answered would think that nothing was.
    const answer = await this.#service.guard(parsed, async (also) => {
      await this.#context.contents.save("module", bytes);
      await this.#context.contents.save("module", shown);
      const uploaded = { ...(await this.#toModule(document)), created: true };
      // Events are read by everybody.
      const { content_hash } = this.#service.views.contentOf(view.hidden) ?? document;
      const writes = [toModulePut(document, newest?.revision ?? 0), ...requirements, ...secrets, ...also];
      await this.#store(answering(caller, uploaded), { document, content_hash }, writes);
      return uploaded;
    });
    this.#service.revisions.remember(hash, parsed);
    return answer;
  }

  /**
   * Removes a module with all its revisions. What it applied stays on the machines until their next apply of everything.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `IN_USE` with `details.used_by`; `PRECONDITION_FAILED`.
   */
  async remove(
    caller: Caller,
    input: z.input<typeof moduleNameInput>,
    options?: ChangeOptions,
  ): Promise<void> {
    await this.#context.authorize(caller, "modules.remove");
    const { name } = parseInput(moduleNameInput, input);
    await retryOnConflict(() => this.#remove(caller, name, options));
  }

  /** Who begins to use the module meanwhile has changed its document, and it is looked at again. */
  async #remove(caller: Caller, name: string, options: ChangeOptions | undefined): Promise<void> {
    const module = await this.#context.storage.get<ModuleDocument>("modules", name);
    if (!module) throw moduleNotFound(name);
    requireVersion(module.value, options);
    const usedBy = (await this.#context.references.usersOf("module", [name])).get(name) ?? [];
    if (usedBy.length > 0) {
      throw new OrchestratorError("IN_USE", {
        message: `Module ${name} is used by ${usedBy.join(", ")}.`,
        details: { used_by: usedBy },
      });
    }
    const writes: Write[] = [{ kind: "delete", collection: "modules", key: name, expected: module.revision }];
    writes.push(...(await this.#service.requirements.removing(name)));
    writes.push(...(await this.#service.secrets.removing(name)));
    const revisions = { index: "by_name", equals: [name] };
    const { storage, contents } = this.#context;
    for await (const { key, value } of eachDocument<ModuleDocument>(storage, "module_revisions", revisions)) {
      writes.push({ kind: "delete", collection: "module_revisions", key });
      for (const hash of [value.content_hash, value.view_hash])
        if (hash !== undefined) writes.push(contents.loosen("module", hash));
    }
    await this.#context.commit(answering(caller), writes, {
      type: "module.removed",
      target: { type: "module", id: name, name },
      summary: `Module ${name} was removed`,
    });
  }

  async #store(
    caller: Caller,
    { document, content_hash }: { document: ModuleDocument; content_hash: string },
    writes: readonly Write[],
  ): Promise<void> {
    const { name, revision } = document;
    const value = toJsonObject(document);
    const key = revisionKey(name, revision);
    await this.#context.commit(
      caller,
      [...writes, { kind: "put", collection: "module_revisions", key, value }],
      {
        type: "module.uploaded",
        target: { type: "module", id: name, name },
        summary: `Module ${name} was uploaded as revision ${revision}`,
        metadata: { revision, content_hash },
      },
    );
  }

  #toDocument(
    caller: Caller,
    parsed: ParsedModule,
    content: { hash: string; viewHash: string; size: number; before: StoredDocument<ModuleDocument> | null },
  ): ModuleDocument {
    return {
      name: parsed.name,
      ...(parsed.description !== null && { description: parsed.description }),
      revision: (content.before?.value.revision ?? 0) + 1,
      content_hash: content.hash,
      view_hash: content.viewHash,
      size: content.size,
      resource_count: parsed.resources.length,
      uploaded_at: this.#context.timestamp(),
      uploaded_by: toSubject(caller).name,
      ...(content.before?.value.managed_by && { managed_by: content.before.value.managed_by }),
    };
  }

  async #toModule(document: Readonly<ModuleDocument>): Promise<Module> {
    return (await this.#toModules([document]))[0]!;
  }

  async #toModules(documents: readonly Readonly<ModuleDocument>[]): Promise<Module[]> {
    const names = documents.map(({ name }) => name);
    const users = await this.#context.references.usersOf("module", names);
    return documents.map(({ view_hash: _viewHash, ...document }) => {
      return { ...document, used_by: users.get(document.name) ?? [] };
    });
  }
}
