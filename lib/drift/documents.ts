import type { StoredCounts } from "../state/result.ts";
import type { CollectionDefinition } from "../storage/storage.ts";
import type { DriftStatus } from "./schemas.ts";

/** A drift check as stored, under its id: that of the operation which did the work, so that keys are in order of time. */
export interface DriftDocument {
  drift_id: string;
  node_id: string;
  status: DriftStatus;
  baseline_operation_id: string;
  trigger: "manual" | "scheduled";
  checked_at: string;
  duration_ms: number;
  counts: StoredCounts;
  /** Why it failed or was cancelled. */
  error?: { code: string; message: string };
}

/** How often what drifted was applied again since the machine was last found in sync. */
export interface Enforcement {
  /** The part of the baseline that was put back last, by the hash of its resources. */
  snapshot: string;
  /** The same of the whole baseline; absent where an earlier version counted. */
  baseline?: string;
  times: number;
  /** A fleet time. */
  last_at: number;
  /** Whether it was given up, and told. */
  stopped?: boolean;
}

/** Whether a machine is known to have drifted, under its node_id: so that it is told once, not each time. */
export interface DriftStateDocument {
  drifted: boolean;
  /** The newest check that was made by itself. */
  scheduled_id?: string;
  enforcement?: Enforcement;
}

/** What the drift feature keeps. */
export const driftCollections = {
  drift_records: { indexes: { by_node: ["node_id"] } },
  drift_states: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;
