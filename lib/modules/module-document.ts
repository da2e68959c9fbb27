/** From the text of a module to what it declares, or every fault in it with line and column. */
import type { z } from "zod";
import type { Issue } from "../errors.ts";
import type { JsonObject } from "../internal/json.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import { OrchestratorError, isOrchestratorError } from "../errors.ts";
import { parseSelector } from "../selectors/parse.ts";
import { commonPropertiesSchema, resolveResource, splitDefinition } from "../state/definition.ts";
import { resourceTypes } from "../state/resources/index.ts";
import { moduleLimits, moduleSchema } from "./module-schema.ts";
import { type DeclaredResource, findRelationFaults } from "./module-relations.ts";
import { YamlText } from "./yaml-text.ts";

/** A resource as a module writes it: `type`, the properties of every resource and those of its type. Plain JSON. */
export type ResourceDefinition = JsonObject;

/** A module without a fault. Plain JSON. */
export interface ParsedModule {
  name: string;
  /** Null where none is written. */
  description: string | null;
  /** Selectors, each of which can be read; an agent must match one, unless there is none. */
  supports: string[];
  /** As written, in the order in which they are written. */
  resources: ResourceDefinition[];
}

/** How many faults are told; `details.faults` says how many there are. */
const toldFaults = 500;

/**
 * Reads a module from YAML.
 *
 * Strings are taken as they stand. The same thing declared twice, an unknown id and a cycle are faults, as are keys that
 * nobody knows, duplicate keys, aliases, anchors and tags.
 *
 * @param types - Types of resources to know. Default: all that ship with the package.
 * @throws {OrchestratorError} `MODULE_INVALID` with an issue for every fault (the first 500), in the order of the text.
 */
export function parseModule(text: string, types: ResourceTypes = resourceTypes): ParsedModule {
  const reader = new ModuleReader(YamlText.read(text, moduleLimits), types);
  return reader.read();
}

type Known = Pick<DeclaredResource, "id" | "thing">;

const nothingKnown: Known = { id: null, thing: null };

class ModuleReader {
  readonly #text: YamlText;
  readonly #types: ResourceTypes;
  readonly #issues: Issue[];
  /** Where the text itself is at fault: what the schemas say of such a value is no news. */
  readonly #faulty: ReadonlySet<string>;

  constructor(text: YamlText, types: ResourceTypes) {
    this.#text = text;
    this.#types = types;
    this.#issues = [...text.issues];
    this.#faulty = new Set(text.issues.map(placeKey));
  }

  read(): ParsedModule {
    if (this.#text.broken) throw this.#invalid();
    const { value } = this.#text;
    const module = moduleSchema.safeParse(value);
    if (!module.success) this.#addZodIssues(module.error, []);
    const parts = isObject(value) ? value : {};
    this.#checkSelectors(parts["supports"]);
    this.#checkResources(parts["resources"]);
    if (!module.success || this.#issues.length > 0) throw this.#invalid();
    const { name, description = null, supports, resources } = module.data;
    return { name, description, supports, resources: resources as ResourceDefinition[] };
  }

  #checkSelectors(supports: unknown): void {
    if (!Array.isArray(supports)) return;
    for (const [at, selector] of supports.slice(0, 100).entries()) {
      if (typeof selector === "string") this.#checkSelector(selector, ["supports", at]);
    }
  }

  #checkSelector(selector: string, path: Issue["path"]): void {
    try {
      parseSelector(selector);
    } catch (error) {
      if (!isOrchestratorError(error, "SELECTOR_INVALID")) throw error;
      this.#add(path, error.message);
    }
  }

  #checkResources(resources: unknown): void {
    if (!Array.isArray(resources)) return;
    const declared: DeclaredResource[] = [];
    for (const [at, definition] of resources.slice(0, moduleLimits.resources).entries()) {
      // What is no map has an id that nobody knows, too.
      const known = isObject(definition) ? this.#checkResource(definition, ["resources", at]) : nothingKnown;
      declared.push({ at, definition: isObject(definition) ? definition : {}, ...known });
    }
    for (const { path, message } of findRelationFaults(declared, this.#types)) {
      const line = (other: number): number => this.#text.place(["resources", other]).line;
      this.#add(["resources", ...path], typeof message === "string" ? message : message(line));
    }
  }

  /** Tells every fault of a resource by itself, and what can be known of it all the same. */
  #checkResource(definition: ResourceDefinition, path: Issue["path"]): Known {
    const before = this.#issues.length;
    const { common, spec } = splitDefinition(definition);
    const commonResult = commonPropertiesSchema.safeParse(common);
    if (!commonResult.success) this.#addZodIssues(commonResult.error, path);
    const { type: typeName, when } = common;
    if (typeof when === "string") this.#checkSelector(when, [...path, "when"]);
    const type = typeof typeName === "string" ? this.#types.get(typeName) : undefined;
    let identity: string | null = null;
    if (type) {
      const specResult = type.schema.safeParse(spec);
      if (!specResult.success) this.#addZodIssues(specResult.error, path);
      else if (common["sensitive"] !== true) identity = type.identity(specResult.data);
    } else if (typeof typeName === "string") {
      this.#add([...path, "type"], `There is no resource type "${typeName}".`);
    }
    if (this.#issues.length === before) {
      const resolution = resolveResource(definition, { module: "module", types: this.#types });
      if (resolution.ok) return { id: resolution.resource.resource_id, thing: resolution.resource };
      for (const issue of resolution.issues) this.#add([...path, ...issue.path], issue.message);
    }
    const thing = type && identity !== null ? { type: type.type, identity } : null;
    const written = typeof common["id"] === "string" ? common["id"] : null;
    return { id: written ?? (thing && `${thing.type}:${thing.identity}`), thing };
  }

  #addZodIssues(error: z.ZodError, base: Issue["path"]): void {
    for (const issue of error.issues) {
      const path = [...base, ...issue.path.map((key) => (typeof key === "symbol" ? String(key) : key))];
      if (issue.code === "unrecognized_keys") {
        for (const key of issue.keys) this.#add([...path, key], `"${key}" is not known here.`, "key");
      } else if (issue.code === "invalid_type" && this.#text.lacks(path)) {
        this.#add(path, `"${String(path.at(-1) ?? "The module")}" is missing.`);
      } else {
        this.#add(path, issue.message);
      }
    }
  }

  #add(path: Issue["path"], message: string, part: "key" | "value" = "value"): void {
    const place = this.#text.place(path, part);
    if (!this.#faulty.has(placeKey(place))) this.#issues.push({ path, message, ...place });
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

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function placeKey(place: { line?: number; column?: number }): string {
  return `${place.line}:${place.column}`;
}

function byPlace(a: Issue, b: Issue): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
