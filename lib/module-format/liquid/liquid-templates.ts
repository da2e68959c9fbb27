/**
 * Templates by liquidjs, shut in: no file, no code, no name beside those of the scope, a fixed list of tags and filters, and
 * an allowance of work that is counted, so that the same template is refused on a slow machine and on a fast one.
 */
import type { Context, Emitter, Liquid, Template as Node } from "liquidjs";
import type { Work, WorkBudget } from "../../internal/work.ts";
import type { Json } from "../../json.ts";
import { formOfFilter } from "../../secret-format/forms.ts";
import { liquidPackage } from "../packages.ts";
import type { Template, TemplateEngine, TemplateFault, TemplateResult, TemplateScope } from "../template.ts";
import { findTooLong } from "./expression-length.ts";
import { json, SecretFault, SecretValue, shellQuote, toJson, toText } from "./filters.ts";
import { findNames, findTakenName } from "./names.ts";
import { findMisusedSecret } from "./secret-names.ts";

const tagNames = new Set(["if", "unless", "case", "for", "break", "continue", "comment", "raw"]);

/** Filters of the package that are kept; `default`, `json` and `shell_quote` are ours. */
export const filterNames = new Set(
  (
    "default json shell_quote upcase downcase capitalize strip replace remove append prepend truncate split join " +
    "first last size sort uniq reverse plus minus times divided_by modulo round ceil floor abs base64_encode url_encode"
  ).split(" "),
);

/** What the templates of one module may cost together. */
const allowance = {
  /** Parts that are written and turns of loops. */
  steps: 200_000,
  /** Characters and list items that filters make. */
  made: 8 * 1024 * 1024,
  /** Of those, by one filter: it can't be stopped in the middle. */
  madeAtOnce: 128 * 1024,
  /** Items that are sorted at once. */
  sorted: 10_000,
  /** Characters that are written. */
  written: 8 * 1024 * 1024,
  /** For what the counts can't see, milliseconds; much more than what they let through takes on a machine that has other things to do. */
  timeMs: 3_000,
};

let made: Liquid | undefined;

/** The package with what is kept of it, made for the first template. */
function theEngine(): Liquid {
  return (made ??= createEngine());
}

function createEngine(): Liquid {
  const { Liquid } = liquidPackage();
  const engine = new Liquid({
    strictVariables: true,
    strictFilters: true,
    ownPropertyOnly: true,
    lenientIf: true,
    // Without it `include` and its like would read files.
    templates: {},
  });
  for (const name of Object.keys(engine.tags)) if (!tagNames.has(name)) delete engine.tags[name];
  for (const name of Object.keys(engine.filters)) if (!filterNames.has(name)) delete engine.filters[name];
  engine.registerFilter("default", (value: unknown, fallback: unknown) => value ?? fallback);
  engine.registerFilter("json", json);
  const sort = engine.filters["sort"] as (this: unknown, list: unknown, property?: unknown) => unknown;
  engine.registerFilter("sort", function (this: unknown, list: unknown, property?: unknown) {
    if (Array.isArray(list) && list.length > allowance.sorted) throw tooMuch();
    return sort.call(this, list, property);
  });
  engine.registerFilter("shell_quote", shellQuote);
  for (const [filter, form] of Object.entries(formOfFilter)) {
    const write = engine.filters[filter] as (this: unknown, value: unknown) => unknown;
    engine.registerFilter(filter, function (this: unknown, value: unknown) {
      return value instanceof SecretValue ? value.as(form) : write.call(this, value);
    });
  }
  return engine;
}

/** A template with what the package made of it. */
interface LiquidTemplate extends Template {
  nodes: Node[];
}

export const liquidTemplates: TemplateEngine = {
  read(text) {
    try {
      const long = findTooLong(text);
      if (long) return { ok: false, fault: long };
      const nodes = theEngine().parse(text);
      const fault = findTakenName(nodes);
      if (fault) return { ok: false, fault };
      const names = findNames(nodes);
      const misused = findMisusedSecret(nodes, names);
      if (misused) return { ok: false, fault: misused };
      const template: LiquidTemplate = { nodes, names };
      return { ok: true, template };
    } catch (error) {
      return { ok: false, fault: faultOf(error) };
    }
  },
  begin(scope, budget) {
    const { Context } = liquidPackage();
    const engine = theEngine();
    const renderLimit = new StepLimit(budget);
    const context = new Context(
      {
        params: scope.params,
        attributes: nest(scope.attributes),
        tags: nest(scope.tags),
        secrets: nest(valuesOf(scope.secrets)),
      },
      engine.options,
      { sync: true },
      {
        renderLimit: renderLimit as unknown as Context["renderLimit"],
        memoryLimit: new MadeLimit(budget) as unknown as Context["memoryLimit"],
        liquid: engine,
      },
    );
    const run: LiquidRun = { context, left: { written: allowance.written }, limit: renderLimit, budget };
    return { evaluate: (template) => evaluate(template as LiquidTemplate, run) };
  },
};

/** What the templates of a run share. */
interface LiquidRun {
  context: Context;
  left: { written: number };
  limit: StepLimit;
  budget: WorkBudget;
}

