/** What the values of options may be, told once for whoever checks them, writes them down or reads them from a text. */
import type { Issue } from "../errors.ts";

/** What the values of an option may be. */
export interface OptionRule {
  /** What may be given, as far as the type does not say it, e.g. "60 to 86,400"; empty where it says all. */
  readonly range: string;
  /** The same of a text, such as an environment variable, where it is written differently there. */
  readonly rangeOfText?: string;
  /** All that may be given, where these are a few words. */
  readonly choices?: readonly string[];
  /** Every fault of a value, with its place in it. */
  faultsOf(value: unknown): Issue[];
  /** The value that a text means. One that means none is given back, and is a fault. */
  fromText(text: string): unknown;
}

/** Bounds of a number, both included. */
export interface NumberBounds {
  from: number;
  to: number;
  /** What 0 means, where it may be given though it is out of bounds. */
  zero?: string;
  /** What null means, where it may be given. In a text it is 0. */
  none?: string;
}

/** Whole numbers. */
export function wholeNumber(bounds: NumberBounds): OptionRule {
  return numberRule("a whole number", bounds, Number.isSafeInteger);
}

/** Numbers, whole or not. */
export function anyNumber(bounds: NumberBounds): OptionRule {
  return numberRule("a number", bounds, Number.isFinite);
}

function numberRule(kind: string, bounds: NumberBounds, isOne: (value: number) => boolean): OptionRule {
  const { from, to, zero, none } = bounds;
  const within = `${grouped(from)} to ${grouped(to)}`;
  const also = [zero === undefined ? [] : ["0"], none === undefined ? [] : ["null"]].flat();
  const range = [within, ...(zero === undefined ? [] : [`0: ${zero}`])].join("; ");
  return {
    range: none === undefined ? range : `${range}; null: ${none}`,
    rangeOfText: none === undefined ? range : `${range}; 0: ${none}`,
    faultsOf(value) {
      if (value === null && none !== undefined) return [];
      const isNumber = typeof value === "number";
      if (isNumber && isOne(value) && ((value >= from && value <= to) || (value === 0 && zero !== undefined)))
        return [];
      const given = isNumber ? `, not ${value}` : "";
      return [fault(`must be ${[...also, `${kind} from ${within}`].join(" or ")}${given}`)];
    },
    fromText(text) {
      if (!/^\d+(?:\.\d+)?$/.test(text)) return text;
      const value = Number(text);
      return value === 0 && none !== undefined && from > 0 ? null : value;
    },
  };
}

/** Texts; with a pattern only those that fit. `none` says what null means, where it may be given. */
export function plainText({
  pattern,
  range = "",
  none,
}: { pattern?: RegExp; range?: string; none?: string } = {}): OptionRule {
  const expected = range === "" ? "text" : `text: ${range}`;
  const isOne = (value: unknown): boolean => typeof value === "string" && (pattern?.test(value) ?? true);
  return {
    range: none === undefined ? range : `${range}; null: ${none}`,
    rangeOfText: range,
    faultsOf: (value) =>
      isOne(value) || (value === null && none !== undefined) ? [] : [fault(`must be ${expected}`)],
    fromText: (given) => given,
  };
}

/** One of a few words. */
export function oneOf(choices: readonly string[]): OptionRule {
  const range = choices.map((choice) => `\`${choice}\``).join(", ");
  return {
    range,
    choices,
    faultsOf: (value) =>
      choices.includes(value as string) ? [] : [fault(`must be one of ${choices.join(", ")}`)],
    fromText: (given) => given,
  };
}

/** True or false. */
export const trueOrFalse: OptionRule = {
  range: "",
  rangeOfText: "`true` or `false`",
  faultsOf: (value) => (typeof value === "boolean" ? [] : [fault("must be true or false")]),
  fromText: (given) => (given === "true" ? true : given === "false" ? false : given),
};

/** What each entry of a list must be. */
export interface EntryRule {
  /** Whether an entry is one. */
  isOne(entry: unknown): boolean;
  /** What one is, e.g. "a host name without a port". */
  is: string;
}

/** Lists. In a text the entries stand with commas or spaces between them. */
export function listOf({ isOne, is }: EntryRule): OptionRule {
  return {
    range: "",
    rangeOfText: "separated by commas",
    faultsOf(value) {
      if (!Array.isArray(value)) return [fault(`must be a list, each of it ${is}`)];
      return value.flatMap((entry: unknown, index) => {
        const shown = typeof entry === "string" ? `, not ${JSON.stringify(entry)}` : "";
        return isOne(entry) ? [] : [fault(`must be ${is}${shown}`, [index])];
      });
    },
    fromText: (given) => given.split(/[\s,]+/).filter((part) => part !== ""),
  };
}

/** What a rule allows, and false. */
export function falseOr(rule: OptionRule): OptionRule {
  return {
    ...rule,
    faultsOf: (value) => (value === false ? [] : rule.faultsOf(value)),
    fromText: (text) => (text === "false" ? false : rule.fromText(text)),
  };
}

/** Names of the methods that a part always has. */
export type RequiredMethods<Part> = {
  [Name in keyof Part]-?: object extends Pick<Part, Name>
    ? never
    : Part[Name] extends (...args: never[]) => unknown
      ? Name
      : never;
}[keyof Part];

/** Parts that others implement: each method must be there. Programs in JavaScript learn here what they forgot. */
export function partWith<Part extends object>(methods: Record<RequiredMethods<Part>, true>): OptionRule {
  const names = Object.keys(methods);
  return inProgramOnly((value) => {
    if (typeof value !== "object" || value === null)
      return [fault(`must be an object with ${listed(names)}`)];
    const missing = names.filter((name) => typeof (value as Record<string, unknown>)[name] !== "function");
    return missing.length === 0 ? [] : [fault(`must have ${listed(missing)}`)];
  });
}

/** Maps. */
export const aMap: OptionRule = partWith<ReadonlyMap<unknown, unknown>>({
  get: true,
  has: true,
  forEach: true,
  entries: true,
  keys: true,
  values: true,
  [Symbol.iterator]: true,
});

/** Functions. */
export const aFunction: OptionRule = inProgramOnly((value) =>
  typeof value === "function" ? [] : [fault("must be a function")],
);

/** Objects of any kind. */
export const anObject: OptionRule = inProgramOnly((value) =>
  typeof value === "object" && value !== null ? [] : [fault("must be an object")],
);

/** What no text can stand for. */
export function inProgramOnly(faultsOf: OptionRule["faultsOf"]): OptionRule {
  return { range: "", faultsOf, fromText: (given) => given };
}

/** One fault; its place is the value itself where none is given. */
export function fault(message: string, path: Issue["path"] = []): Issue {
  return { path, message };
}

function listed(names: readonly string[]): string {
  return names.map((name) => `${name}()`).join(", ");
}

function grouped(number: number): string {
  return String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}
