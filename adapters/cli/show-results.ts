/** Operations and the results of their resources, for people. */
import type { Change, Counts, DriftDetail, Operation, OperationDetail, ResourceResult } from "fleetwright";
import { alignRows, toLine, toLines, toSafeText } from "./text.ts";

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
  const next = kind === "plan" && status === "succeeded" && counts.would_change > 0;
  return next ? [`  apply exactly this: fleetwright apply --plan ${operation_id}`] : [];
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
  return toLines([
    toLine(`${name}: ${words[drift.status] ?? drift.status} (${describeCounts(drift.counts)})`),
    ...describeResults(drift.resources),
    `  drift check ${drift.drift_id}`,
  ]);
}

/** Counts that are not zero, e.g. "2 changed, 5 unchanged". */
export function describeCounts(counts: Counts): string {
  const told = (["changed", "would_change", "unchanged", "failed", "skipped"] as const)
    .filter((outcome) => counts[outcome] > 0)
    .map((outcome) => `${counts[outcome]} ${outcome === "would_change" ? "to change" : outcome}`);
  return told.length === 0 ? "nothing to do" : told.join(", ");
}

/** Nothing while an operation is open: what it has done so far is told at its end. */
function describeProgress(operation: Operation): string {
  return isOpen(operation) ? "" : ` (${describeEnd(operation)})`;
}

/** An operation that was cut off, or never began, had perhaps much to do. */
function describeEnd({ status, counts }: Operation): string {
  return counts.total === 0 && status !== "succeeded" ? "no results" : describeCounts(counts);
}

function isOpen({ status }: Operation): boolean {
  return status === "queued" || status === "running";
}

/** Columns of a list of operations. */
export const operationColumns = [
  ["OPERATION", (operation: Operation) => operation.operation_id],
  ["AGENT", (operation: Operation) => operation.agent_name],
  ["KIND", (operation: Operation) => operation.kind],
  ["STATUS", (operation: Operation) => operation.status],
  ["RESULT", (operation: Operation) => (isOpen(operation) ? "-" : describeEnd(operation))],
  ["CREATED", (operation: Operation) => operation.created_at],
] as const;

/** One line a resource, with its action and what caused it as the JSON has them, and below it what differs. */
export function describeResults(results: readonly ResourceResult[]): string[] {
  const heads = alignRows(results.map(toRow));
  return results.flatMap((result, at) => [
    `  ${heads[at] ?? ""}`,
    ...result.changes.flatMap(describeChange).map((line) => `      ${line}`),
  ]);
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
  if (outcome === "unchanged") return "=";
  if (action === "create") return "+";
  return action === "remove" ? "-" : "~";
}

function describeChange({ property, before, after, diff }: Change): string[] {
  if (diff !== undefined) {
    // The first two lines of a unified diff name files; here the line above does.
    const lines = toSafeText(diff)
      .trimEnd()
      .split("\n")
      .filter((line) => !/^(---|\+\+\+|={3,}|Index:|\\ No newline)/.test(line));
    return [`${toLine(property)}:`, ...lines.map((line) => `  ${line}`)];
  }
  return [toLine(`${property}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`)];
}
