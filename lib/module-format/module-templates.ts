/** The templates of a module: where they stand, what they use, and the resources that their values make. */
import type { Issue } from "../errors.ts";
import type { Work, WorkBudget } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import { liquidTemplates } from "./liquid/liquid-templates.ts";
import { isTemplate, type Template, type TemplateFault, type TemplateScope } from "./template.ts";

type Place = { line: number; column: number };

/** A template of a module. */
export interface ModuleTemplate {
  /** Index of its resource. */
  resource: number;
  /** Keys from its resource to its text. */
  path: Issue["path"];
  template: Template;
  /** Places of its names and of its beginning, by their offsets. */
  places: readonly (Place & { offset: number })[];
}

/** The value of each template of a module, in their order; undefined where it is not known. */
export type TemplateValues = readonly (Json | undefined)[];

/** Every text of a value that holds a template, with the keys that lead there. */
export function findTexts(value: Json, path: Issue["path"] = []): { path: Issue["path"]; text: string }[] {
  if (typeof value === "string") return isTemplate(value) ? [{ path, text: value }] : [];
  if (typeof value !== "object" || value === null) return [];
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  return [...entries].flatMap(([key, entry]) => findTexts(entry, [...path, key]));
}

/** Reads a template; `placesOf` tells where offsets of its text, in rising order, stand in the module. */
export function readTemplate(
  { resource, path, text }: { resource: number; path: Issue["path"]; text: string },
  placesOf: (offsets: readonly number[]) => Place[],
): { template: ModuleTemplate; issue: null } | { template: null; issue: Issue } {
  const read = liquidTemplates.read(text);
  const names = read.ok ? read.template.names.map(({ offset }) => offset) : [];
  const openings = [...text.matchAll(/\{[{%]/g)].map(({ index }) => index);
  const offsets = [...new Set([...openings, ...names])].sort((a, b) => a - b);
  const found = placesOf(offsets);
  const places = offsets.map((offset, at) => ({ offset, ...found[at]! }));
  if (read.ok) return { template: { resource, path, template: read.template, places }, issue: null };
  return { template: null, issue: toIssue({ resource, path, places }, read.fault) };
}

/** Whether nothing but these params decides what a template gives. */
export function isKnown({ template }: ModuleTemplate, params: JsonObject): boolean {
  return template.names.every(
    ({ root, name }) => root === "params" && name !== null && Object.hasOwn(params, name.split(".")[0]!),
  );
}

/** What came of templates. */
interface Evaluated {
  /** A value for each template; none for those that are not chosen or failed. */
  values: TemplateValues;
  /** Why others have no value. */
  issues: Issue[];
  /** The templates with a secret that can't be used. */
  unusable: UnusableTemplate[];
}

/** A template with a secret that can't be used; that is no secret itself. */
interface UnusableTemplate {
  /** Index of its resource. */
  resource: number;
  secret: string;
  issue: Issue;
}

/**
 * Evaluates templates, those that `chosen` names.
 *
 * @returns What each gives, or why it gives nothing.
 */
export function* evaluateTemplates(
  templates: readonly ModuleTemplate[],
  { scope, budget }: { scope: TemplateScope; budget: WorkBudget },
  chosen: (template: ModuleTemplate) => boolean,
): Work<Evaluated> {
  if (templates.length === 0) return { values: [], issues: [], unusable: [] };
  const issues: Issue[] = [];
  const unusable: UnusableTemplate[] = [];
  const run = liquidTemplates.begin(scope, budget);
  const values: (Json | undefined)[] = [];
  for (const each of templates) {
    const result = chosen(each) ? yield* run.evaluate(each.template) : null;
    values.push(result?.ok === true ? result.value : undefined);
    if (result?.ok !== false) continue;
    const issue = toIssue(each, result.fault);
    const { secret } = result.fault;
    if (secret === undefined) issues.push(issue);
    else unusable.push({ resource: each.resource, secret, issue });
  }
  return { values, issues, unusable };
}

/** Evaluates the templates that nothing but params decides, those of wanted resources; default all. */
export function evaluateKnown(
  templates: readonly ModuleTemplate[],
  { params, budget }: { params: JsonObject; budget: WorkBudget },
  isWanted: (resource: number) => boolean = () => true,
): Work<Evaluated> {
  const run = { scope: { params, attributes: {}, tags: {} }, budget };
  return evaluateTemplates(templates, run, (each) => isWanted(each.resource) && isKnown(each, params));
}

/** Puts values in the places of the texts of a resource; what is not known stays as it is written. */
export function fillIn(definition: JsonObject, texts: readonly FilledText[]): JsonObject {
  if (texts.every(({ value }) => value === undefined)) return definition;
  const filled = structuredClone(definition);
  for (const { path, value } of texts) {
    if (value === undefined) continue;
    let holder = filled as Record<string | number, Json>;
    for (const key of path.slice(0, -1)) holder = holder[key] as Record<string | number, Json>;
    holder[path.at(-1)!] = value;
  }
  return filled;
}

/** A text of a resource with the value that it has; undefined where that is not known. */
type FilledText = Pick<ModuleTemplate, "path"> & { value: Json | undefined };

/** Things by the index of their resource. */
export function groupByResource<Item extends { resource: number }>(
  items: readonly Item[],
): Map<number, Item[]> {
  const groups = new Map<number, Item[]>();
  for (const item of items) {
    const group = groups.get(item.resource);
    if (group) group.push(item);
    else groups.set(item.resource, [item]);
  }
  return groups;
}

/** A fault with the place of the expression that it is about. */
export function toIssue(
  { resource, path, places }: Omit<ModuleTemplate, "template">,
  fault: TemplateFault,
): Issue {
  const place = places[lastUpTo(places, fault.offset)];
  const where = place && { line: place.line, column: place.column };
  return { path: ["resources", resource, ...path], message: toSentence(fault.message), ...where };
}

/** The last of rising offsets that is not past one; 0 where all are. By halves: a hostile text has thousands of faults. */
function lastUpTo(places: readonly { offset: number }[], offset: number): number {
  let [low, high] = [0, places.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (places[middle]!.offset <= offset) low = middle;
    else high = middle;
  }
  return low;
}

/** A message that begins with a name of a template begins so; any other is a sentence. */
function toSentence(message: string): string {
  const text = /^[\w-]+[.[]/.test(message) ? message : message.charAt(0).toUpperCase() + message.slice(1);
  return text.endsWith(".") ? text : `${text}.`;
}
