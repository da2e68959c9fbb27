import { startOf } from "../../../internal/canonical-json.ts";
import type { Change } from "../../result.ts";

/** Says a change in one line; the words of a type that has none of its own. */
export function describeChange(change: Change): string {
  const { property, before, after } = change;
  if (property === "ensure") return after === "absent" ? "take it away" : "make it";
  return `${property}: ${print(before)} -> ${print(after)}`;
}

function print(value: Change["before"]): string {
  const json = JSON.stringify(value);
  // A line break in a value stays visible and in its line.
  const text = typeof value === "string" ? json.slice(1, -1) : json;
  return text.length > 80 ? `${startOf(text, 79)}…` : text;
}
