import type { ManagedBy } from "../internal/common-schemas.ts";
import type { Json } from "../json.ts";
import type { Schedule } from "../schedules/cron.ts";
import type { CollectionDefinition } from "../storage/storage.ts";
import type { RolloutStrategy } from "./schemas.ts";

/** An assignment as stored, under its name. */
export interface AssignmentDocument {
  name: string;
  description?: string;
  /** As the grammar prints it. */
  selector: string;
  /** Names of modules. */
  modules: string[];
  /** Revisions that some of them are pinned to, by name; absent = none. */
  pins?: { [module: string]: number };
  /** Values for the params of its modules; absent = none. */
  params?: { [key: string]: Json };
  rollout?: RolloutStrategy;
  schedule?: Schedule;
  /** Absent = false. */
  enforce?: boolean;
  /** Absent = false. */
  unattended_removals?: boolean;
  /** Absent = no folder does. */
  managed_by?: ManagedBy;
  /** The last version of the assignment that had this name before, or more: its own are counted from there. Absent = 0. */
  version_base?: number;
  created_at: string;
  created_by: string;
}

/** When an assignment is due, under its name: apart from it, so that a run is no change of the assignment. */
export interface DueDocument {
  name: string;
  /** Milliseconds since 1970. */
  next_run_at: number;
  /** The due time that was last carried out, or passed over for another reason than that it was late. */
  last_run_at?: number;
  /** Whether the due time was passed over and told, while its schedule could not be read. Absent = no. */
  is_over?: boolean;
}

/** Changes with everything that decides whether assignments agree, so that no two such changes pass each other unseen. */
export interface AgreementDocument {
  changed_at: string;
  /** The last versions of the assignments that were removed, the latest last: none that is made under such a name has one again. Absent = none. */
  removed?: [name: string, version: number][];
  /** The greatest of those that are no longer kept by name, and so that of any other name. Absent = 0. */
  removed_version?: number;
}

/** What the assignments feature keeps. */
export const assignmentCollections = {
  assignments: { indexes: {} },
  /** One document. */
  assignment_agreement: { indexes: {} },
  assignment_schedules: { indexes: { by_due: ["next_run_at"] } },
} as const satisfies Record<string, CollectionDefinition>;
