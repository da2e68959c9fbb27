import type { Issue } from "../errors.ts";

/** A fault as a schema reports it, whichever library it is of; only what is used here. */
export interface SchemaFault {
  path: readonly PropertyKey[];
  message: string;
  code?: string | undefined;
  /** The fields that are not known. */
  keys?: readonly string[];
  /** What is wrong with a key of a record. */
  issues?: readonly SchemaFault[];
  /** What may stand there, of a value that is one of a few. */
  values?: readonly unknown[];
  /** What may stand there, of a field that tells shapes apart. */
  options?: readonly unknown[];
  /** What each of several shapes finds wrong. */
  errors?: readonly (readonly SchemaFault[])[];
}

/**
 * What a schema found, as issues of an error: each field that is not known has a path of its own, one that is missing is
 * said to be, and a key that is not acceptable says what one is.
 */
export function toIssues(faults: readonly SchemaFault[]): Issue[] {
  return withoutEchoes(faults).flatMap((fault) => {
    const { path, keys = [] } = fault;
    const steps = path.map((step) => (typeof step === "number" ? step : String(step)));
    if (keys.length > 0)
      return keys.map((key) => ({ path: [...steps, key], message: "There is no such field." }));
    return [{ path: steps, message: isMissing(fault) ? "This field is missing." : inPlainWords(fault) }];
  });
}

/** The value itself is not among what a schema tells. */
function isMissing({ code, message, errors = [] }: SchemaFault): boolean {
  if (code === "invalid_union") return errors.some((faults) => faults.some(isMissingItself));
  return code === "invalid_type" && message.endsWith("received undefined");
}

function isMissingItself(fault: SchemaFault): boolean {
  return fault.path.length === 0 && isMissing(fault);
}

/** Whether a fault is that what stands at its place, or nothing, has none of the shapes that it may have. */
export function isOfPlace(code: string | undefined): boolean {
  return code === "invalid_type" || code === "invalid_union";
}

/** Without what a schema says of the size of a value that has the wrong type. */
export function withoutEchoes<Fault extends Pick<SchemaFault, "path" | "code">>(
  faults: readonly Fault[],
): Fault[] {
  const placeOf = ({ path }: Pick<SchemaFault, "path">): string => path.map(String).join("\0");
  const mistyped = new Set(faults.filter(({ code }) => code === "invalid_type").map(placeOf));
  return faults.filter(
    ({ path, code }) => !(code === "too_small" || code === "too_big") || !mistyped.has(placeOf({ path })),
  );
}

/** Of shapes that a value may have, and of fields that are not known, those that are told. */
const toldParts = 8;

/** What the schema library itself says of a wrong value, in our words; what a schema says is ours already. */
export function inPlainWords(fault: Omit<SchemaFault, "path">): string {
  const { message, code, keys, issues: [ofKey] = [], values, options, errors = [] } = fault;
  if (code === "unrecognized_keys" && keys)
    return `There is no field ${orOf(keys.slice(0, toldParts).map(sayValue))}.`;
  if (code === "invalid_key" && ofKey) return inPlainWords(ofKey);
  if (message === "Invalid input" && errors.length > 0) return sayShapes(errors);
  if (/^Invalid discriminator value\b/.test(message) && options)
    return `This must be ${orOf(options.map(sayValue))}.`;
  if (/^Invalid (?:option|input): expected /.test(message) && values)
    return `This must be ${orOf(values.map(sayValue))}.`;
  const [, type, received] = /^Invalid input: expected (\w+), received (\w+)$/.exec(message) ?? [];
  if (type !== undefined && received !== undefined) return `This must be ${sayTypes(type, received)}.`;
  const [, must] = /^Invalid (?:string|number): must (.+)$/.exec(message) ?? [];
  if (must !== undefined) return `This must ${must}.`;
  if (message === "Invalid input") return "This is not accepted here.";
  const [, format] = (code === "invalid_format" && /^Invalid (.+)$/.exec(message)) || [];
  if (format !== undefined) return `This must be ${/^[aeio]/i.test(format) ? "an" : "a"} ${format}.`;
  return saySize(message) ?? message;
}

function saySize(message: string): string | null {
  const [, is, sign = "", size = "", unit = ""] =
    /^Too (?:small|big): expected \w+ to (be|have) (exactly |[<>]=?)(\S+)(?: (\w+))?$/.exec(message) ?? [];
  if (is === undefined) return null;
  return `This must ${[is, comparisons[sign], size, size === "1" ? unit.replace(/s$/, "") : unit].filter((word) => word !== "").join(" ")}.`;
}

/** What each of several shapes finds wrong, as one sentence. */
function sayShapes(errors: NonNullable<SchemaFault["errors"]>): string {
  // Where a value is a map, say, the shapes that are none have nothing to tell of it.
  const within = errors.filter((faults) =>
    faults.some(({ path, code }) => path.length > 0 || code === "unrecognized_keys"),
  );
  const said = (within.length > 0 ? within : errors).map((faults) => sayInner(withoutEchoes(faults)[0]!));
  const texts = [...new Set(said)].slice(0, toldParts);
  const parts = texts.map((text) => /^This must be (.+?)(?:, not ([^,]+))?\.$/.exec(text));
  if (!parts.every((part) => part !== null)) {
    const [first, ...more] = texts.map((text) => text.replace(/\.$/, ""));
    return `${orOf([first!, ...more.map(inSentence)])}.`;
  }
  const [received, ...others] = new Set(parts.map((part) => part[2]));
  const what = orOf([...new Set(parts.map((part) => part[1]!))]);
  return `This must be ${what}${received !== undefined && others.length === 0 ? `, not ${received}` : ""}.`;
}

function sayInner(fault: SchemaFault): string {
  const text = isMissing(fault) ? "This field is missing." : inPlainWords(fault);
  return fault.path.length === 0 ? text : `${fault.path.map(String).join(".")}: ${inSentence(text)}`;
}

function inSentence(text: string): string {
  return text.replace(/^Th(?=is |ere )/, "th");
}

function sayValue(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

const comparisons: Readonly<Record<string, string>> = {
  "exactly ": "exactly",
  ">=": "at least",
  "<=": "at most",
  ">": "more than",
  "<": "less than",
};

const typeWords: Readonly<Record<string, string>> = {
  string: "text",
  array: "a list",
  object: "a map",
  record: "a map",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
};

function sayTypes(expected: string, received: string): string {
  const wanted = typeWords[expected] ?? expected;
  if (expected === "int" && received === "number") return wanted;
  return `${wanted}, not ${received === "boolean" ? "a boolean" : (typeWords[received] ?? received)}`;
}

function orOf(options: readonly string[]): string {
  return options.length === 1 ? options[0]! : `${options.slice(0, -1).join(", ")} or ${options.at(-1)}`;
}

/** Whether a fault may come from a text whose value is not known: it is there, around it or below it. */
export function isOpen(path: readonly PropertyKey[], open: readonly Issue["path"][]): boolean {
  return open.some((text) => text.slice(0, path.length).every((key, at) => key === path[at]));
}
