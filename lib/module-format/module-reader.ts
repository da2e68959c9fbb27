/** Reading a module part by part, so that one fault hides no other. */
import type { z } from "zod";
import type { Issue } from "../errors.ts";
import { OrchestratorError, isOrchestratorError } from "../errors.ts";
import { isOfPlace, isOpen, type SchemaFault, withoutEchoes } from "../internal/schema-issues.ts";
import { notKnown } from "../internal/schema-keys.ts";
import { WorkExceeded, type Work, type WorkBudget } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import { parseSelector } from "../selectors/parse.ts";
import { commonPropertiesSchema, noSuchType, resolveResource, splitDefinition } from "../state/definition.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { findConditionFaults } from "./conditions.ts";
import { type DeclaredResource, findRelationFaults } from "./module-relations.ts";
import { moduleLimits, moduleTextSchema } from "./module-schema.ts";
import { evaluateKnown, fillIn, groupByResource, type ModuleTemplate } from "./module-templates.ts";
import { defaultsOf, findParamFaults, type Params, paramsSchema } from "./params.ts";
import type { ParsedModule, ResourceDefinition, ResourceOutline } from "./parsed-module.ts";
import { findMadeSensitive, sensitiveParams, usesParam, usesSecret } from "./secret-parts.ts";
import { readTemplates } from "./template-reader.ts";
import { isTemplate } from "./template.ts";
import { identityAsWritten, misplacedSecrets } from "./written-identity.ts";
import { byPlace, inWordsOfYaml, placeKey, type YamlText } from "./yaml-text.ts";

/** How many faults are told; `details.faults` says how many there are. */
const toldFaults = 500;

const commonNames = Object.keys(commonPropertiesSchema.shape);
type Known = Pick<DeclaredResource, "id" | "thing" | "resource">;

/** What all params, a selector, a resource and a fault cost, in steps. */
const costs = { params: 100_000, selector: 20_000, resource: 1500, fault: 20, unknownKey: 4000 };

const nothingKnown: Known = { id: null, thing: null, resource: null };

/** A resource with what the defaults of params make of it. */
interface Draft {
  definition: ResourceDefinition;
  /** With the values of the templates that are known. */
  filled: ResourceDefinition;
  /** Keys to the texts whose values are not known here. */
  open: readonly Issue["path"][];
}

/** Where a value stands that a schema found at fault, what may stand there beside what it knows, and what is open. */
interface Judged {
  path: Issue["path"];
  schema: z.ZodType;
  also?: readonly string[];
  open?: readonly Issue["path"][];
}

/** Reads one module. Made for one text and used once. */
export class ModuleReader {
  readonly #text: YamlText;
  readonly #types: ResourceTypes;
  readonly #budget: WorkBudget;
  readonly #issues: Issue[];
  /** Where the text itself is at fault: what the schemas say of such a value is no news. */
  readonly #faulty: ReadonlySet<string>;
  readonly #outline: ResourceOutline[] = [];
  /** Null where they can't be read: then no more is known than their names. */
  #declared: Params | null = null;

  constructor(text: YamlText, { types, budget }: { types: ResourceTypes; budget: WorkBudget }) {
    this.#text = text;
    this.#types = types;
    this.#budget = budget;
    this.#issues = [...text.issues];
    this.#faulty = new Set(text.issues.map(placeKey));
  }

