/** Results, with the values of sensitive resources hidden. The one place where a value leaves the engine. */
import { errorTable, isOrchestratorError } from "../../errors.ts";
import { startOf } from "../../internal/canonical-json.ts";
import type { ResolvedResource } from "../resource.ts";
import { hidden } from "../result.ts";
import type { Action, Change, ResourceResult } from "../result.ts";
import type { Firing } from "../triggers.ts";
import type { StateItem } from "./state-item.ts";

/** What is known of a result beside its resource. */
export type ResultParts = Partial<ResourceResult> & Pick<ResourceResult, "outcome">;

/** As much of a resource as its result names. */
type NamedResource = Pick<ResolvedResource, "resource_id" | "module" | "type" | "identity" | "sensitive">;

/** Puts a result together; what is not given is nothing. */
export function toResult(
  { resource, hides }: { resource: NamedResource; hides: StateItem["hides"] },
  parts: ResultParts,
  durationMs: number,
): ResourceResult {
  const { resource_id, module, type, identity } = resource;
  const { outcome, action = "none", changes = [], caused_by = [], attempts = 0 } = parts;
  const result: ResourceResult = {
    resource_id,
    module,
    type,
    identity,
    outcome,
    action,
    changes: resource.sensitive || hides === "values" ? changes.map(hideValues) : shown(changes, hides),
    caused_by,
    attempts,
    duration_ms: Math.round(durationMs),
  };
  if (parts.until !== undefined) result.until = parts.until;
  if (parts.owed_since !== undefined) result.owed_since = parts.owed_since;
  if (parts.skipped_because !== undefined) result.skipped_because = parts.skipped_because;
  if (parts.code !== undefined) result.code = parts.code;
  if (parts.message !== undefined) result.message = parts.message;
  if (parts.exit_code !== undefined) result.exit_code = parts.exit_code;
  return result;
}

/** The parts of a result that say why something failed. */
export function failureParts(resource: ResolvedResource, error: unknown): ResultParts {
  const known = isOrchestratorError(error);
  const code = known ? error.code : "INTERNAL";
  const exitCode = known ? error.details["exit_code"] : undefined;
  return {
    outcome: "failed",
    code,
    message: known && !resource.sensitive ? startOf(error.message, 4096) : errorTable[code].message,
    ...(typeof exitCode === "number" && { exit_code: exitCode }),
  };
}

/** What making these changes is called. */
export function actionOf(item: StateItem, changes: readonly Change[]): Action {
  if (item.removal) return "remove";
  const own = item.target?.type.action?.(changes);
  if (own) return own;
  const ensure = changes.find((change) => change.property === "ensure");
  if (!ensure) return "update";
  return ensure.after === "absent" ? "remove" : "create";
}

function shown(changes: Change[], hides: StateItem["hides"]): Change[] {
  return hides === "diffs" ? changes.map(({ diff: _diff, ...change }) => change) : changes;
}

function hideValues(change: Change): Change {
  if (change.property === "ensure") return change;
  return {
    property: change.property,
    before: hide(change.before),
    after: hide(change.after),
    sensitive: true,
  };
}

function hide(value: Change["before"]): Change["before"] {
  return value === null ? null : hidden;
}

export function skippedByCondition(skipped_because: "condition", message: string | undefined): ResultParts {
  return { outcome: "skipped", skipped_because, ...(message !== undefined && { message }) };
}

export const heldBack: ResultParts = {
  outcome: "skipped",
  skipped_because: "unattended",
  message: "It is not desired any more, and left for an apply that somebody asks for.",
};

export function skippedFor(message: string): ResultParts {
  return { outcome: "skipped", skipped_because: "dependency", message };
}

/** What happened because of what was watched. */
export function withCauses(parts: ResultParts, firing: Firing | null): ResultParts {
  if (!firing) return parts;
  const { causes, owedSince } = firing;
  return { ...parts, caused_by: causes, ...(owedSince !== null && { owed_since: owedSince }) };
}
