/** Values of options, read strictly. */
import { InvalidArgumentError } from "commander";
import type { Assignment } from "fleetwright";

/** Reads a whole number within bounds. */
export function integer(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < minimum || value > maximum) {
      throw new InvalidArgumentError(`Not a whole number from ${minimum} to ${maximum}.`);
    }
    return value;
  };
}

/** Reads a number, with or without a fraction. */
export function decimal(text: string): number {
  if (!/^-?\d+(\.\d+)?$/.test(text)) throw new InvalidArgumentError("Not a number.");
  return Number(text);
}

const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time, or how many seconds ago it was by the clock of whoever is asked. */
export type Moment = { at: string } | { secondsAgo: number };

/** A hundred years, in seconds: nothing was measured before. */
const longestAgo = 3_153_600_000;

/** Reads a time, or how long ago it was: `30m`, `6h`, `7d`. */
export function moment(text: string): Moment {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const secondsAgo = (Number(count) * (unitMs[unit] ?? 0)) / 1_000;
  if (count !== undefined && secondsAgo <= longestAgo) return { secondsAgo };
  const at = Date.parse(text);
  // Without its zone a time would be that of the machine the command runs on.
  const isTime = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text);
  if (!isTime || !(Math.abs(at) < 8.64e15))
    throw new InvalidArgumentError("Not a time with its zone, or a duration such as 30m, 6h or 7d.");
  return { at: new Date(at).toISOString() };
}

/** Longest duration: what begins in a year of four digits still ends at a time that can be told. */
const longestSeconds = 8e12;

/** Reads a duration such as `30m`, `6h` or `2d`, in seconds. */
export function duration(text: string): number {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const seconds = (Number(count) * (unitMs[unit] ?? 0)) / 1_000;
  if (count === undefined || seconds < 1)
    throw new InvalidArgumentError("Not a duration such as 30m, 6h or 2d.");
  if (seconds > longestSeconds)
    throw new InvalidArgumentError("A duration of so many years ends at no time that can be told.");
  return seconds;
}

/** Gathers an option that may be given more than once, or with commas. */
export function gather(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(",").map((part) => part.trim())];
}

/** Gathers `name=value` options. A value that is JSON is what it says, anything else is text. */
export function gatherParam(text: string, before: ParamOptions = {}): ParamOptions {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Not name=value.");
  return { ...before, [text.slice(0, at)]: toValue(text.slice(at + 1)) };
}

/** Values of params as options give them. */
export type ParamOptions = Record<string, ParamValue>;

type ParamValue = NonNullable<Assignment["params"]>[string];

/** Gathers `key=value` tags. */
export function gatherTag(text: string, before: TagOptions = {}): TagOptions {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError(`A tag is written key=value, not ${JSON.stringify(text)}.`);
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Tags as options give them. */
export type TagOptions = Record<string, string>;

function toValue(text: string): ParamValue {
  try {
    return JSON.parse(text) as ParamValue;
  } catch {
    return text;
  }
}

/** Description of `--param` and how it is read. */
export const paramOption = [
  "--param <name=value>",
  "a value for a param; JSON, or text; may be given more than once",
  gatherParam,
] as const;

/** Description of `--limit` and how it is read. */
export const limitOption = ["--limit <number>", "show at most so many", integer(1, 100_000)] as const;
