import type { ModuleEvaluation } from "../module-format/module-resources.ts";
import type { ModuleRevision } from "../modules/module-revisions.ts";
import { resourceKey } from "../state/resource.ts";

/** How many characters of reasons are told of one agent. What is skipped beyond that is told without its reason. */
const mostTold = 65_536;

/** Why resources are skipped on an agent, for people, by `module/id`. */
export type SkipReasons = Readonly<Record<string, string>>;

/** The reasons of some modules. They stay apart from the resources, which are the same for every agent that skips the same. */
export function skipReasonsOf(
  modules: readonly ModuleRevision[],
  evaluations: readonly ModuleEvaluation[],
): SkipReasons {
  const reasons: Record<string, string> = {};
  let left = mostTold;
  for (const [which, { content }] of modules.entries()) {
    for (const [at, reason] of evaluations[which]!.skipped.entries()) {
      if (reason === null) continue;
      left -= reason.length;
      if (left < 0) return reasons;
      reasons[resourceKey({ module: content.name, resource_id: content.outline[at]!.id })] = reason;
    }
  }
  return reasons;
}
