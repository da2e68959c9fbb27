/**
 * A module as those read it who may not write modules: without its secrets. In its text a secret resource or param is one line of JSON,
 * which is YAML, in the place of what was written, and every comment of the text goes; all else stays as it is. The text is read
 * again and must say exactly what it is to say: else the whole of it is written anew.
 */
import type { Issue } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import { WorkBudget, type Work } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import { splitDefinition } from "../state/definition.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import { hidden } from "../state/result.ts";
import { shownCondition } from "./conditions.ts";
import { moduleLimits } from "./module-schema.ts";
import type { Param, Params } from "./params.ts";
import type { ParsedModule, ResourceDefinition, ResourceOutline } from "./parsed-module.ts";
import { findSecretParts } from "./secret-parts.ts";
import { makeEdits, placeEdit, type PlacedEdit } from "./yaml-edit.ts";
import { YamlText } from "./yaml-text.ts";

/** What is shown of a module. */
export interface HiddenModule {
  content: string;
  params: Params;
  outline: readonly ResourceOutline[];
}

/** What hiding one resource costs, in steps. */
const costOfPart = 300;
/** What finding the place of an edit costs for each value beside it, in steps. */
const costOfSibling = 1;

/** Hides the secrets of a module; null where it has none. */
export function* hideModule(
  content: string,
  module: ParsedModule,
  types: ResourceTypes,
): Work<HiddenModule | null> {
  const secret = findSecretParts(module);
  if (secret.resources.size === 0 && secret.params.size === 0) return null;
  const budget = new WorkBudget();
  const outline: ResourceOutline[] = [];
  for (const [at, each] of module.outline.entries()) {
    budget.spend(costOfPart);
    if (budget.isSliceOver()) yield;
    outline.push(secret.resources.has(at) ? { ...each, identity: shownIdentity(module, at, types) } : each);
  }
  const params = Object.entries(module.params).map(([name, param]): [string, Param] => [
    name,
    secret.params.has(name) ? hideParam(param) : param,
  ]);
  const edits = [...secret.params].map((name): Edit => ({
    path: ["params", name],
    value: hideParam(module.params[name]!) as JsonObject,
  }));
  for (const [at, definition] of module.resources.entries()) {
    budget.spend(costOfPart);
    if (budget.isSliceOver()) yield;
    const when = shownCondition(module, at, secret.params);
    const shown = when === undefined ? definition : { ...definition, when };
    if (secret.resources.has(at)) {
      edits.push({ path: ["resources", at], value: hideResource(shown, outline[at]!.identity) });
    } else if (when !== definition["when"]) {
      edits.push({ path: ["resources", at], value: shown });
    }
  }
  return { content: yield* hideText(content, edits, budget), params: Object.fromEntries(params), outline };
}

/** All params or all resources of a module. */
type Parts = JsonObject | Json[];

interface Edit {
  path: Issue["path"];
  value: JsonObject;
}

function* hideText(content: string, edits: readonly Edit[], budget: WorkBudget): Work<string> {
  const text = yield* YamlText.read(content, moduleLimits, new WorkBudget());
  const wanted = { ...(text.value as { [part: string]: Parts }) };
  for (const part of new Set(edits.map(({ path }) => path[0] as string)))
    wanted[part] = Array.isArray(wanted[part]) ? [...wanted[part]] : { ...wanted[part] };
  for (const { path, value } of edits) {
    const [part, key] = path as [string, string];
    (wanted[part] as JsonObject)[key] = value;
  }
  yield;
  const replaced = yield* replaceInSlices(content, { text, edits }, budget);
  yield;
  const read = yield* YamlText.read(replaced, moduleLimits, new WorkBudget());
  const isExact =
    !read.broken && read.issues.length === 0 && (yield* isEqual(read.value, wanted, { budget, depth: 2 }));
  return isExact ? replaced : `${JSON.stringify(wanted, null, 2)}\n`;
}

/** Finds the places of the edits, some at a time, and makes them all. */
function* replaceInSlices(
  content: string,
  { text, edits }: { text: YamlText; edits: readonly Edit[] },
  budget: WorkBudget,
): Work<string> {
  const placed: PlacedEdit[] = [];
  for (const { path, value } of edits) {
    placed.push(placeEdit(content, text, { path, text: JSON.stringify(value) }));
    const beside = (text.value as { [part: string]: Parts })[path[0] as string]!;
    budget.spend(costOfPart + costOfSibling * Object.keys(beside).length);
    if (budget.isSliceOver()) yield;
  }
  return makeEdits(content, text, placed);
}

/** Stops between what stands so deep; what stands deeper is compared at once. */
interface Comparison {
  budget: WorkBudget;
  depth: number;
}

/** Whether two modules say the same. */
function* isEqual(value: Json, to: Json, { budget, depth }: Comparison): Work<boolean> {
  if (depth === 0 || !isHolder(value) || !isHolder(to)) {
    const written = canonicalJson(value);
    budget.spend(written.length);
    return written === canonicalJson(to);
  }
  const names = Object.keys(value);
  if (Array.isArray(value) !== Array.isArray(to) || names.length !== Object.keys(to).length) return false;
  for (const name of names) {
    if (budget.isSliceOver()) yield;
    if (!Object.hasOwn(to, name)) return false;
    if (!(yield* isEqual(value[name]!, to[name]!, { budget, depth: depth - 1 }))) return false;
  }
  return true;
}

function isHolder(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null;
}

/** What every resource has stays, and the property that names it everywhere. */
function hideResource(definition: ResourceDefinition, identity: string): JsonObject {
  const { common, spec } = splitDefinition(definition);
  const values = Object.entries(spec).map(([name, value]) => [name, value === identity ? value : hidden]);
  return { ...common, ...(Object.fromEntries(values) as JsonObject) };
}

/** By which a default says of itself what it is; the rest would help to guess it. */
function hideParam({ type, description, sensitive, default: standard }: Param): Param {
  return {
    type,
    ...(sensitive !== undefined && { sensitive }),
    ...(description !== undefined && { description }),
    // Shown in place of a value, of whatever type that is.
    ...(standard !== undefined && { default: hidden }),
  } as Param;
}

/** As results name the resource: one whose identity quotes a value goes by its id. */
function shownIdentity({ name, resources, outline }: ParsedModule, at: number, types: ResourceTypes): string {
  const { id, type, identity } = outline[at]!;
  try {
    const holdsValue = types.get(type)?.identityHoldsValue?.(splitDefinition(resources[at]!).spec);
    return holdsValue === true ? `${name}/${id}` : identity;
  } catch {
    return `${name}/${id}`;
  }
}
