import { OrchestratorError } from "../errors.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import type { JsonObject } from "../json.ts";
import { mostPoints, type Range } from "./points.ts";

const list = "metric_history";

/** Where the series of one answer ended, and their range: what is told next is of the same one, however long it takes until somebody asks. */
export interface HistoryPlace {
  range: Range;
  after: string;
}

/** Writes a place as a cursor that only the same question accepts. */
export function writePlace(asked: object, { range: { from, to, stepMs }, after }: HistoryPlace): string {
  return encodeCursor(list, toFilter(asked), JSON.stringify([from, to, stepMs, after]));
}

/**
 * Reads what {@link writePlace} wrote.
 *
 * @throws {OrchestratorError} `CURSOR_INVALID`.
 */
export function readPlace(asked: object, cursor: string): HistoryPlace {
  const place = toPlace(String(decodeCursor(list, toFilter(asked), cursor)));
  if (place !== null) return place;
  throw new OrchestratorError("CURSOR_INVALID", {
    issues: [{ path: ["cursor"], message: "is not one that was given" }],
  });
}

function toPlace(text: string): HistoryPlace | null {
  try {
    const [from, to, stepMs, after] = JSON.parse(text) as unknown[];
    if (!isTime(from) || !isTime(to) || !isTime(stepMs) || typeof after !== "string") return null;
    const isRange = from < to && stepMs >= 1 && (to - from) / stepMs <= mostPoints + 1;
    return isRange ? { range: { from, to, stepMs }, after } : null;
  } catch {
    return null;
  }
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= 8.64e15;
}

function toFilter(asked: object): JsonObject {
  return JSON.parse(JSON.stringify(asked)) as JsonObject;
}
