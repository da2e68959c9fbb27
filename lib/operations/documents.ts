import type { Json } from "../json.ts";
import type { Counts } from "../state/result.ts";
import type { CollectionDefinition, LogDefinition } from "../storage/storage.ts";
import type { OperationKind, OperationStatus } from "./schemas.ts";

/** An operation as stored, under its id (a UUIDv7, so that keys are in order of time). */
export interface OperationDocument {
  operation_id: string;
  /** "check" is the work of a drift check; it is not listed as an operation. */
  kind: OperationKind | "check";
  node_id: string;
  agent_name: string;
  status: OperationStatus;
  rollout_id?: string;
  assignment?: string;
  modules: { name: string; revision: number }[];
  counts: Counts;
  requested_by: string;
  /** The epoch in which it was made or, later, begun; absent = before there were epochs. */
  epoch?: number;
  created_at: string;
  started_at?: string;
  finished_at?: string;
  duration_ms?: number;
  error?: { code: string; message: string };
  /** SHA-256 of the resolved resources; the content lies in a blob. */
  snapshot: string;
  /** Why some of them are skipped on this agent, for people, by `module/id`: agents that skip the same share the snapshot. */
  skip_reasons?: Readonly<Record<string, string>>;
  /** How many resources the snapshot holds. */
  resource_count: number;
  timeout_seconds: number;
  allow_empty: boolean;
  /** How many things it may remove; absent = any number. */
  max_removals?: number;
  /** Set where nobody is there to see what it would remove: it leaves that as it is. */
  hold_removals?: true;
  /** What the call added to what assignments bring; a plan keeps it, to be worked out again. */
  extras?: { modules?: string[]; params?: { [key: string]: Json } };
  /** The plan that an apply carries out, and the SHA-256 of what it says. */
  plan_id?: string;
  plan_digest?: string;
  /** The apply whose baseline this one puts back; it does not begin where something else was asked of the machine since. */
  repeats?: string;
  /** Its place in the line of its agent, about the fleet time of its making; absent of those that an earlier version made. */
  queued_at?: number;
  /** Whether it waits for an agent that is not connected, and until when: a fleet time. */
  queue_until?: number;
  /** When it began, a fleet time; absent of those that an earlier version began. */
  begun_at?: number;
  /** When its result is no longer awaited, a fleet time; set when it starts. */
  deadline_at?: number;
  cancel_requested?: boolean;
  /** First and last sequence of its results and output in the log `operation_results`. */
  results?: {
    from: number;
    to: number;
    /** When they were written anew, because the operation is kept longer than others; milliseconds since 1970. */
    renewed_at?: number;
  };
}

/** What is believed of one machine, under its node_id. */
export interface AgentStateDocument {
  node_id: string;
  /** The newest apply that ended on the machine, however it ended. */
  last_apply: {
    operation_id: string;
    snapshot: string;
    at: string;
    resource_count: number;
    /** When it began, a fleet time. */
    begun_at?: number;
  };
  /** The newest apply that succeeded: what drift is measured against. */
  baseline?: { operation_id: string; snapshot: string; at: string };
}

/** What the operations feature keeps. */
export const operationCollections = {
  operations: {
    indexes: {
      by_node: ["node_id"],
      by_node_kind: ["node_id", "kind"],
      by_status: ["status"],
      by_rollout: ["rollout_id"],
      by_rollout_status: ["rollout_id", "status"],
      by_rollout_node: ["rollout_id", "node_id"],
      by_results: ["results.from"],
      by_snapshot: ["snapshot"],
      by_assignment: ["assignment"],
    },
    blobs: { snapshot: "snapshot" },
  },
  agent_states: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;

export const resultsLog = "operation_results";

export const operationLogs = {
  [resultsLog]: { chained: false },
} as const satisfies Record<string, LogDefinition>;
