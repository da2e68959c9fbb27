import { OrchestratorError } from "../errors.ts";
import type { Issue } from "../errors.ts";
import type { Work, WorkBudget } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import { matchesNobody } from "../selectors/condition.ts";
import { printSelector } from "../selectors/print.ts";
import { conflictBudget, conflictKeys, findConflicts, type ResourceConflict } from "../state/conflicts.ts";
import { commonPropertiesSchema, resolveResource, splitDefinition } from "../state/definition.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { wantedBy } from "./conditions.ts";
import {
  evaluateKnown,
  evaluateTemplates,
  fillIn,
  groupByResource,
  isKnown,
  type ModuleTemplate,
  type TemplateValues,
} from "./module-templates.ts";
import { defaultsOf, type DeclaredParams } from "./params.ts";
import type { ParsedModule } from "./parsed-module.ts";
import { findSecretParts, findUnquotable } from "./secret-parts.ts";
import type { TemplateScope } from "./template.ts";

/** The params of modules, by the name of the module, and which of them are secret. */
export function declaredParams(modules: readonly ParsedModule[]): Map<string, DeclaredParams> {
  return new Map(
    modules.map((module) => [module.name, { params: module.params, secret: findSecretParts(module).params }]),
  );
}

/** What a module becomes for one agent, before it is put together. Plain JSON: equal ones make equal resources. */
export interface ModuleEvaluation {
  /** For each resource why it is skipped, for people; null where its condition holds. */
  skipped: readonly (string | null)[];
  /** For each template of the module, its value; none for those of a skipped resource that can't be evaluated. */
  values: TemplateValues;
}

/**
 * Evaluates the templates of a module for one agent.
 *
 * @throws {OrchestratorError} `TEMPLATE_FAILED` with line and column of every template that has no value there;
 * `SECRET_UNAVAILABLE` where the agent can't use a secret.
 */
export function* evaluateModule(
  content: ParsedModule,
  { scope, budget }: { scope: TemplateScope; budget: WorkBudget },
  skipped: ModuleEvaluation["skipped"],
): Work<ModuleEvaluation> {
  if (content.templates.length === 0) return { skipped, values: [] };
  const params = { ...defaultsOf(content.params), ...scope.params };
  const run = { scope: { ...scope, params }, budget };
  const { values, issues, unusable } = yield* evaluateTemplates(content.templates, run, () => true);
  const missing = unusable.find(({ resource }) => skipped[resource] === null);
  if (missing) throw withoutSecret(content, missing);
  const wanted = issues.filter(({ path }) => skipped[path[1] as number] === null);
  if (wanted.length > 0) throw failed(content, wanted);
  return { skipped, values };
}

/** What is needed to turn definitions into resources. */
interface Resolving {
  /** The types that the orchestrator knows. */
  types: ResourceTypes;
  budget: WorkBudget;
}

/**
 * Turns what a module declares into what an agent gets.
 *
 * @throws {OrchestratorError} `TEMPLATE_FAILED` where a template gives what its property can't be; `MODULE_INVALID` where the
 * rules of a type have become stricter since the upload.
 */
export function* resolveResources(
  content: ParsedModule,
  evaluation: ModuleEvaluation,
  { types, budget }: Resolving,
): Work<ResolvedResource[]> {
  const { skipped, values } = evaluation;
  const resources: ResolvedResource[] = [];
  const issues: Issue[] = [];
  const templates = valuedTemplates(content, values);
  for (const at of content.resources.keys()) {
    yield* pause(budget);
    const resolution = resolveOne(content, at, { types, templates: templates.get(at) });
    if (typeof skipped[at] === "string") {
      const resource = resolution.ok ? resolution.resource : nameOnly(content, at);
      resources.push({ ...resource, skip: "condition" });
    } else if (resolution.ok) resources.push(resolution.resource);
    else issues.push(...resolution.issues);
  }
  if (issues.length > 0) throw failed(content, issues);
  return resources;
}

/**
 * The resources of a module that are the same on every agent, given values of params, each with its condition. What is wrong
 * with them is wrong everywhere.
 *
 * @param isWanted - Which resources, by their place; default all.
 * @throws {OrchestratorError} As {@link resolveResources}.
 */
export function* resolveKnown(
  content: ParsedModule,
  { given, types, budget }: Resolving & { given: JsonObject },
  isWanted: (at: number) => boolean = () => true,
): Work<KnownResource[]> {
  const params = { ...defaultsOf(content.params), ...given };
  const { values, issues } = yield* evaluateKnown(content.templates, { params, budget }, isWanted);
  const known: KnownResource[] = [];
  const templates = valuedTemplates(content, values);
  for (const at of content.resources.keys()) {
    if (!isWanted(at) || templates.get(at)?.some((each) => !isKnown(each, params))) continue;
    yield* pause(budget);
    const when = wantedBy(content, at, params);
    if (when && matchesNobody(when)) continue;
    const resolution = resolveOne(content, at, { types, templates: templates.get(at) });
    if (resolution.ok) known.push({ resource: resolution.resource, when: when && printSelector(when) });
    else issues.push(...resolution.issues);
  }
  if (issues.length > 0) throw failed(content, issues);
  return known;
}

/** What a resource costs, in steps. */
const resourceCost = 1000;

function* pause(budget: WorkBudget): Work<void> {
  budget.spend(resourceCost);
  if (budget.isSliceOver()) yield;
}

/** A resource that is the same on every agent where it is wanted at all. */
export interface KnownResource {
  resource: ResolvedResource;
  /** The selector of the agents that want it, of those that get its module; null where all do. */
  when: string | null;
}

/** Refuses resources that contradict each other; `RESOURCE_CONFLICT` names both sides of each contradiction. */
export function requireAgreement(resources: readonly ResolvedResource[], types: ResourceTypes): void {
  refuse(findConflicts(resources, types));
}

