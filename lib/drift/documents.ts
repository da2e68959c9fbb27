import type { Counts } from "../state/result.ts";
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
  counts: Counts;
}

/** What the drift feature keeps. */
export const driftCollections = {
  drift_records: { indexes: { by_node: ["node_id"] } },
  /** Whether a machine is known to have drifted, under its node_id: so that it is told once, not each time. */
  drift_states: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;
