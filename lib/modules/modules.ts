import type { z } from "zod";
import { toSubject, type Caller } from "../access/caller.ts";
import type { Context } from "../context.ts";
import { toUtf8 } from "../crypto/encoding.ts";
import { requireVersion, withVersion, type ChangeOptions } from "../document-version.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { eachDocument } from "../internal/each-document.ts";
import type { JsonObject } from "../internal/json.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { revisionKey, type ModuleDocument } from "./documents.ts";
import { parseModule } from "./module-document.ts";
import { requireUsable, type ModuleUse } from "./module-use.ts";
import type { ParsedModule } from "./parsed-module.ts";
import {
  getModuleInput,
  listModulesInput,
  moduleNameInput,
  uploadModuleInput,
  type Module,
  type ModuleDetail,
  type UploadedModule,
} from "./schemas.ts";

/** How many parsed revisions are kept in memory: parsing is slow and a fleet applies the same few. */
const keptInMemory = 200;

/** A module in the revision that an operation uses. */
export interface ModuleRevision {
  name: string;
  revision: number;
  content_hash: string;
  content: ParsedModule;
}

/** Declared state, uploaded as YAML. Every upload of other content is a new revision; old ones stay readable. */
export class Modules {
  readonly #context: Context;
  readonly #parsed = new Map<string, ParsedModule>();
  readonly #uploadChecks: ((module: ParsedModule) => Promise<void>)[] = [];

