/** Params of a module: what may be set where it is used, each with its type. */
import { z } from "zod";
import type { Issue } from "../errors.ts";
import { parseTextPattern } from "../internal/text-pattern.ts";
import type { Json, JsonObject } from "../internal/json.ts";

/** What a param is named, in a module and before a dot in a template. */
const paramNamePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** Largest set of values of one call or assignment, characters of JSON. */
export const maxParamsSize = 65_536;

/** What every param has. */
const common = {
  description: z.string().max(1024).optional(),
  /** Whether its values are secret, and the resources that they go into `sensitive`. Default false. */
  sensitive: z.boolean().optional(),
};
const patternSchema = z
  .string()
  .max(500)
  .superRefine((pattern, context) => {
    try {
      parseTextPattern(pattern);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      context.addIssue({ code: "custom", message: `The pattern ${error.message}.` });
    }
  });

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

/** One param as a module writes it. Without a default it must be given. */
export const paramSchema = z
  .discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("string"),
      default: z.string().max(maxParamsSize).optional(),
      /** What the whole value must match; see docs/modules.md for what a pattern may hold. */
      pattern: patternSchema.optional(),
      enum: z.array(z.string()).min(1).max(200).optional(),
      ...common,
    }),
    z.strictObject({ type: z.literal("integer"), ...numeric(z.int()) }),
    z.strictObject({ type: z.literal("number"), ...numeric(z.number()) }),
    z.strictObject({ type: z.literal("boolean"), default: z.boolean().optional(), ...common }),
    z.strictObject({
      type: z.literal("array"),
      default: z.array(z.json()).max(10_000).optional(),
      ...common,
    }),
    z.strictObject({
      type: z.literal("object"),
      default: z.record(z.string(), z.json()).optional(),
      ...common,
    }),
  ])
  .superRefine((param, context) => {
    if (param.default === undefined) return;
    const fault = faultOf(param, param.default);
    if (fault !== null) context.addIssue({ code: "custom", path: ["default"], message: `It ${fault}.` });
  });

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

/** Looked at before anything follows it down. */
const valueSchema = z
  .unknown()
  .describe("A text, number, boolean, list or map, as the param declares it.")
  .refine((value) => !isDeeper(value, maxDepth), `must not be nested deeper than ${maxDepth}`)
  .pipe(z.json());

/** Values for the params of some modules: under `name` for each that declares it, under `module.name` for one. */
export const paramValuesSchema = z
  .record(z.string().min(1).max(130), valueSchema)
  .refine(
    (values) => isDeeper(values, maxDepth + 1) || JSON.stringify(values).length <= maxParamsSize,
    "must be at most 64 KiB of JSON",
  )
  .describe("Values of params: `name` for every module that declares it, `module.name` for one.");

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

/** What is wrong with values: those that no module declares, and those that are not as declared. */
export function findValueFaults(modules: ReadonlyMap<string, Params>, values: ParamValues): Issue[] {
  const issues: Issue[] = [];
  for (const [key, value] of Object.entries(values)) {
    const declared = [...modules].flatMap(([module, params]) => {
      const name = key.startsWith(`${module}.`) ? key.slice(module.length + 1) : key;
      return Object.hasOwn(params, name) ? [{ module, param: params[name]! }] : [];
    });
    if (declared.length === 0) {
      issues.push({ path: ["params", key], message: "No module here declares this param." });
    }
    for (const { module, param } of declared) {
      const fault = faultOf(param, value);
      if (fault !== null) issues.push({ path: ["params", key], message: `It ${fault} (module ${module}).` });
    }
  }
  return issues;
}

/** The params that have neither a default nor a value, each as a fault. */
export function findMissing(modules: ReadonlyMap<string, Params>, values: ParamValues): Issue[] {
  return [...modules].flatMap(([module, params]) => {
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
function faultOf(param: Param, value: Json): string | null {
  if (!isOfType(param.type, value)) return `must be ${articles[param.type]}`;
  const fault = boundFaultOf(param, value);
  // What it must be tells something of what it is.
  return fault !== null && param.sensitive === true ? "must be as the module declares it" : fault;
}

function boundFaultOf(param: Param, value: Json): string | null {
  if ("enum" in param && param.enum && !(param.enum as Json[]).includes(value))
    return `must be one of ${param.enum.map((each) => JSON.stringify(each)).join(", ")}`;
  if (typeof value === "number" && (param.type === "integer" || param.type === "number")) {
    if (param.minimum !== undefined && value < param.minimum) return `must be at least ${param.minimum}`;
    if (param.maximum !== undefined && value > param.maximum) return `must be at most ${param.maximum}`;
  }
  if (typeof value === "string" && param.type === "string" && param.pattern !== undefined) {
    if (!isPattern(param.pattern)) return null;
    if (!parseTextPattern(param.pattern)(value)) return `must match ${param.pattern}`;
  }
  return null;
}

/** A pattern that can't be read is a fault of its own. */
function isPattern(pattern: string): boolean {
  return patternSchema.safeParse(pattern).success;
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
