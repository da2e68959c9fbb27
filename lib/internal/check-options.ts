/** Checks options against their table: what is out of range, of another type, missing or not known, all of it at once. */
import { type Issue, OrchestratorError } from "../errors.ts";
import { nearName } from "./near-name.ts";
import { fault, inProgramOnly, type OptionRule } from "./option-rules.ts";

/** One option. */
export interface OptionRow<Value = unknown> {
  /** What may be given. */
  readonly rule: OptionRule;
  /** What it is where nothing is given; absent where it stays so. */
  readonly default?: Value;
  /** The default in words, where its value does not say it. */
  readonly defaultText?: string;
  /** Whether something must be given. */
  readonly isRequired?: boolean;
}

/** Every option of something, by its name. */
export type OptionTable<Options> = { readonly [Name in keyof Options]-?: OptionRow<Options[Name]> };

/** What is checked beside each option by itself. */
export interface OptionsCheck<Options> {
  /** Whose options they are, e.g. "Orchestrator": what the message begins with. */
  of: string;
  /** Faults of options together. What is given may be anything. */
  together?(given: Partial<Options>): Issue[];
}

/**
 * Refuses options that are not those of the table. What is undefined counts as not given.
 *
 * @throws {OrchestratorError} `OPTIONS_INVALID` with every fault.
 */
export function checkOptions<Options extends object>(
  given: Options,
  table: OptionTable<Options>,
  { of, together }: OptionsCheck<Options>,
): void {
  const faults = [...faultsOfOptions(given, table), ...(isObject(given) ? (together?.(given) ?? []) : [])];
  if (faults.length === 0) return;
  throw new OrchestratorError("OPTIONS_INVALID", {
    message: `${of}: ${faults.map(({ path, message }) => `${toPlace(path)} ${message}`.trim()).join("; ")}.`,
    issues: faults,
  });
}

/** The faults of options by their table, each with its place. */
export function faultsOfOptions(given: unknown, table: OptionTable<object>): Issue[] {
  if (!isObject(given)) return [fault("the options must be an object")];
  const rows = table as Record<string, OptionRow>;
  const values = given as Record<string, unknown>;
  const unknown = Object.keys(values)
    .filter((name) => !Object.hasOwn(rows, name))
    .map((name) => fault(`is no option${didYouMean(name, Object.keys(rows))}`, [name]));
  const wrong = Object.entries(rows).flatMap(([name, { rule, isRequired }]) => {
    const value = values[name];
    if (value === undefined) return isRequired ? [fault("is missing", [name])] : [];
    return rule.faultsOf(value).map(({ path, message }) => fault(message, [name, ...path]));
  });
  return [...unknown, ...wrong];
}

/** The question whether a known name was meant; empty where none is near. */
export function didYouMean(name: string, known: Iterable<string>): string {
  const near = nearName(name, known);
  return near === null ? "" : `, did you mean ${near}?`;
}

/** Options with the default of each that is not given and has one. */
export function withDefaults<Resolved extends object>(
  given: Partial<Resolved>,
  table: OptionTable<Resolved>,
): Resolved {
  const rows = Object.entries(table as Record<string, OptionRow>);
  const values = given as Record<string, unknown>;
  return Object.fromEntries(
    rows.map(([name, row]) => [name, values[name] === undefined ? row.default : values[name]]),
  ) as Resolved;
}

/** Options within options. */
export function optionsOf<Options>(table: OptionTable<Options>): OptionRule {
  return inProgramOnly((value) =>
    isObject(value) ? faultsOfOptions(value, table as OptionTable<object>) : [fault("must be an object")],
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function toPlace(path: Issue["path"]): string {
  return path.reduce<string>(
    (place, part) =>
      typeof part === "number" ? `${place}[${part}]` : place === "" ? part : `${place}.${part}`,
    "",
  );
}
