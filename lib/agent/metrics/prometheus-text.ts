/** The text format of Prometheus, and of OpenMetrics as far as it is the same: one value a line. */
import type { Values } from "./measured-machine.ts";
import { labelText, maxNameLength } from "./series-name.ts";

/**
 * A line: name, labels, value, and what may follow it, a time or an example, at which nobody looks. Spaces are matched by one part of it
 * alone: two that could share them would try every way to do so.
 */
const linePattern =
  /^([A-Za-z_:][\w:]*)(?:\s*\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\}\s*|\s+)([^\s#{}]+)(?:\s.*)?$/;
const labelPattern = /\s*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/gy;
const numberPattern = /^[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

/** What a text holds, and how many of its lines are of no such form, hold no number, or are replaced by a later one with the same name. */
export interface ParsedMetrics {
  values: Values;
  faults: number;
}

/**
 * Reads the values of a text, each under `custom.`. NaN and infinities, and names that are too long, are left out. Of values with
 * the same name the last counts: labels that differ only in what no name may hold are one series.
 */
export function parsePrometheusText(text: string, most: number): ParsedMetrics {
  const values: Values = {};
  let faults = 0;
  let count = 0;
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    const found = parseLine(line);
    if (found === null) faults += 1;
    else if (Object.hasOwn(values, found.name)) {
      faults += 1;
      values[found.name] = found.value;
    } else if (count >= most) faults += 1;
    else {
      count += 1;
      values[found.name] = found.value;
    }
  }
  return { values, faults };
}

function parseLine(line: string): { name: string; value: number } | null {
  const [, metric = "", labels, number = ""] = linePattern.exec(line) ?? [];
  const value = numberPattern.test(number) ? Number(number) : Number.NaN;
  const inner = labels === undefined ? "" : labelsOf(labels);
  if (metric === "" || inner === null || !Number.isFinite(value)) return null;
  const base = `custom.${metric.replaceAll(":", "_")}`;
  const name = inner === "" ? base : `${base}{${inner}}`;
  return name.length <= maxNameLength ? { name, value } : null;
}

/** Labels as names of series have them: by name, without quotes. */
function labelsOf(text: string): string | null {
  const found: string[] = [];
  let end = 0;
  for (const match of text.matchAll(labelPattern)) {
    const [whole, name = "", value = ""] = match;
    end = match.index + whole.length;
    const plain = value.replace(/\\(.)/g, (_, character: string) => (character === "n" ? "\n" : character));
    found.push(`${name}=${labelText(plain, maxNameLength)}`);
  }
  return text.slice(end).trim() === "" ? found.sort().join(",") : null;
}
