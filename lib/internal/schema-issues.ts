import type { Issue } from "../errors.ts";

/** A fault as a schema reports it, whichever library it is of; only what is used here. */
export interface SchemaFault {
  path: readonly PropertyKey[];
  message: string;
  code?: string | undefined;
  /** The fields that are not known. */
  keys?: readonly string[];
  /** What is wrong with a key of a record. */
  issues?: readonly { message: string }[];
}

/**
 * What a schema found, as issues of an error: each field that is not known has a path of its own, one that is missing is
 * said to be, and a key that is not acceptable says what one is.
 */
export function toIssues(faults: readonly SchemaFault[]): Issue[] {
  return withoutEchoes(faults).flatMap(({ path, message, code, keys = [], issues = [] }) => {
    const steps = path.map((step) => (typeof step === "number" ? step : String(step)));
    if (keys.length > 0)
      return keys.map((key) => ({ path: [...steps, key], message: "There is no such field." }));
    return [
      {
        path: steps,
        message: isMissing({ code, message })
          ? "This field is missing."
          : inPlainWords(issues[0]?.message ?? message),
      },
    ];
  });
}

/** The value itself is not among what a schema tells. */
function isMissing({ code, message }: Pick<SchemaFault, "code" | "message">): boolean {
  return code === "invalid_type" && message.endsWith("received undefined");
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

/** What the schema library itself says of a wrong value, in our words; what a schema says is ours already. */
export function inPlainWords(message: string): string {
  const [, type, received] = /^Invalid input: expected (\w+), received (\w+)$/.exec(message) ?? [];
  if (type !== undefined && received !== undefined) return `This must be ${sayTypes(type, received)}.`;
  const [, options] = /^Invalid option: expected one of (.+)$/.exec(message) ?? [];
  if (options !== undefined) return `This must be ${orOf(options.split(/\|(?=["\d])/))}.`;
  const [, only] = /^Invalid input: expected (\S+)$/.exec(message) ?? [];
  if (only !== undefined) return `This must be ${only}.`;
  const [, is, sign = "", size = "", unit = ""] =
    /^Too (?:small|big): expected \w+ to (be|have) (exactly |[<>]=?)(\S+)(?: (\w+))?$/.exec(message) ?? [];
  if (is === undefined) return message;
  return `This must ${[is, comparisons[sign], size, size === "1" ? unit.replace(/s$/, "") : unit].filter((word) => word !== "").join(" ")}.`;
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
