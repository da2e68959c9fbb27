/** The conditions of resources: what is wrong with them, where they hold, and what decided where they do not. */
import { startOf } from "../internal/canonical-json.ts";
import type { Work, WorkBudget } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import { findDeciders, holds, paramTerms, withParams, type ParamTexts } from "../selectors/condition.ts";
import { printKey } from "../selectors/key.ts";
import { parseCondition } from "../selectors/parse.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import { isWord } from "../selectors/tokens.ts";
import { hidden } from "../state/result.ts";
import { defaultsOf, type Params } from "./params.ts";
import type { ParsedModule } from "./parsed-module.ts";
import { findSecretParts } from "./secret-parts.ts";

/** Longest condition, longest value and longest reason that is told to people, characters; and how many values are. */
const [quotedCondition, quotedValue, longestReason, toldValues] = [1000, 200, 2000, 8];

/** What looking at one condition costs, in steps. */
const conditionCost = 1000;

/**
 * What is wrong with the params that a condition looks at.
 *
 * @param params - Null where they can't be read: that is told elsewhere.
 * @throws {OrchestratorError} `SELECTOR_INVALID` where it can't be read.
 */
export function findConditionFaults(text: string, params: Params | null): string[] {
  const terms = paramTerms(parseCondition(text));
  if (params === null) return [];
  const faults = terms.map(({ kind, key: { name } }): string | null => {
    if (!Object.hasOwn(params, name)) return `param.${name} is not there: the module declares no such param.`;
    if (kind === "exists")
      return `param.${name} always has a value: compare it with one, such as param.${name} = true.`;
    const { type } = params[name]!;
    if (type !== "array" && type !== "object") return null;
    return `param.${name} is ${type === "array" ? "a list" : "a map"}, which can't be compared.`;
  });
  return [...new Set(faults.filter((fault) => fault !== null))];
}

/** The conditions of a module that was read without a fault, by the places of their resources. */
const parsed = new WeakMap<ParsedModule, ReadonlyMap<number, Selector>>();

function conditionsOf(content: ParsedModule): ReadonlyMap<number, Selector> {
  const known = parsed.get(content);
  if (known) return known;
  const conditions = new Map<number, Selector>();
  for (const [at, { when }] of content.resources.entries())
    if (typeof when === "string") conditions.set(at, parseCondition(when));
  parsed.set(content, conditions);
  return conditions;
}

/** Which agents a resource is for, given values of params: null = all; see `matchesNobody`. */
export function wantedBy(content: ParsedModule, at: number, params: JsonObject): Selector | null {
  const condition = conditionsOf(content).get(at);
  if (!condition) return null;
  const wanted = withParams(condition, textsOf(params));
  return wanted.kind === "all" ? null : wanted;
}

/** For each resource of a module why it is skipped on an agent, for people; null where its condition holds. */
export function* findSkipped(
  content: ParsedModule,
  { target, given }: { target: SelectorTarget; given: JsonObject },
  budget: WorkBudget,
): Work<(string | null)[]> {
  const skipped: (string | null)[] = content.resources.map(() => null);
  const params = textsOf({ ...defaultsOf(content.params), ...given });
  for (const [at, condition] of conditionsOf(content)) {
    budget.spend(conditionCost);
    if (budget.isSliceOver()) yield;
    if (holds(condition, target, params)) continue;
    skipped[at] = describeSkip(content, at, findDeciders(condition, target, params));
  }
  return skipped;
}

function describeSkip(content: ParsedModule, at: number, deciders: ReturnType<typeof findDeciders>): string {
  const secret = findSecretParts(content).params;
  const told = deciders.slice(0, toldValues).map(({ key, value }) => {
    const name = printKey(key);
    if (key.source === "param" && secret.has(key.name)) return `${name} is ${hidden}`;
    return value === undefined ? `${name} is not set` : `${name} is ${quote(value)}`;
  });
  if (deciders.length > told.length) told.push(`and ${deciders.length - told.length} more`);
  const when = shownCondition(content, at, secret)!;
  // Once more: what is quoted is up to six times as long as what it says.
  return cut(`when: ${JSON.stringify(cut(when, quotedCondition))}: ${told.join(", ")}`, longestReason);
}

/** The condition of a resource as those read it who may not read what is secret; undefined where there is none. */
export function shownCondition(
  content: ParsedModule,
  at: number,
  secret: ReadonlySet<string>,
): string | undefined {
  const condition = conditionsOf(content).get(at);
  if (!condition) return undefined;
  const looksAtSecret = paramTerms(condition).some(({ key }) => secret.has(key.name));
  return looksAtSecret ? hidden : (content.resources[at]!["when"] as string);
}

function quote(value: string): string {
  const text = cut(value, quotedValue);
  return isWord(text) ? text : JSON.stringify(text);
}

function cut(text: string, length: number): string {
  return text.length > length ? `${startOf(text, length)}...` : text;
}

/** Numbers, texts and booleans are compared as text; what is a list or a map is refused at the upload. */
function textsOf(params: JsonObject): ParamTexts {
  return (name) => (Object.hasOwn(params, name) ? toText(params[name]!) : undefined);
}

function toText(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
