/**
 * Turns the text of a query or a path into what the input schema expects. The schema itself is only read: a schema that was
 * made to coerce here would coerce in tRPC, too, and take `"false"` for true.
 */
import type { AnyProcedure } from "@trpc/server";
import { isOrchestratorError, OrchestratorError, toIssues } from "fleetwright";
import type { Issue, SchemaFault } from "fleetwright";

/** How the texts of one field become a value. A text that does not fit stays a text, for the schema to refuse. */
export interface ParameterPlan {
  /** Whether the field is a list: the parameter may be repeated. */
  many: boolean;
  number: boolean;
  boolean: boolean;
}

/** The fields of an input by name. */
export type InputPlan = ReadonlyMap<string, ParameterPlan>;

/** The part of a zod schema that is read here. */
interface SchemaDefinition {
  type: string;
  shape?: Record<string, Schema>;
  innerType?: Schema;
  in?: Schema;
  element?: Schema;
  options?: readonly Schema[];
  values?: readonly unknown[];
  entries?: Record<string, unknown>;
  /** What fields that are not named must be. */
  catchall?: Schema;
}
interface Schema {
  _zod: { def: SchemaDefinition };
  /** Of a schema of numbers. */
  minValue?: number | null;
  maxValue?: number | null;
  safeParse(value: unknown): { error?: { issues: readonly SchemaFault[] } | undefined };
}

/** The schema that a procedure's input must fit; undefined where it takes none. */
export function inputSchema(procedure: AnyProcedure): unknown {
  // tRPC keeps it outside of its types.
  const { inputs } = procedure._def as unknown as { inputs: readonly unknown[] };
  return inputs[0];
}

/**
 * The schemas of the fields of a procedure's input, by name; none where it takes no input. Throws where the input is something
 * other than an object, which is a mistake of the program.
 */
export function inputFields(procedure: AnyProcedure): ReadonlyMap<string, unknown> {
  const schema = inputSchema(procedure);
  if (schema === undefined) return new Map();
  const definition = unwrap(schema as Schema);
  if (definition.shape === undefined) throw new Error(`The input must be an object, not ${definition.type}.`);
  return new Map(Object.entries(definition.shape));
}

/** Whether a procedure's input may have no fields but those that are named. */
export function isStrictInput(procedure: AnyProcedure): boolean {
  const schema = inputSchema(procedure) as Schema | undefined;
  return schema !== undefined && unwrap(schema).catchall?._zod.def.type === "never";
}

/** What a procedure's input schema refuses of an input; nothing where it takes none. */
export function faultsOfInput(procedure: AnyProcedure): (input: unknown) => Issue[] {
  const schema = inputSchema(procedure) as Schema | undefined;
  return (input) => toIssues(schema?.safeParse(input).error?.issues ?? []);
}

/** Plans how texts become the field of this schema; throws where a text can't say it, e.g. an object. */
export function planParameter(schema: unknown): ParameterPlan {
  const definition = unwrap(schema as Schema);
  if (definition.type === "array" && definition.element !== undefined) {
    const element = planParameter(definition.element);
    if (element.many) throw new Error("A list of lists can't stand in a query.");
    return { ...element, many: true };
  }
  const kinds = scalarKinds(definition);
  // Where a text is welcome, it stays one.
  const text = kinds.has("string");
  return { many: false, number: !text && kinds.has("number"), boolean: !text && kinds.has("boolean") };
}

/** The least and the greatest number that a schema takes. */
export function numberBounds(schema: unknown): { least: number; most: number } {
  let inner = schema as Schema;
  while (inner._zod.def.innerType !== undefined) inner = inner._zod.def.innerType;
  return { least: inner.minValue ?? -Infinity, most: inner.maxValue ?? Infinity };
}

/** What a query says, and what is wrong with it: an unknown parameter, one given twice, broken percent-encoding. */
export interface QueryRead {
  input: Record<string, unknown>;
  faults: Issue[];
}

/** Reads a query string with every fault of it. */
export function parseQuery(query: string, plan: InputPlan): QueryRead {
  const read: QueryRead = { input: {}, faults: [] };
  if (query === "") return read;
  for (const pair of query.split("&")) {
    if (pair === "") continue;
    try {
      takePair(pair, plan, read.input);
    } catch (error) {
      if (!isOrchestratorError(error, "VALIDATION_FAILED")) throw error;
      read.faults.push(...error.issues);
    }
  }
  return read;
}

function takePair(pair: string, plan: InputPlan, input: Record<string, unknown>): void {
  const cut = pair.indexOf("=");
  const name = decodeQuery(cut === -1 ? pair : pair.slice(0, cut), "");
  const field = plan.get(name);
  if (field === undefined) throw invalid(name, "There is no such parameter.");
  const value = toValue(decodeQuery(cut === -1 ? "" : pair.slice(cut + 1), name), field);
  const present = input[name];
  if (!field.many && present !== undefined) throw invalid(name, "The parameter is given more than once.");
  if (field.many) input[name] = Array.isArray(present) ? [...present, value] : [value];
  else input[name] = value;
}

/**
 * Reads one parameter of the path.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` for broken percent-encoding or a control character.
 */
export function parsePathParameter(encoded: string, name: string, plan: ParameterPlan): unknown {
  const text = encoded.includes("%") ? decode(encoded, name) : encoded;
  return toValue(text, plan);
}

/** Refuses one field of the input. */
export function invalid(name: string, message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", {
    issues: [{ path: name === "" ? [] : [name], message }],
  });
}

const numberPattern = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;

function toValue(text: string, plan: ParameterPlan): unknown {
  if (plan.number && numberPattern.test(text)) return Number(text);
  if (plan.boolean && (text === "true" || text === "false")) return text === "true";
  return text;
}

/** What means itself in a query. */
const isPlain = /^[A-Za-z0-9_.~-]*$/;

// A plus is a space in a query, as forms and URLSearchParams write it.
function decodeQuery(text: string, name: string): string {
  if (isPlain.test(text)) return text;
  return decode(text.replaceAll("+", " "), name);
}

// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const controlCharacter = /[\u0000-\u001f\u007f]/;

function decode(text: string, name: string): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(text);
  } catch (error) {
    if (!(error instanceof URIError)) throw error;
    throw invalid(name, "The percent-encoding is broken.");
  }
  if (controlCharacter.test(decoded)) throw invalid(name, "A control character is not allowed here.");
  return decoded;
}

const wrappers = new Set(["optional", "nullable", "default", "prefault", "readonly", "catch", "nonoptional"]);

function unwrap(schema: Schema): SchemaDefinition {
  const definition = schema._zod.def;
  if (wrappers.has(definition.type) && definition.innerType !== undefined)
    return unwrap(definition.innerType);
  if (definition.type === "pipe" && definition.in !== undefined) return unwrap(definition.in);
  return definition;
}

/** The kinds of scalar that a schema takes. */
function scalarKinds(definition: SchemaDefinition): Set<string> {
  switch (definition.type) {
    case "string":
    case "number":
    case "boolean":
      return new Set([definition.type]);
    case "template_literal":
      return new Set(["string"]);
    case "enum":
      return new Set(Object.values(definition.entries ?? {}).map((value) => typeof value));
    case "literal":
      return new Set((definition.values ?? []).map((value) => typeof value));
    case "union":
      return new Set((definition.options ?? []).flatMap((option) => [...scalarKinds(unwrap(option))]));
    default:
      throw new Error(`A value of type ${definition.type} can't stand in a path or query.`);
  }
}