function* evaluate({ nodes }: LiquidTemplate, run: LiquidRun): Work<TemplateResult> {
  const [first] = nodes;
  const isValue = nodes.length === 1 && first instanceof liquidPackage().Output;
  const output = new Written(isValue, run.left);
  // What evaluates where nothing stops in the middle counts no time between two templates.
  run.limit.pause();
  run.budget.spend(templateCost);
  if (run.budget.isSliceOver()) yield;
  try {
    yield* drive(theEngine().renderer.renderTemplates(nodes, run.context, output), run);
    return { ok: true, value: output.value };
  } catch (error) {
    run.budget.spend(failureCost);
    return { ok: false, fault: faultOf(error) };
  }
}

/** Does what the package's generators ask for, as its own `toValueSync`, but in slices. */
function* drive(value: unknown, run: LiquidRun): Work<unknown> {
  if (!isGenerator(value)) return value;
  let step = value.next();
  while (step.done !== true) {
    if (run.budget.isSliceOver()) {
      run.limit.pause();
      yield;
    }
    let given: unknown;
    try {
      given = yield* drive(step.value, run);
    } catch (error) {
      step = value.throw(error);
      continue;
    }
    step = value.next(given);
  }
  return step.value;
}

function isGenerator(value: unknown): value is Generator {
  return (
    typeof value === "object" && value !== null && "next" in value && "throw" in value && "return" in value
  );
}

/** What a template writes: text, or the one value that its only expression has. */
class Written implements Emitter {
  buffer = "";
  value: Json = "";
  readonly #isValue: boolean;
  readonly #left: { written: number };

  constructor(isValue: boolean, left: { written: number }) {
    this.#isValue = isValue;
    this.#left = left;
  }

  write(written: unknown): void {
    const text = this.#isValue ? json(written) : toText(written);
    this.#left.written -= text.length;
    if (this.#left.written < 0) throw new Error("the templates of the module write too much");
    this.value = this.#isValue ? toJson(written) : (this.buffer += text);
  }
}

/** What a template, a step of it and that it fails cost, in steps of the budget. */
const [templateCost, stepCost, failureCost] = [300, 10, 5000];

/** Counts in place of the package's clock, which would end the same work now and then. Looked at before each part. */
class StepLimit {
  readonly #budget: WorkBudget;
  #steps = 0;
  #spentMs = 0;
  #lastMs: number | null = null;

  constructor(budget: WorkBudget) {
    this.#budget = budget;
  }

  /** What others do until the next part is not of this work. */
  pause(): void {
    this.#lastMs = null;
  }

  check(nowMs: number): void {
    this.#steps += 1;
    this.#spentMs += this.#lastMs === null ? 0 : nowMs - this.#lastMs;
    this.#lastMs = nowMs;
    this.#budget.spend(stepCost);
    if (this.#steps > allowance.steps || this.#spentMs > allowance.timeMs) throw tooMuch();
  }

  use(): void {}
}

/** Counts what filters make, before they do. */
class MadeLimit {
  readonly #budget: WorkBudget;
  #left = allowance.made;

  constructor(budget: WorkBudget) {
    this.#budget = budget;
  }

  use(count: number): void {
    if (!(count > 0)) return;
    this.#left -= count;
    this.#budget.spend(count);
    if (this.#left < 0 || count > allowance.madeAtOnce) throw tooMuch();
  }

  check(): void {}
}

function tooMuch(): Error {
  return new Error("the templates of the module do too much");
}

/** Names by their dots, and each by its whole text too: `attributes.os.family` and `attributes["os.family"]`. */
function nest(flat: Record<string, unknown>): Record<string, unknown> {
  const nested = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(flat).sort()) {
    const parts = key.split(".");
    let holder: Record<string, unknown> | null = nested;
    for (const part of parts.slice(0, -1)) {
      if (holder[part] === undefined) holder[part] = Object.create(null);
      const next: unknown = holder[part];
      holder = isHolder(next) ? next : null;
      if (!holder) break;
    }
    // Behind the value of a shorter name there is no place: such a name is found by its whole text alone.
    if (holder) holder[parts.at(-1)!] = flat[key] ?? null;
  }
  return Object.assign(nested, flat);
}

function isHolder(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof SecretValue)
  );
}

function valuesOf(secrets: TemplateScope["secrets"]): Record<string, SecretValue> {
  return Object.fromEntries([...(secrets ?? [])].map(([name, use]) => [name, new SecretValue(use)]));
}

/** What the package says, in words that a reader of modules knows. */
const sayings: readonly [RegExp, string][] = [
  [/^undefined variable: (.*)$/, "$1 is not there"],
  [/^undefined filter: (.*)$/, "there is no filter $1"],
  [/^tag "(.*)" not found$/, "there is no tag $1"],
  [/^Maximum call stack.*$/, "this is nested too deeply"],
  [/^Invalid string length$/, "the templates of the module write too much"],
];

/** The package's errors carry the place in a token, and repeat it in their text. */
function faultOf(error: unknown): TemplateFault {
  const { token, originalError } = error as { token?: { begin?: number }; originalError?: unknown };
  const source = originalError instanceof Error ? originalError : error;
  const text = source instanceof Error ? source.message : String(source);
  const bare = text.replace(/, line:\d+, col:\d+$/, "");
  const known = sayings.find(([pattern]) => pattern.test(bare));
  return {
    message: known ? bare.replace(...known) : bare,
    offset: token?.begin ?? 0,
    ...(source instanceof SecretFault && { secret: source.secret }),
  };
}
