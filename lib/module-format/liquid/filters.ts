/** Values as templates write them: never `[object Object]`, never an empty text for what is not there. */
import type { Json } from "../../json.ts";

/** What stands in the middle of a text. A list or a map has no such form; `json` or `join` gives it one. */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)))
    return String(value);
  if (value === null || value === undefined) throw new Error("this has no value");
  if (typeof value === "number") throw new Error("this is no number that can be written");
  throw new Error("a list or a map can't stand in a text; use the filter json or join");
}

/** The filter `json`: a value as JSON, which is also YAML and, for most programs, a quoted text. */
export function json(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** The value of a template that is one expression: what is no JSON is refused. */
export function toJson(value: unknown): Json {
  if (value === null || value === undefined) throw new Error("this has no value");
  if (typeof value === "number" && !Number.isFinite(value))
    throw new Error("this is no number that can be written");
  return JSON.parse(JSON.stringify(value)) as Json;
}

/** The filter `shell_quote`: one word of a POSIX shell, whatever is in it; of a list, a word for each item. */
export function shellQuote(value: unknown): string {
  if (Array.isArray(value)) return value.map(shellQuote).join(" ");
  return `'${toText(value).replaceAll("'", `'\\''`)}'`;
}
