/** What a threshold may be, and how many there may be: pure, so that one is judged in the same way before it is sent. */
import { OrchestratorError } from "../errors.ts";
import type { ThresholdDocument } from "./documents.ts";

/** Each costs a look with each sample of the fleet. */
export const mostThresholds = 100;

/** Refuses a recovery beyond the limit, which would end each alarm as it begins. Throws `VALIDATION_FAILED`. */
export function requireRecovery({
  condition,
  value,
  recovery_value = value,
}: Readonly<Pick<ThresholdDocument, "condition" | "value" | "recovery_value">>): void {
  const isBack = condition === "above" ? recovery_value <= value : recovery_value >= value;
  if (isBack) return;
  const message = `must be ${condition === "above" ? "at most" : "at least"} value`;
  throw new OrchestratorError("VALIDATION_FAILED", { issues: [{ path: ["recovery_value"], message }] });
}

/** Refuses one threshold too many. Throws `VALIDATION_FAILED`. */
export function requireFewThresholds(count: number): void {
  if (count <= mostThresholds) return;
  throw new OrchestratorError("VALIDATION_FAILED", {
    issues: [{ path: [], message: `there are ${mostThresholds} thresholds, which is the most` }],
  });
}
