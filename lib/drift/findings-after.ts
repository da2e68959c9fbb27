/** What lists of agents tell of a drift check that has ended. */
import type { KnownFindings } from "../agents/findings.ts";
import type { DriftDocument } from "./documents.ts";

/**
 * What is known of an agent after a check of it; null where nothing changes. One that could not tell hides nothing that an earlier one
 * found.
 *
 * @param isOld - Whether another has ended since.
 */
export function findingsAfterCheck(
  before: KnownFindings,
  { drift_id, status, checked_at }: DriftDocument,
  isOld: boolean,
): KnownFindings | null {
  const { drift, failed_drift_check: failed, ...rest } = before;
  const others = { ...rest, ...(drift && drift.drift_id !== drift_id && { drift }) };
  const isFailed = failed !== undefined && failed.drift_id !== drift_id;
  if (isOld || status === "cancelled" || status === "running") {
    // It was taken for something else before.
    const isKnown = drift?.drift_id === drift_id || failed?.drift_id === drift_id;
    return isKnown ? { ...others, ...(isFailed && { failed_drift_check: failed }) } : null;
  }
  if (status === "failed") return { ...others, failed_drift_check: { drift_id, checked_at } };
  return { ...rest, drift: { drift_id, status, checked_at } };
}
