import type { AssignmentDocument } from "../assignments/documents.ts";
import type { Json } from "../json.ts";
import type { ModuleReference, NamedModules } from "../module-format/module-reference.ts";

/** What an assignment says of its modules. */
export type Given = Pick<AssignmentDocument, "pins" | "params">;

/** Which of what is desired is asked for, and what comes beside assignments. */
export interface DesiredRequest {
  /** Modules, these alone. Default: those of every assignment that matches the agent, and those that were named for it. */
  modules?: readonly ModuleReference[] | undefined;
  /** The assignment whose rollout brings these modules in these revisions; absent = a call does. */
  assignment?: string | undefined;
  /** What that assignment said of them when its rollout was asked for; absent = as it says now, where it matches the agent. */
  given?: Given | undefined;
  /** Values of params that come before all others. */
  params?: { readonly [key: string]: Json } | undefined;
  /** What earlier calls named for the agent. */
  named?: NamedModules | undefined;
  /** Modules that are to go: nothing is held against what they say. */
  removed?: readonly string[] | undefined;
  /** Modules that the agent has, so that what requires them can do without their being asked for. */
  applied?: ReadonlySet<string> | undefined;
}