  constructor(context: Context) {
    this.#context = context;
    context.contents.onReference("module", async (hash) => {
      const query = { index: "by_content", equals: [hash], limit: 1 };
      return (await context.storage.list("module_revisions", query)).items.length > 0;
    });
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
      items: await this.#toModules(page.items.map((item) => item.value)),
      next_cursor: page.next === null ? null : encodeCursor("modules", {}, page.next),
    };
  }

  /**
   * Reads a module with its content, in its newest or an older revision.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof getModuleInput>): Promise<ModuleDetail> {
    await this.#context.authorize(caller, "modules.get");
    const { name, revision } = parseInput(getModuleInput, input);
    const document = await this.#read(name, revision);
    const content = new TextDecoder().decode(
      await this.#context.contents.read("module", document.content_hash),
    );
    const { params, outline } = this.#parse(document.content_hash, content);
    const detail = {
      ...(await this.#toModule(document)),
      content,
      params: { ...params },
      resources: outline.map(({ id, type, identity }) => ({ id, type, identity })),
    };
    return withVersion(detail, document.revision);
  }

  /**
   * Takes a module in. Content that equals the newest revision's changes nothing.
   *
   * @returns The module; `created` tells whether a revision was made.
   * @throws {OrchestratorError} `MODULE_INVALID` with line and column of every fault; `RESOURCE_CONFLICT` where it contradicts
   * another module of an assignment that uses it. Nothing is stored then.
   */
  async upload(caller: Caller, input: z.input<typeof uploadModuleInput>): Promise<UploadedModule> {
    await this.#context.authorize(caller, "modules.upload");
    const { content, name } = parseInput(uploadModuleInput, input);
    const parsed = parseModule(content);
    if (name !== undefined && name !== parsed.name) {
      throw new OrchestratorError("MODULE_INVALID", {
        issues: [{ path: ["name"], message: `the content is named ${parsed.name}, not ${name}` }],
      });
    }
    for (const check of this.#uploadChecks) await check(parsed);
    const bytes = toUtf8(content);
    const hash = await this.#context.contents.save("module", bytes);
    for (;;) {
      const newest = await this.#context.storage.get<ModuleDocument>("modules", parsed.name);
      if (newest?.value.content_hash === hash)
        return { ...(await this.#toModule(newest.value)), created: false };
      const document = this.#toDocument(caller, parsed, { hash, size: bytes.length, before: newest });
      if (await this.#store(caller, document, newest))
        return { ...(await this.#toModule(document)), created: true };
    }
  }

  /**
   * Removes a module with all its revisions. What it applied stays on the machines until their next apply.
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
    if (!module) throw notFound(name);
    requireVersion(module.value, options);
    const usedBy = (await this.#context.references.usersOf("module", [name])).get(name) ?? [];
    if (usedBy.length > 0) {
      throw new OrchestratorError("IN_USE", {
        message: `Module ${name} is used by ${usedBy.join(", ")}.`,
        details: { used_by: usedBy },
      });
    }
    const writes: Write[] = [{ kind: "delete", collection: "modules", key: name, expected: module.revision }];
    const revisions = { index: "by_name", equals: [name] };
    const { storage, contents } = this.#context;
    for await (const { key, value } of eachDocument<ModuleDocument>(storage, "module_revisions", revisions)) {
      writes.push({ kind: "delete", collection: "module_revisions", key });
      writes.push(contents.loosen("module", value.content_hash));
    }
    await this.#context.commit(caller, writes, {
      type: "module.removed",
      target: { type: "module", id: name, name },
      summary: `Module ${name} was removed`,
    });
  }

  /**
   * Reads a module for an operation, in its newest revision or that which is given.
   *
   * @throws {OrchestratorError} `NOT_FOUND` naming it.
   */
  async resolve(name: string, wanted?: number): Promise<ModuleRevision> {
    const { revision, content_hash } = await this.#read(name, wanted);
    return { name, revision, content_hash, content: await this.#load(content_hash) };
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
        if (!stored) throw notFound(name);
        const value = { ...stored.value } as unknown as JsonObject;
        return { kind: "put", collection: "modules", key: name, value, expected: stored.revision };
      }),
    );
  }

  /** Has a feature look at each module before it is taken in; what it throws refuses the upload. */
  beforeUpload(check: (module: ParsedModule) => Promise<void>): void {
    this.#uploadChecks.push(check);
  }

  /**
   * Refuses modules that can't stand beside each other on one machine, or can't be used with these values of params.
   *
   * @param uploaded - Stands for the stored module of its name.
   * @throws {OrchestratorError} `NOT_FOUND`; `VALIDATION_FAILED` for values that the modules do not declare, that are not as
   * declared, or that are missing; `TEMPLATE_FAILED` where they make a resource that is none; `RESOURCE_CONFLICT` naming both
   * sides of each contradiction.
   */
  async requireCompatible(use: ModuleUse, uploaded?: ParsedModule): Promise<void> {
    const others = [...new Set(use.modules)].filter((name) => name !== uploaded?.name);
    const contents = (await Promise.all(others.map((name) => this.resolve(name)))).map(
      ({ content }) => content,
    );
    if (uploaded && use.modules.includes(uploaded.name)) contents.push(uploaded);
    requireUsable(contents, use.params ?? {});
  }

  async #load(hash: string): Promise<ParsedModule> {
    const known = this.#parsed.get(hash);
    if (known) return known;
    return this.#parse(hash, new TextDecoder().decode(await this.#context.contents.read("module", hash)));
  }

  #parse(hash: string, content: string): ParsedModule {
    const parsed = this.#parsed.get(hash) ?? parseModule(content);
    // Deleting first moves it to the end: the map's order is the order of last use.
    this.#parsed.delete(hash);
    this.#parsed.set(hash, parsed);
    const [oldest] = this.#parsed.keys();
    if (this.#parsed.size > keptInMemory && oldest !== undefined) this.#parsed.delete(oldest);
    return parsed;
  }

  async #read(name: string, revision?: number): Promise<Readonly<ModuleDocument>> {
    const { storage } = this.#context;
    const stored =
      revision === undefined
        ? await storage.get<ModuleDocument>("modules", name)
        : await storage.get<ModuleDocument>("module_revisions", revisionKey(name, revision));
    if (!stored) throw notFound(name, revision);
    return stored.value;
  }

  /** False where somebody else uploaded in the meantime. */
  async #store(
    caller: Caller,
    document: ModuleDocument,
    newest: StoredDocument<ModuleDocument> | null,
  ): Promise<boolean> {
    const { name, revision } = document;
    const value = { ...document } as unknown as JsonObject;
    try {
      await this.#context.commit(
        caller,
        [
          { kind: "put", collection: "modules", key: name, value, expected: newest?.revision ?? 0 },
          { kind: "put", collection: "module_revisions", key: revisionKey(name, revision), value },
        ],
        {
          type: "module.uploaded",
          target: { type: "module", id: name, name },
          summary: `Module ${name} was uploaded as revision ${revision}`,
          metadata: { revision, content_hash: document.content_hash },
        },
      );
      return true;
    } catch (error) {
      if (isOrchestratorError(error, "REVISION_CONFLICT")) return false;
      throw error;
    }
  }

  #toDocument(
    caller: Caller,
    parsed: ParsedModule,
    content: { hash: string; size: number; before: StoredDocument<ModuleDocument> | null },
  ): ModuleDocument {
    return {
      name: parsed.name,
      ...(parsed.description !== null && { description: parsed.description }),
      revision: (content.before?.value.revision ?? 0) + 1,
      content_hash: content.hash,
      size: content.size,
      resource_count: parsed.resources.length,
      uploaded_at: this.#context.timestamp(),
      uploaded_by: toSubject(caller).name,
    };
  }

  async #toModule(document: Readonly<ModuleDocument>): Promise<Module> {
    return (await this.#toModules([document]))[0]!;
  }

  async #toModules(documents: readonly Readonly<ModuleDocument>[]): Promise<Module[]> {
    const names = documents.map(({ name }) => name);
    const users = await this.#context.references.usersOf("module", names);
    return documents.map((document) => ({ ...document, used_by: users.get(document.name) ?? [] }));
  }
}

function notFound(name: string, revision?: number): OrchestratorError {
  const which = revision === undefined ? name : `${name} in revision ${revision}`;
  return new OrchestratorError("NOT_FOUND", { message: `There is no module ${which}.` });
}