  *read(isStored: boolean): Work<ParsedModule> {
    if (this.#text.broken) throw this.#invalid();
    const { value } = this.#text;
    const parts = isObject(value) ? value : {};
    this.#requireFewParams(parts["params"]);
    const module = moduleTextSchema.safeParse(value);
    if (!module.success) yield* this.#addZodIssues(module.error, { path: [], schema: moduleTextSchema });
    yield* this.#checkSelectors(parts["supports"]);
    const params = yield* this.#checkParams(module.success ? module.data.params : parts["params"], isStored);
    const templates = yield* this.#checkResources(parts["resources"], params, isStored);
    if (module.success) this.#checkRequires(module.data);
    if (!module.success || this.#issues.length > 0) throw this.#invalid();
    const { description = null, resources, ...rest } = module.data;
    return {
      ...rest,
      description,
      requiredAt: rest.requires.map((_, at) => this.#text.place(["requires", at])),
      resources: resources as ResourceDefinition[],
      templates,
      madeSensitive: findMadeSensitive({ params, templates }),
      outline: this.#outline,
    };
  }

  #checkRequires({ name, requires }: { name: string; requires: readonly string[] }): void {
    for (const [at, required] of requires.entries()) {
      const isTwice = requires.indexOf(required) < at;
      if (isTwice) this.#add(["requires", at], `"${required}" is required twice.`);
      if (required === name) this.#add(["requires", at], "A module can't require itself.");
    }
  }

  /** Every other check of them takes more than counting them. */
  #requireFewParams(params: unknown): void {
    if (!isObject(params) || Object.keys(params).length <= moduleLimits.params) return;
    this.#add(["params"], `The module has more than ${moduleLimits.params} params.`, "key");
    throw this.#invalid();
  }

  /** The params as far as they can be read: one that is wrong is told elsewhere, and is there all the same. */
  *#checkParams(params: unknown, isStored: boolean): Work<Params> {
    yield* this.#pause(costs.params);
    const read = paramsSchema.safeParse(params ?? {});
    if (!read.success) {
      const names = isObject(params) ? Object.keys(params) : [];
      return Object.fromEntries(names.map((name) => [name, { type: "object" as const }]));
    }
    this.#declared = read.data;
    try {
      for (const { path, message } of yield* findParamFaults(read.data, this.#budget, isStored))
        this.#add(["params", ...path], message);
    } catch (error) {
      if (!(error instanceof WorkExceeded)) throw error;
      this.#add(["params"], "The patterns of the module do too much.", "key");
    }
    return read.data;
  }

  *#checkSelectors(supports: unknown): Work<void> {
    if (!Array.isArray(supports)) return;
    for (const [at, selector] of supports.slice(0, 100).entries()) {
      yield* this.#pause(costs.selector);
      if (typeof selector === "string")
        this.#checkSelector(["supports", at], () => void parseSelector(selector));
    }
  }

  #checkSelector(path: Issue["path"], read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!isOrchestratorError(error, "SELECTOR_INVALID")) throw error;
      this.#add(path, error.message);
    }
  }

  #checkCondition(when: string, path: Issue["path"]): void {
    this.#checkSelector(path, () => {
      for (const fault of findConditionFaults(when, this.#declared)) this.#add(path, fault);
    });
  }

  /** Counts what is done next, and stops where the slice is over. */
  *#pause(steps: number): Work<void> {
    this.#budget.spend(steps);
    if (this.#budget.isSliceOver()) yield;
  }

  *#checkResources(resources: unknown, params: Params, isStored: boolean): Work<ModuleTemplate[]> {
    if (!Array.isArray(resources)) return [];
    const definitions = (resources as Json[]).slice(0, moduleLimits.resources);
    const reading = { params, text: this.#text, budget: this.#budget };
    const { templates, issues } = yield* readTemplates(definitions, reading);
    const known = { params: defaultsOf(params), budget: this.#budget };
    const { values, issues: failures } = yield* evaluateKnown(templates, known);
    for (const issue of [...issues, ...failures]) this.#addPlaced(issue);
    const openOf = groupByResource([
      ...templates.filter((_, index) => values[index] === undefined),
      ...issues.map(({ path }) => ({ resource: path[1] as number, path: path.slice(2) })),
    ]);
    const valuesOf = groupByResource(
      templates.map((template, index) => ({ ...template, value: values[index] })),
    );
    const secret = sensitiveParams(params);
    const secretOf = groupByResource(templates.filter((each) => usesParam(each, secret) || usesSecret(each)));
    const declared: DeclaredResource[] = [];
    for (const [at, definition] of definitions.entries()) {
      // What is no map has an id that nobody knows, too.
      if (!isObject(definition)) {
        declared.push({ at, definition: {}, ...nothingKnown });
        continue;
      }
      const filled = fillIn(definition, valuesOf.get(at) ?? []);
      const open = (openOf.get(at) ?? []).map(({ path }) => path);
      yield* this.#pause(costs.resource);
      for (const { path, message } of misplacedSecrets(this.#types, definition, secretOf.get(at) ?? []))
        this.#add(["resources", at, ...path], message);
      const found = yield* this.#checkResource({ definition, filled, open }, at);
      declared.push({ at, definition, ...found, ...(valuesOf.has(at) && { resource: null }) });
    }
    for (const { path, message } of isStored ? [] : findRelationFaults(declared, this.#types)) {
      const line = (other: number): number => this.#text.place(["resources", other]).line;
      this.#add(["resources", ...path], typeof message === "string" ? message : message(line));
    }
    return templates;
  }

  /** Tells every fault of a resource by itself, and what can be known of it all the same. */
  *#checkResource({ definition, filled, open }: Draft, at: number): Work<Known> {
    const path = ["resources", at];
    const before = this.#issues.length;
    const { common, spec } = splitDefinition(filled);
    const commonResult = commonPropertiesSchema.safeParse(common);
    if (!commonResult.success)
      yield* this.#addZodIssues(commonResult.error, { path, schema: commonPropertiesSchema });
    const { type: typeName, when } = common;
    if (typeof when === "string" && !isTemplate(when)) this.#checkCondition(when, [...path, "when"]);
    const type = typeof typeName === "string" ? this.#types.get(typeName) : undefined;
    let identity: string | null = null;
    if (type) {
      const specResult = type.schema.safeParse(spec);
      if (!specResult.success)
        yield* this.#addZodIssues(specResult.error, { path, schema: type.schema, also: commonNames, open });
      else if (common["sensitive"] !== true) identity = type.identity(specResult.data);
    } else if (typeof typeName === "string") {
      this.#add([...path, "type"], noSuchType(typeName, this.#types));
    }
    const written = identityAsWritten(type, definition);
    const isLiteral = written === null || !isTemplate(written);
    const id = typeof common["id"] === "string" ? common["id"] : null;
    if (!isLiteral && id === null) this.#add(path, "Give it an id: a template decides what it is about.");
    if (this.#issues.length === before) {
      const resolution = resolveResource(filled, { module: "module", types: this.#types });
      if (resolution.ok) return this.#note(resolution.resource, isLiteral, written);
      for (const issue of resolution.issues) {
        if (isOpen(issue.path, open)) continue;
        this.#addSaid([...path, ...issue.path], issue);
      }
    }
    if (isLiteral && common["sensitive"] !== true) identity ??= written;
    const thing = type && identity !== null && isLiteral ? { type: type.type, identity } : null;
    const knownId = id ?? (thing && `${thing.type}:${thing.identity}`);
    if (this.#issues.length > before || !type) return { id: knownId, thing, resource: null };
    if (knownId === null) this.#add(path, `This ${type.type} needs an id.`);
    else this.#outline.push({ id: knownId, type: type.type, identity: written ?? knownId, isLiteral });
    return { id: knownId, thing, resource: null };
  }

  #note(resource: ResolvedResource, isLiteral: boolean, written: string | null): Known {
    const { resource_id: id, type, identity } = resource;
    this.#outline.push({ id, type, identity: isLiteral ? identity : (written ?? identity), isLiteral });
    return { id, thing: isLiteral ? resource : null, resource };
  }

  /** Tells what a schema found; what a template decides, at `open`, is not known to be wrong. */
  *#addZodIssues(error: z.ZodError, { path: base, schema, also, open = [] }: Judged): Work<void> {
    for (const issue of withoutEchoes(error.issues)) {
      yield* this.#pause(costs.fault);
      if (issue.code !== "unrecognized_keys" && isOpen(issue.path, open)) continue;
      const path = [...base, ...issue.path.map((key) => (typeof key === "symbol" ? String(key) : key))];
      if (issue.code === "unrecognized_keys") {
        for (const key of issue.keys) {
          const isTold = this.#issues.length < toldFaults;
          yield* this.#pause(isTold ? costs.unknownKey : costs.fault);
          this.#add([...path, key], notKnown(key, isTold ? { schema, path: issue.path, also } : {}), "key");
        }
      } else if (issue.code === "invalid_key") {
        this.#add(path, inWordsOfYaml(issue), "key");
      } else if (isOfPlace(issue.code) && this.#text.lacks(path)) {
        this.#add(path, path.length === 0 ? emptyText : `"${String(path.at(-1))}" is missing.`);
      } else {
        this.#addSaid(path, issue);
      }
    }
  }

  #addSaid(path: Issue["path"], fault: SchemaFault): void {
    const written = path.reduce<unknown>(
      (value, key) => (value as JsonObject | null)?.[key],
      this.#text.value,
    );
    this.#add(path, inWordsOfYaml(fault, typeof written === "string"));
  }

  #add(path: Issue["path"], message: string, part: "key" | "value" = "value"): void {
    this.#addPlaced({ path, message, ...this.#text.place(path, part) });
  }

  #addPlaced(issue: Issue): void {
    if (!this.#faulty.has(placeKey(issue))) this.#issues.push(issue);
  }

  #invalid(): OrchestratorError {
    const issues = this.#issues.sort(byPlace);
    const count = issues.length === 1 ? "a fault" : `${issues.length} faults`;
    return new OrchestratorError("MODULE_INVALID", {
      message: `The module has ${count}.`,
      details: { faults: issues.length },
      issues: issues.slice(0, toldFaults),
    });
  }
}

const emptyText = "The module is missing: the text is empty.";

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
