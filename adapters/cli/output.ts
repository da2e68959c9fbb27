/** How results are printed for programs: JSON, YAML, or names alone. */
import { toLine, toLines, toTable } from "./text.ts";
import type { Column } from "./text.ts";

/** Ways to print a result. */
export const outputFormats = ["table", "wide", "json", "yaml", "name"] as const;

/** One of {@link outputFormats}. */
export type OutputFormat = (typeof outputFormats)[number];

/** Whether a format is for programs: nothing is asked, and nothing else is printed. */
export function isForPrograms(format: OutputFormat): boolean {
  return format === "json" || format === "yaml" || format === "name";
}

/** Prints a result; a `null` that stands for "nothing to say" is printed as such. */
export type Print = (value: unknown) => string;

/** The printer of a format for programs. YAML is loaded when it is asked for. */
export async function printerOf(format: OutputFormat): Promise<Print> {
  if (format === "yaml") return toYaml();
  return format === "name" ? toNames : toJson;
}

/**
 * A value as JSON. Characters that a terminal would obey, or that change the order of what is read, are written as escapes: the value
 * stays what it is.
 */
export function toJson(value: unknown): string {
  return `${escapeControls(JSON.stringify(value, null, 2) ?? "null")}\n`;
}

/** The same on one line. */
export function toJsonLine(value: unknown): string {
  return `${escapeControls(JSON.stringify(value))}\n`;
}

async function toYaml(): Promise<Print> {
  const { Document, visit } = await import("yaml");
  return (value) => {
    // Readers of YAML 1.1 take `no` and `12:30` for something else where they are not quoted.
    const document = new Document(JSON.parse(JSON.stringify(value ?? null)), { compat: "yaml-1.1" });
    // Only there do escapes mean what they say.
    visit(document, {
      Scalar: (_, node) => {
        if (typeof node.value === "string" && node.value.search(controls) >= 0) node.type = "QUOTE_DOUBLE";
      },
    });
    return document.toString({ lineWidth: 0 }).replace(controls, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return code > 0xffff ? `\\U${toHex(code, 8)}` : `\\u${toHex(code, 4)}`;
    });
  };
}

/** The fields that name a thing, the one that is its own first. */
const nameFields = [
  // Of a group of agents.
  "changes",
  "operation_id",
  "rollout_id",
  "drift_id",
  "session_id",
  "id",
  "node_id",
  "operator_id",
  "name",
  "key",
  "path",
];

/** Commands whose results have nothing that other commands take: with `--output name` they are refused before they do anything. */
const nameless: ReadonlySet<string> = new Set([
  "status",
  "agents reject-pending",
  "secrets rotate-key",
  "metrics",
  "modules schema",
  "operations output",
  "local plan",
  "local apply",
  "local drift",
  "audit list",
  "audit verify",
  "audit retention",
  "audit prune",
  "resume",
]);

/** Whether `--output name` has something to print for a command, such as `agents list`. */
export function hasNames(command: string): boolean {
  return !nameless.has(command);
}

/** What other commands take for each of the things in a result, one a line. */
export function toNames(value: unknown): string {
  const items = Array.isArray(value) ? value : ((value as { items?: unknown[] } | null)?.items ?? [value]);
  const names = items.map((item: unknown) => nameOf(item)).filter((name) => name !== undefined);
  return toLines(names.map(toLine));
}

/** The names of the items of a list: what stands in its first column. */
export function toFirstColumn<Item>(items: readonly Item[], [first]: readonly Column<Item>[]): string {
  return first === undefined ? "" : toTable(items, [first]).replace(/^.*\n/, "");
}

function nameOf(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null) return undefined;
  const fields = item as Record<string, unknown>;
  // Whoever reads the names acts on them: of many, those for which nothing was done are none.
  if (fields["outcome"] === "failed" || fields["outcome"] === "left_out") return undefined;
  const field = nameFields.find((name) => typeof fields[name] === "string");
  return field === undefined ? undefined : String(fields[field]);
}

const controls = /[^\P{C}\n]/gu;

function escapeControls(json: string): string {
  return json.replace(controls, (character) =>
    Array.from({ length: character.length }, (_, at) => `\\u${toHex(character.charCodeAt(at), 4)}`).join(""),
  );
}

function toHex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
