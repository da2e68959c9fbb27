/** What makes a server as a fleet folder says, step by step. */
import type { JsonObject } from "../json.ts";
import type { FieldChange } from "./field-changes.ts";
import type { FolderFault, FolderKind } from "./fleet-folder.ts";

/** What is to be done to one thing so that the server has it as the folder says. */
export interface FolderStep {
  /** `replace`: what can't be changed is removed and made anew, such as an operator with another key or name. */
  action: "create" | "change" | "replace" | "remove";
  kind: FolderKind;
  /** Its name in the folder. */
  name: string;
  /** What names it in calls; null for one that is to be made. */
  id: string | null;
  /** The version that was seen; a module that is to be made has 0. Null where nothing is there. */
  version: number | null;
  /** Which fields differ; of what is to be made or removed none. Values of params, configs and contents are not told. */
  changes: readonly FieldChange[];
  /** Whose it is before, where this folder takes it over: a label, or null for nobody's. */
  takenFrom?: string | null;
  /** What the call says. It may hold what is secret, and is to be shown nowhere. */
  values: JsonObject;
}

/** What makes a server as a fleet folder says. */
export interface FolderPlan {
  /** What is to be made and changed, in the order in which it can be; with `prune` also operators whose keys others are to have. */
  steps: readonly FolderStep[];
  /** What the folder managed and does not have any more, in the order in which it can be removed. */
  removals: readonly FolderStep[];
  /** What is as the folder says, though no folder manages it. */
  unmanaged: readonly { kind: FolderKind; name: string }[];
  /** Why nothing can be done, those of the folder itself with them; empty where it can. */
  faults: readonly FolderFault[];
}

/** What a plan is made for. */
export interface FolderPlanOptions {
  /** Whether what belongs to nobody, or to another folder, is taken over. Else that is a fault where it differs. */
  takeOver: boolean;
  /** Whether what the folder does not have any more is to be removed: then that is checked, too. */
  prune: boolean;
  /** Whether that may be everything, where the folder has nothing at all. */
  allowEmpty: boolean;
  /** Who asks: nobody takes their own rights away. Null = nobody who could. */
  operatorId: string | null;
  /** The time, milliseconds since 1970: a window that is over by then is not made any more. */
  nowMs: number;
}