/** The same for resources that may not be wanted together: those under different conditions may exclude each other. */
export function requirePossibleAgreement(known: readonly KnownResource[], types: ResourceTypes): void {
  const byKey = new Map<string, KnownResource[]>();
  for (const each of known)
    for (const key of conflictKeys(each.resource, types)) {
      const same = byKey.get(key);
      if (same) same.push(each);
      else byKey.set(key, [each]);
    }
  const budget = conflictBudget();
  const conflicts = [...byKey.values()].flatMap((same) => {
    if (same.length === 1) return [];
    for (const meeting of meetings(same, ({ when }) => when)) {
      const found = findConflicts(
        meeting.map(({ resource }) => resource),
        types,
        budget,
      );
      if (found.length > 0) return found;
    }
    return [];
  });
  // Two that are about several of the same are told once.
  refuse([...new Map(conflicts.map((conflict) => [conflict.message, conflict])).values()]);
}

/** Those that are certainly wanted together: under each condition, and without one. Different conditions may exclude each other. */
export function meetings<T>(all: readonly T[], whenOf: (each: T) => string | null): T[][] {
  const conditions = new Set(all.map(whenOf));
  return [...conditions].map((condition) =>
    all.filter((each) => whenOf(each) === null || whenOf(each) === condition),
  );
}

function refuse(conflicts: readonly ResourceConflict[]): void {
  if (conflicts.length === 0) return;
  throw new OrchestratorError("RESOURCE_CONFLICT", {
    message: conflicts[0]!.message,
    details: toDetails(conflicts[0]!),
    issues: conflicts.map(({ message }) => ({ path: ["modules"], message })),
  });
}

/** Both sides of a contradiction, for the details of an error. */
export function toDetails({ first, second, identity }: ResourceConflict): JsonObject {
  return { first: { ...first }, second: { ...second }, identity };
}

/** A template with its value; undefined where it is not known. */
type Valued = ModuleTemplate & { value: Json | undefined };

function valuedTemplates({ templates }: ParsedModule, values: TemplateValues): Map<number, Valued[]> {
  return groupByResource(templates.map((template, at) => ({ ...template, value: values[at] })));
}

function resolveOne(
  content: ParsedModule,
  at: number,
  { types, templates = [] }: { types: ResourceTypes; templates: readonly Valued[] | undefined },
): ReturnType<typeof resolveResource> {
  const filled = markMadeSensitive(content, at, fillIn(content.resources[at]!, templates));
  const { name: module, removal } = content;
  const resolution = resolveResource(filled, { module, removal, types });
  if (resolution.ok) return resolution;
  return { ok: false, issues: resolution.issues.map((issue) => toPlacedIssue(at, issue, templates)) };
}

/** A resource that a `sensitive` param or a secret goes into is `sensitive` itself. */
function markMadeSensitive(content: ParsedModule, at: number, definition: JsonObject): JsonObject {
  return content.madeSensitive.has(at) ? { ...definition, sensitive: true } : definition;
}

/** The template that gave what is wrong is where the fault is. */
function toPlacedIssue(at: number, { path, message }: Issue, templates: readonly Valued[]): Issue {
  const isOf = ({ path: text }: Valued): boolean => path.every((key, depth) => text[depth] === key);
  const { line, column } = (templates.find(isOf) ?? templates[0])?.places[0] ?? {};
  const place = line === undefined || column === undefined ? {} : { line, column };
  return { path: ["resources", at, ...path], message, ...place };
}

/** A resource that is skipped, and of which more can't be known because a template has no value here. */
function nameOnly(content: ParsedModule, at: number): ResolvedResource {
  const { id, type, identity, isLiteral } = content.outline[at]!;
  const { common } = splitDefinition(markMadeSensitive(content, at, content.resources[at]!));
  const { requires, run_on, on_failure, ignore_drift, sensitive } = commonPropertiesSchema.parse(common);
  return {
    resource_id: id,
    module: content.name,
    type,
    identity: isLiteral ? identity : `${content.name}/${id}`,
    spec: {},
    requires,
    run_on,
    on_failure,
    ignore_drift,
    sensitive,
  };
}

/** Those who may not read the secrets of a module read why an operation with it failed. */
function withoutSecrets(content: ParsedModule, issues: readonly Issue[]): Issue[] {
  const unquotable = findUnquotable(content);
  return issues.map((issue) => {
    if (!unquotable.has(issue.path[1] as number)) return issue;
    // Keys below a property, such as names of an environment, are as secret as what they hold.
    return { ...issue, path: issue.path.slice(0, 3), message: unquoted };
  });
}

function withoutSecret(
  { name: module }: ParsedModule,
  { secret, issue }: { secret: string; issue: Issue },
): OrchestratorError {
  const place = issue.line === undefined ? "" : ` (${issue.line}:${issue.column})`;
  return new OrchestratorError("SECRET_UNAVAILABLE", {
    message: `Module ${module} can't be used here: ${issue.message}${place}`,
    details: { module, secret },
    issues: [issue],
  });
}

const unquoted = "This has no value that fits here; it is sensitive, so no more is told.";

function failed(content: ParsedModule, found: readonly Issue[]): OrchestratorError {
  const module = content.name;
  const issues = withoutSecrets(content, found);
  const [first] = issues;
  const place = first?.line === undefined ? "" : ` (${first.line}:${first.column})`;
  const templated = first?.line !== undefined;
  return new OrchestratorError(templated ? "TEMPLATE_FAILED" : "MODULE_INVALID", {
    message: templated
      ? `Module ${module} can't be used here: ${first.message}${place}`
      : `Module ${module} is not valid any more.`,
    details: { module },
    issues,
  });
}
