/** Which modules can stand beside each other on one machine, as far as that is known without an agent. */
import type { Crypto } from "../crypto/crypto.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError } from "../errors.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import { WorkBudget, type SlicedWork, type Work } from "../internal/work.ts";
import type { JsonObject } from "../json.ts";
import {
  ModuleComparison,
  resolveUsable,
  unprinted,
  type ModuleThings,
  type Things,
} from "../module-format/module-comparison.ts";
import { pinOf } from "../module-format/module-reference.ts";
import { requireUsable, type ModuleUse } from "../module-format/module-use.ts";
import type { ParsedModule } from "../module-format/parsed-module.ts";
import { isTemplate } from "../module-format/template.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import { conflictKeys, textKey } from "../state/conflicts.ts";
import { resourceIdentityKey } from "../state/definition.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { ModuleRevisions } from "./module-revisions.ts";

/** Of how many contents it is remembered what they are about. */
const keptInMemory = 5_000;

/** In which revision a module is wanted. */
interface Wanted {
  use: ModuleUse;
  /** Stands for the newest of its name. */
  uploaded: ParsedModule | undefined;
}

/** What it needs of its surroundings. */
interface Surroundings {
  crypto: Crypto;
  types: ResourceTypes;
  work: SlicedWork;
}

export class ModuleAgreement {
  readonly #revisions: ModuleRevisions;
  readonly #crypto: Crypto;
  readonly #types: ResourceTypes;
  readonly #work: SlicedWork;
  readonly #selectors = new SelectorCache();
  /** By the hash of the content. */
  readonly #things = new BoundedCache<Things>({ entries: keptInMemory });

  constructor(revisions: ModuleRevisions, { crypto, types, work }: Surroundings) {
    this.#revisions = revisions;
    this.#crypto = crypto;
    this.#types = types;
    this.#work = work;
  }

  /**
   * Refuses modules that can't stand beside each other on one machine, or can't be used with these values of params.
   *
   * @param uploaded - Stands for the stored module of its name.
   * @throws {OrchestratorError} `NOT_FOUND`, also for a revision; `VALIDATION_FAILED` for values that the modules do not declare, that are not as
   * declared, or that are missing; `TEMPLATE_FAILED` where they make a resource that is none; `RESOURCE_CONFLICT` naming both
   * sides of each contradiction.
   */
  async require(use: ModuleUse, uploaded?: ParsedModule): Promise<void> {
    const names = [...new Set(use.modules)];
    const contents = await Promise.all(names.map((name) => this.#content(name, { use, uploaded })));
    await this.#work.do(requireUsable(contents, use.params ?? {}, this.#types));
  }

  /**
   * Begins to compare the modules of one use with those of others, which may come together on an agent.
   *
   * @param uploaded - Stands for the stored module of its name.
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async compare(use: ModuleUse, uploaded?: ParsedModule): Promise<ModuleComparison> {
    const source = {
      content: (name: string, by: ModuleUse) => readable(this.#content(name, { use: by, uploaded })),
      thingsOf: (name: string, by: ModuleUse) => this.#thingsOf(name, { use: by, uploaded }),
      types: this.#types,
      work: this.#work,
    };
    const things: ModuleThings[] = [];
    for (const name of new Set(use.modules)) things.push({ name, things: await source.thingsOf(name, use) });
    return new ModuleComparison(use, things, { ...source, selectors: this.#selectors });
  }

  async #content(name: string, { use, uploaded }: Wanted): Promise<ParsedModule> {
    const revision = pinOf(use.pins, name);
    if (uploaded?.name === name && revision === undefined) return uploaded;
    return (await this.#revisions.resolve(name, revision)).content;
  }

  /** Remembered for longer than contents are, which are larger: a comparison asks for those of every module in use. */
  async #thingsOf(name: string, wanted: Wanted): Promise<Things> {
    const { use, uploaded } = wanted;
    const revision = pinOf(use.pins, name);
    if (uploaded?.name === name && revision === undefined)
      return this.#work.do(thingsOf(uploaded, { crypto: this.#crypto, types: this.#types }));
    const { content_hash } = await this.#revisions.read(name, revision);
    const known = this.#things.get(content_hash);
    if (known) return known;
    const content = await readable(this.#content(name, wanted));
    const things =
      content === null
        ? new Map<string, string>()
        : await this.#work.do(thingsOf(content, { crypto: this.#crypto, types: this.#types }));
    this.#things.set(content_hash, things);
    return things;
  }
}

/** Null for a module that can't be used any more: a use of it is refused, and it stands in nobody else's way. */
async function readable(content: Promise<ParsedModule>): Promise<ParsedModule | null> {
  try {
    return await content;
  } catch (error) {
    if (isOrchestratorError(error, "MODULE_INVALID") || isOrchestratorError(error, "UNKNOWN_RESOURCE_TYPE"))
      return null;
    throw error;
  }
}

/** What telling what a resource says costs, in steps. */
const printCost = 500;

/** What a module is about where no template decides that. */
function* thingsOf(
  content: ParsedModule,
  { crypto, types }: Pick<Surroundings, "crypto" | "types">,
): Work<Things> {
  const things = new Map<string, string>();
  const templated = new Set(content.templates.map(({ resource }) => resource));
  const budget = new WorkBudget();
  const plain = yield* resolveUsable(content, { given: {}, types, budget }, (at) => !templated.has(at));
  const known = new Map(plain.map(({ resource }) => [resource.resource_id, resource]));
  for (const [at, { id, type, identity, isLiteral }] of content.outline.entries()) {
    const resource = known.get(id);
    const keys = resource ? conflictKeys(resource, types) : openKeys(content.resources[at]!, type, types);
    if (isLiteral) keys.push(resourceIdentityKey({ type, identity }, types));
    if (keys.length === 0) continue;
    budget.spend(printCost);
    if (budget.isSliceOver()) yield;
    const said = resource && toHex(crypto.sha256(toUtf8(`${type} ${canonicalJson(resource.spec)}`)));
    for (const key of new Set(keys))
      things.set(key, said === undefined || things.has(key) ? unprinted : said);
  }
  return things;
}

/** The text that a resource is about whose values are not known yet: that of its path, as far as none of them decides about it. */
function openKeys({ path }: JsonObject, type: string, types: ResourceTypes): string[] {
  return typeof path === "string" && !isTemplate(path) && types.get(type)?.edits ? [textKey(path)] : [];
}
