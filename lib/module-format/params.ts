/** Params of a module: what may be set where it is used, each with its type. */
import { z } from "zod";
import type { Issue } from "../errors.ts";
import { linearJson } from "../internal/json-value.ts";
import { parseTextPattern } from "../internal/text-pattern.ts";
import { WorkBudget, WorkExceeded, type Work } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";

/** What a param is named, in a module and before a dot in a template. */
const paramNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** The params of a module, and the names of those whose values are secret, marked or not. */
export interface DeclaredParams {
  params: Params;
  secret: ReadonlySet<string>;
}

/** Largest set of values of one call or assignment, characters of JSON. */
export const maxParamsSize = 65_536;

/** What checking the values of one call against the params of all its modules may cost, in steps. */
const checkSteps = 12_000_000;

/** What every param has. */
const common = {
  description: z.string().max(1024).optional(),
  /** Whether its values are secret, and the resources that they go into `sensitive`. Default false. */
  sensitive: z.boolean().optional(),
};

function numeric(number: z.ZodNumber) {
  return {
    default: number.optional(),
    /** Least value. */
    minimum: number.optional(),
    /** Greatest value. */
    maximum: number.optional(),
    enum: z.array(number).min(1).max(200).optional(),
    ...common,
  };
}

/** One param as a module writes it; what {@link findParamFaults} finds is left out. Without a default it must be given. */
export const paramSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("string"),
    default: z.string().max(maxParamsSize).optional(),
    /** What the whole value must match; see docs/modules.md for what a pattern may hold. */
    pattern: z.string().max(500).optional(),
    enum: z.array(z.string()).min(1).max(200).optional(),
    ...common,
  }),
  z.strictObject({ type: z.literal("integer"), ...numeric(z.int()) }),
  z.strictObject({ type: z.literal("number"), ...numeric(z.number()) }),
  z.strictObject({ type: z.literal("boolean"), default: z.boolean().optional(), ...common }),
  z.strictObject({
    type: z.literal("array"),
    default: z.array(linearJson()).max(10_000).optional(),
    ...common,
  }),
  z.strictObject({
    type: z.literal("object"),
    default: z.record(z.string(), linearJson()).optional(),
    ...common,
  }),
]);

/** The params of a module, by name. */
export const paramsSchema = z.record(
  z
    .string()
    .regex(paramNamePattern, "must be 1-64 letters, digits and underscores, and not begin with a digit"),
  paramSchema,
);

/** One param as a module declares it. */
export type Param = z.infer<typeof paramSchema>;

/** The params of a module, by name. */
export type Params = Readonly<Record<string, Param>>;

/** Deepest lists and maps within each other in a value. */
const maxDepth = 20;

const tooLarge = "must be at most 64 KiB of JSON";

/** Looked at before anything follows it down, whatever it is; its type says what is meant. */
const valueSchema = z
  .unknown()
  .describe("A text, number, boolean, list or map, as the param declares it.")
  .refine((value) => !isDeeper(value, maxDepth), `must not be nested deeper than ${maxDepth}`)
  .pipe(linearJson()) as unknown as z.ZodType<Json, Json>;

/** Values for the params of some modules: under `name` for each that declares it, under `module.name` for one. */
export const paramValuesSchema = boundedFirst(
  z
    .record(z.string().min(1).max(130), valueSchema)
    .refine(
      (values) => isDeeper(values, maxDepth + 1) || JSON.stringify(values).length <= maxParamsSize,
      tooLarge,
    )
    .describe("Values of params: `name` for every module that declares it, `module.name` for one."),
);

/** Has values that are too large be refused before each of them is looked at. */
function boundedFirst<Schema extends z.ZodRecord>(schema: Schema): Schema {
  const { run } = schema._zod;
  schema._zod.run = (payload, context) => {
    const { value } = payload;
    if (!isLarger(value)) return run(payload, context);
    payload.issues.push({ code: "custom", input: undefined, inst: schema, message: tooLarge });
    return payload;
  };
  return schema;
}

/** Whether a value is certainly larger than all values may be. Looks at no more of it than that takes. */
function isLarger(root: unknown): boolean {
  const open: unknown[] = [root];
  let least = 0;
  while (open.length > 0 && least <= maxParamsSize) {
    const value = open.pop();
    least += typeof value === "string" ? value.length : 1;
    if (typeof value === "object" && value !== null)
      for (const entry of Object.values(value)) open.push(entry);
  }
  return least > maxParamsSize;
}

/** Values for the params of some modules. */
export type ParamValues = Readonly<Record<string, Json>>;

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth === 0 || Object.values(value).some((entry) => isDeeper(entry, depth - 1));
}

