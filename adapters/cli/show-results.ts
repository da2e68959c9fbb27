/** Operations and the results of their resources, for people. */
import type { Change, Counts, DriftDetail, Operation, OperationDetail, ResourceResult } from "fleetwright";
import { alignRows, idColumn, timeColumn, toLine, toLines, toSafeText } from "./text.ts";

/** One line an operation, one a resource, and below each what differs. */
export function describeOperation(operation: OperationDetail): string {
  return toLines([
    describeOutcome(operation),
    ...describeResults(operation.resources),
    `  operation ${operation.operation_id}`,
    ...describeNext(operation),
  ]);
}

/** What can be done with a plan; nothing for any other operation. */
export function describeNext({ kind, status, counts, operation_id }: Operation): string[] {
  const next = kind === "plan" && status === "succeeded" && mayChange(counts);
  return next ? [`  apply exactly this: fleetwright apply --plan ${operation_id}`] : [];
}

/** Whether a plan would, or may, change something. */
export function mayChange({ would_change, unknown }: Counts): boolean {
  return would_change > 0 || unknown > 0;
}

/** How an operation stands or ended, in one line. */
export function describeOutcome(operation: Operation): string {
  const { agent_name, kind, status, error } = operation;
  const reason = error ? `: ${error.code}: ${error.message}` : "";
  return toLine(`${agent_name}: ${kind} ${status}${describeProgress(operation)}${reason}`);
}

/** The same for a drift check. */
export function describeDrift(name: string, drift: DriftDetail): string {
  const words = { in_sync: "in sync", drifted: "drifted" } as Partial<Record<string, string>>;
  const { status, error, counts } = drift;
  const reason = error ? `: ${error.code}: ${error.message}` : "";
  const found = counts.total === 0 && error ? "no results" : describeCounts(counts);
  return toLines([
    toLine(`${name}: ${words[status] ?? status} (${found})${reason}`),
    ...describeResults(drift.resources),
    `  drift check ${drift.drift_id}`,
  ]);
}

/**
 * Counts that are not zero, removals first and not once more among the changes: "1 to remove, 2 to change", or "1 removed, 5 unchanged".
 *
 * @param removedOn - On what the removals are, where that is not one agent.
 */
export function describeCounts(counts: Counts, removedOn = ""): string {
  // A server of before this count says nothing of it.
  const { removed = 0 } = counts;
  // A run either only looks or does what it finds.
  const looked = counts.would_change > 0;
  const told: [count: number, what: string][] = [
    [removed, `${looked ? "to remove" : "removed"}${removedOn}`],
    [looked ? counts.changed : counts.changed - removed, "changed"],
    [looked ? counts.would_change - removed : counts.would_change, "to change"],
    [counts.unknown, "unknown"],
    [counts.unchanged, "unchanged"],
    [counts.failed, "failed"],
    [counts.skipped, "skipped"],
  ];
  const some = told.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return some.length === 0 ? "nothing to do" : some.join(", ");
}

/** A number with its noun, e.g. "1 agent", "2 agents". */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Nothing while an operation is open: what it has done so far is told at its end. */
function describeProgress(operation: Operation): string {
  if (operation.held_by) return ` (held by a maintenance window until ${operation.held_by.until})`;
  return isOpen(operation) ? "" : ` (${describeEnd(operation)})`;
}

/** An operation that was cut off, or never began, had perhaps much to do. */
function describeEnd({ kind, status, counts }: Operation): string {
  if (kind === "forget" && counts.changed > 0) return `${counts.changed} forgotten`;
  return counts.total === 0 && status !== "succeeded" ? "no results" : describeCounts(counts);
}

function isOpen({ status }: Operation): boolean {
  return status === "queued" || status === "running";
}

/** Columns of a list of operations. */
export const operationColumns = [
  ["OPERATION", (operation: Operation) => operation.operation_id, idColumn],
  ["AGENT", (operation: Operation) => operation.agent_name],
  ["KIND", (operation: Operation) => operation.kind],
  ["STATUS", (operation: Operation) => operation.status],
  ["RESULT", (operation: Operation) => (isOpen(operation) ? "-" : describeEnd(operation))],
  ["CREATED", (operation: Operation) => operation.created_at, timeColumn],
] as const;

/**
 * One line a resource, with its action and what caused it as the JSON has them, and below it what differs.
 *
 * @param least - Least widths of the columns.
 */
export function describeResults(results: readonly ResourceResult[], least?: readonly number[]): string[] {
  const heads = describeHeads(results, least);
  return results.flatMap((result, at) => [
    heads[at] ?? "",
    ...result.changes.flatMap(describeChange).map((line) => `      ${line}`),
  ]);
}

/** The same without what differs. */
export function describeHeads(results: readonly ResourceResult[], least?: readonly number[]): string[] {
  return alignRows(results.map(toRow), least).map((head) => `  ${head}`);
}

function toRow(result: ResourceResult): string[] {
  const { module, type, identity, action, caused_by, owed_since, code, message, skipped_because } = result;
  const since = owed_since === undefined ? "" : `, owed since operation ${owed_since}`;
  const cause = caused_by.length === 0 ? "" : `caused by ${caused_by.join(", ")}${since}`;
  const why = [skipped_because, code, message].filter((part) => part !== undefined).join(": ");
  const rest = [module, cause, why].filter((part) => part !== "").map(toLine);
  return [`${symbolOf(result)} ${type}`, toLine(identity), action, rest.join("  ")];
}

function symbolOf({ outcome, action }: ResourceResult): string {
  if (outcome === "failed") return "!";
  if (outcome === "skipped") return ".";
  if (outcome === "unknown") return "?";
  if (outcome === "unchanged") return "=";
  if (action === "create") return "+";
  return action === "remove" ? "-" : "~";
}

function describeChange({ property, before, after, diff }: Change): string[] {
  if (diff !== undefined) {
    const lines = toSafeText(diff).trimEnd().split("\n");
    // The lines above the first hunk name files, and the property names them already. Further down such a line belongs to the text.
    const begin = lines.findIndex((line) => !/^(---|\+\+\+|={3,}|Index:)/.test(line));
    const told = begin < 0 ? [] : lines.slice(begin).filter((line) => !line.startsWith("\\ No newline"));
    return [`${toLine(property)}:`, ...told.map((line) => `  ${line}`)];
  }
  return [toLine(`${property}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`)];
}
