import { OrchestratorError } from "../errors.ts";
import { findConflicts } from "../state/conflicts.ts";
import { resolveResource } from "../state/definition.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { ParsedModule } from "./module-document.ts";

/**
 * Turns what a module declares into what an agent gets.
 *
 * @param skipped - For each resource, whether its condition does not hold. Default: all hold.
 * @throws {OrchestratorError} `MODULE_INVALID` where the rules of a type have become stricter since the upload.
 */
export function resolveResources(
  module: string,
  content: ParsedModule,
  skipped: readonly boolean[] = [],
): ResolvedResource[] {
  return content.resources.map((definition, at) => {
    const resolution = resolveResource(definition, {
      module,
      ...(skipped[at] === true && { skip: "condition" as const }),
    });
    if (resolution.ok) return resolution.resource;
    throw new OrchestratorError("MODULE_INVALID", {
      message: `Module ${module} is not valid any more.`,
      issues: resolution.issues.map((issue) => ({ ...issue, path: ["resources", at, ...issue.path] })),
    });
  });
}

/** Refuses resources that contradict each other; `RESOURCE_CONFLICT` names both sides of each contradiction. */
export function requireAgreement(resources: readonly ResolvedResource[]): void {
  const conflicts = findConflicts(resources);
  if (conflicts.length === 0) return;
  throw new OrchestratorError("RESOURCE_CONFLICT", {
    message: conflicts[0]!.message,
    issues: conflicts.map(({ message }) => ({ path: ["modules"], message })),
  });
}
