import { OrchestratorError } from "../errors.ts";
import type { SampleQuery, SampleRow } from "./storage.ts";

/** @throws {OrchestratorError} `VALIDATION_FAILED` when a time or value is no finite number. */
export function checkSampleRows(rows: readonly SampleRow[]): void {
  for (const { at, values } of rows) {
    if (!Number.isFinite(at)) throw invalid("The time of a sample must be a finite number.");
    for (const name of Object.keys(values)) {
      if (!Number.isFinite(values[name])) throw invalid("The value of a sample must be a finite number.");
    }
  }
}

/** @throws {OrchestratorError} `VALIDATION_FAILED` when the step is less than 1 ms. */
export function checkSampleQuery({ stepMs }: SampleQuery): void {
  if (stepMs !== undefined && !(stepMs >= 1)) throw invalid("A step must be at least 1 ms.");
}

function invalid(message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message });
}
