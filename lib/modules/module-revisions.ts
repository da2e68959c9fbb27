/** Modules as they are read: documents, and contents that are parsed once for as long as they are remembered. */
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { SharedCalls } from "../internal/shared-answers.ts";
import { readModule } from "../module-format/module-document.ts";
import type { ParsedModule } from "../module-format/parsed-module.ts";
import { revisionKey, type ModuleDocument } from "./documents.ts";

/** How many parsed revisions are kept in memory: parsing is slow and a fleet applies the same few. */
const keptInMemory = 200;

/** A module in the revision that an operation uses. */
export interface ModuleRevision {
  name: string;
  revision: number;
  content_hash: string;
  content: ParsedModule;
}

export class ModuleRevisions {
  readonly #context: Context;
  readonly #parsed = new BoundedCache<ParsedModule>({ entries: keptInMemory });
  /** What is being parsed, so that whoever else needs it waits for the same. */
  readonly #parsing = new SharedCalls<ParsedModule>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Reads what is stored of a module, by default of its newest revision; `NOT_FOUND` naming it. */
  async read(name: string, revision?: number): Promise<Readonly<ModuleDocument>> {
    const { storage } = this.#context;
    const stored =
      revision === undefined
        ? await storage.get<ModuleDocument>("modules", name)
        : await storage.get<ModuleDocument>("module_revisions", revisionKey(name, revision));
    if (!stored) throw moduleNotFound(name, revision);
    return stored.value;
  }

  /** The same with its content; `NOT_FOUND` naming it, `UNKNOWN_RESOURCE_TYPE` where a type was known when it was taken in. */
  async resolve(name: string, wanted?: number): Promise<ModuleRevision> {
    const { revision, content_hash } = await this.read(name, wanted);
    try {
      return { name, revision, content_hash, content: await this.parsed(content_hash) };
    } catch (error) {
      throw toUnknownType(name, error);
    }
  }

  /** The text of a content that was taken in once. */
  async content(hash: string): Promise<string> {
    return new TextDecoder().decode(await this.#context.contents.read("module", hash));
  }

  /** Puts a content that is given once more in the place of one that was lost or damaged. */
  async mend(hash: string, bytes: Uint8Array): Promise<void> {
    const { contents } = this.#context;
    try {
      await contents.read("module", hash);
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_CORRUPT")) throw error;
      await contents.save("module", bytes);
    }
  }

  /** Remembers what a content was parsed to. */
  remember(hash: string, parsed: ParsedModule): void {
    this.#parsed.set(hash, parsed);
  }

  /** What a content that was taken in once says. */
  async parsed(hash: string): Promise<ParsedModule> {
    const known = this.#parsed.get(hash);
    if (known) return known;
    return this.#parsing.get(hash, () => this.#parse(hash));
  }

  async #parse(hash: string): Promise<ParsedModule> {
    const parsed = await this.#context.work.do(
      readModule(await this.content(hash), this.#context.types, true),
    );
    this.remember(hash, parsed);
    return parsed;
  }
}

/** Names the types that a stored module has and nobody knows; other errors stay what they are. */
function toUnknownType(module: string, error: unknown): unknown {
  if (!isOrchestratorError(error, "MODULE_INVALID")) return error;
  const issues = error.issues.filter(({ path }) => path.length === 3 && path[2] === "type");
  const [first] = issues;
  if (!first) return error;
  const message = `Module ${module} can't be used: ${first.message}`;
  return new OrchestratorError("UNKNOWN_RESOURCE_TYPE", {
    message,
    details: { module },
    issues,
    cause: error,
  });
}

export function moduleNotFound(name: string, revision?: number): OrchestratorError {
  const which = revision === undefined ? name : `${name} in revision ${revision}`;
  return new OrchestratorError("NOT_FOUND", { message: `There is no module ${which}.` });
}
