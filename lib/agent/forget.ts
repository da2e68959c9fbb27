/**
 * Drops ownership of what was applied. What is forgotten is on disk in the journal before it is, so that one that was cut off is
 * finished at the next start.
 */
import { OrchestratorError } from "../errors.ts";
import type { OwedTrigger } from "../state/owed.ts";
import { type ResolvedResource, resourceKey } from "../state/resource.ts";
import type { ResourceResult } from "../state/result.ts";
import type { AppliedResource } from "../state/run/applied-resource.ts";
import { claimsOn, withClaims } from "../state/run/claims.ts";
import { toResult } from "../state/run/state-result.ts";
import type { AppliedSet } from "./applied-set.ts";
import type { CutOperation } from "./cut-operation.ts";

/** How many names of what is not owned are told. */
const namedMissing = 5;

/**
 * What forgetting these would do, one result for each resource that the agent owns by its module.
 *
 * @param names - `module/id`, or a module for all that it brought.
 * @throws {OrchestratorError} `NOT_FOUND` naming what the agent did not apply.
 */
export function foreseeForgetting(names: readonly string[], { resources }: AppliedSet): ResourceResult[] {
  const claims = resources.flatMap(claimsOn);
  const known = new Set(claims.flatMap((claim) => [claim.module, resourceKey(claim)]));
  const missing = names.filter((name) => !known.has(name));
  if (missing.length > 0) {
    const more = missing.length > namedMissing ? ` and ${missing.length - namedMissing} more` : "";
    throw new OrchestratorError("NOT_FOUND", {
      message: `The agent owns no ${missing.slice(0, namedMissing).join(", no ")}${more}. Nothing was forgotten.`,
      details: { missing: missing.slice(0, 100) },
    });
  }
  const wanted = new Set(names);
  const leaving = claims.filter((claim) => wanted.has(claim.module) || wanted.has(resourceKey(claim)));
  return leaving.map((resource) =>
    toResult({ resource, hides: "nothing" }, { outcome: "changed", action: "forget" }, 0),
  );
}

/** What is applied and owed without what results name. What another module says the same of stays for that one. */
export function afterForgetting(
  results: readonly ResourceResult[],
  applied: AppliedSet,
): { applied: AppliedResource[]; owed: OwedTrigger[] } {
  const leaving = new Set(results.map(resourceKey));
  const stays = (claim: Pick<ResolvedResource, "module" | "resource_id">): boolean =>
    !leaving.has(resourceKey(claim));
  const left = applied.resources.flatMap((entry) => {
    const claims = claimsOn(entry).filter(stays);
    return claims.length === 0 ? [] : [withClaims(entry, claims)];
  });
  return { applied: left, owed: applied.owed.filter(stays) };
}

/**
 * Finishes what a forgetting that was cut off had begun.
 *
 * @throws {OrchestratorError} `STORAGE_FULL`, `STORAGE_FAILED`.
 */
export function finishForgetting({ records }: CutOperation, applied: AppliedSet): void {
  const results = records.flatMap((record) => (record.record === "result" ? [record.result] : []));
  if (results.length === 0) return;
  const left = afterForgetting(results, applied);
  applied.replace(left.applied, left.owed);
}

/** Whether what was cut off only forgets. */
export function isForgetting({ records: [first] }: CutOperation): boolean {
  return first?.record === "accepted" && first.kind === "forget";
}