/** What values say about one module: those of `module.name` before those of `name`. */
export function valuesFor(module: string, params: Params, values: ParamValues): JsonObject {
  const found: JsonObject = {};
  for (const name of Object.keys(params)) {
    const value = ownValue(values, `${module}.${name}`) ?? ownValue(values, name);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

function ownValue(values: ParamValues, key: string): Json | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

/** The values that a module gets where nobody gives any. */
export function defaultsOf(params: Params): JsonObject {
  const values: JsonObject = {};
  for (const [name, param] of Object.entries(params)) {
    if (param.default !== undefined) values[name] = param.default as Json;
  }
  return values;
}

/** What is wrong beside the form: patterns that can't be read, defaults that are not as declared (those of a stored module once were). */
export function* findParamFaults(params: Params, budget: WorkBudget, isStored = false): Work<Issue[]> {
  const issues: Issue[] = [];
  for (const [name, param] of Object.entries(params)) {
    const unread =
      "pattern" in param && param.pattern !== undefined ? faultOfPattern(param.pattern, budget) : null;
    if (unread !== null) issues.push({ path: [name, "pattern"], message: `The pattern ${unread}.` });
    if (unread !== null || isStored || param.default === undefined) continue;
    const fault = yield* faultOf({ param, isSecret: param.sensitive === true }, param.default, budget);
    if (fault !== null) issues.push({ path: [name, "default"], message: `It ${fault}.` });
  }
  return issues;
}

/** What is wrong with values: those that no module declares, those that are not as declared, and that they are too much to check. */
export function* findValueFaults(
  modules: ReadonlyMap<string, DeclaredParams>,
  values: ParamValues,
): Work<Issue[]> {
  const budget = new WorkBudget(checkSteps);
  const issues: Issue[] = [];
  for (const [key, value] of Object.entries(values)) {
    try {
      issues.push(...(yield* faultsOfValue(modules, { key, value }, budget)));
    } catch (error) {
      if (!(error instanceof WorkExceeded)) throw error;
      return [
        ...issues,
        { path: ["params", key], message: "Checking the values up to here takes too much." },
      ];
    }
  }
  return issues;
}

function* faultsOfValue(
  modules: ReadonlyMap<string, DeclaredParams>,
  { key, value }: { key: string; value: Json },
  budget: WorkBudget,
): Work<Issue[]> {
  const issues: Issue[] = [];
  let isDeclared = false;
  for (const [module, { params, secret }] of modules) {
    budget.take(1);
    const name = key.startsWith(`${module}.`) ? key.slice(module.length + 1) : key;
    if (!Object.hasOwn(params, name)) continue;
    isDeclared = true;
    const fault = yield* faultOf({ param: params[name]!, isSecret: secret.has(name) }, value, budget);
    if (fault !== null) issues.push({ path: ["params", key], message: `It ${fault} (module ${module}).` });
  }
  if (!isDeclared) issues.push({ path: ["params", key], message: "No module here declares this param." });
  return issues;
}

/** The params that have neither a default nor a value, each as a fault. */
export function findMissing(
  modules: ReadonlyMap<string, Pick<DeclaredParams, "params">>,
  values: ParamValues,
): Issue[] {
  return [...modules].flatMap(([module, { params }]) => {
    const given = valuesFor(module, params, values);
    const missing = Object.keys(params).filter(
      (name) => params[name]!.default === undefined && !Object.hasOwn(given, name),
    );
    return missing.map((name): Issue => {
      return { path: ["params", name], message: `Module ${module} needs it: it has no default.` };
    });
  });
}

/** Why a value is none of a param; null where it is one. */
function* faultOf(
  { param, isSecret }: { param: Param; isSecret: boolean },
  value: Json,
  budget: WorkBudget,
): Work<string | null> {
  if (budget.isSliceOver()) yield;
  budget.take(checkCost);
  if (!isOfType(param.type, value)) return `must be ${articles[param.type]}`;
  const fault = yield* boundFaultOf(param, value, budget);
  // What it must be tells something of what it is.
  return fault !== null && isSecret ? "must be as the module declares it" : fault;
}

function* boundFaultOf(param: Param, value: Json, budget: WorkBudget): Work<string | null> {
  if ("enum" in param && param.enum && !(param.enum as Json[]).includes(value))
    return oneOf(param.enum, budget);
  if (typeof value === "number" && (param.type === "integer" || param.type === "number")) {
    if (param.minimum !== undefined && value < param.minimum) return `must be at least ${param.minimum}`;
    if (param.maximum !== undefined && value > param.maximum) return `must be at most ${param.maximum}`;
  }
  if (typeof value === "string" && param.type === "string" && param.pattern !== undefined) {
    const matches = parseTextPattern(param.pattern, budget);
    if (!(yield* matches(value, budget))) return `must match ${param.pattern}`;
  }
  return null;
}

/** What looking at a value costs without its pattern, in steps. */
const checkCost = 20;

/** Why a pattern can't be read; null where it can. */
function faultOfPattern(pattern: string, budget: WorkBudget): string | null {
  try {
    parseTextPattern(pattern, budget);
    return null;
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
}

function isOfType(type: Param["type"], value: Json): boolean {
  switch (type) {
    case "integer":
      return Number.isSafeInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

const articles: Record<Param["type"], string> = {
  string: "a text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "a map",
};

/** One value may be wrong in many modules. */
function oneOf(values: readonly Json[], budget: WorkBudget): string {
  const text = `must be one of ${values.map((each) => JSON.stringify(each)).join(", ")}`;
  budget.take(text.length);
  return text;
}
