/** What the rest of the feature knows of templates; which package reads them is known to one file. */
import type { Work, WorkBudget } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import type { SecretForm } from "../secret-format/forms.ts";

/** What a template may name. Plain JSON: nothing in it is ever run. */
export interface TemplateScope {
  /** Values of the module's params. */
  params: JsonObject;
  /** What the agent says of its machine: dotted key -> scalar. */
  attributes: JsonObject;
  /** Tags of the agent. */
  tags: JsonObject;
  /** What each secret stands for on the agent, by name; absent = there are none. */
  secrets?: ReadonlyMap<string, SecretUse> | undefined;
}

/** A secret as templates write it: what the agent puts the value for, or why there is none. */
export type SecretUse =
  { ok: true; write: (form: SecretForm) => { ok: true; text: string } | UnusableSecret } | UnusableSecret;

/** Why a secret can't be written there, for people. */
export interface UnusableSecret {
  ok: false;
  name: string;
  message: string;
}

/** A name that a template uses. */
export interface TemplateName {
  /** What stands before the first dot, e.g. "params". */
  root: string;
  /** What follows, e.g. "os.family"; null where the template works it out, or means all of them. */
  name: string | null;
  /** Where in the text it stands. */
  offset: number;
}

/** What is wrong with a template, at an offset of its text. */
export interface TemplateFault {
  message: string;
  offset: number;
  /** The secret that can't be used there, where that is what is wrong. */
  secret?: string;
}

/** A template that was read. */
export interface Template {
  /** Every name from outside that it uses, in the order of the text. */
  readonly names: readonly TemplateName[];
}

/** What evaluating a template gives. */
export type TemplateResult = { ok: true; value: Json } | { ok: false; fault: TemplateFault };

/** Evaluates templates with one scope and one allowance of work, which all of them share. */
export interface TemplateRun {
  /** A text that is one expression gives its value as it is; any other gives text. Never throws. */
  evaluate(template: Template): Work<TemplateResult>;
}

/** Reads and evaluates templates. */
export interface TemplateEngine {
  /** Reads a text that {@link isTemplate}. Never throws for what is in it. */
  read(text: string): { ok: true; template: Template } | { ok: false; fault: TemplateFault };
  /** Begins a run over the templates of one module, which has an allowance of its own; `budget` makes the slices. */
  begin(scope: TemplateScope, budget: WorkBudget): TemplateRun;
}

/** What opens an expression or a tag. */
const opening = /\{[{%]/g;

/** Whether a text holds anything to evaluate. */
export function isTemplate(text: string): boolean {
  return text.includes("{{") || text.includes("{%");
}

/** How many expressions and tags a text holds at most. */
export function countExpressions(text: string): number {
  return text.match(opening)?.length ?? 0;
}
