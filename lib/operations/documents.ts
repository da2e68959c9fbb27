import type { Json } from "../json.ts";
import type { NamedModule } from "../module-format/module-reference.ts";
import type { StoredCounts } from "../state/result.ts";
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
  /** Names of the modules that it is about, those that it takes away among them; absent = all that the machine has. */
  scope?: string[];
  /** The assignments that bring its modules, by name of the module. */
  sources?: { [module: string]: readonly string[] };
  /** What the call named: from its end on it stays wanted on the agent. */
  named?: { [module: string]: NamedModule };
  /** What it took for given when it was asked for; it does not begin where that is otherwise. */
  grounds?: Grounds;
  /** Of a forgetting: what is forgotten, `module/id` or a module. */
  names?: string[];
  /** Of a run: the beginning of what it runs. */
  command?: string;
  /** Of a run that has ended: what its command exited with, and what of its end it may have in common with other runs. */
  exit_code?: number;
  /** SHA-256 of what it printed. */
  output_hash?: string;
  /** Of a plan or an apply of a rollout that has ended: the group of those that ended alike; see `digestOfEnd`. */
  changes?: string;
  counts: StoredCounts;
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
  /** Set where it holds placeholders of secrets, which are sealed to the agent when it is sent. */
  has_secrets?: true;
  /** How many resources the snapshot holds. */
  resource_count: number;
  timeout_seconds: number;
  allow_empty: boolean;
  /** How many things it may remove; absent = any number. */
  max_removals?: number;
  /** Set where nobody is there to see what it would remove: it leaves that as it is. */
  hold_removals?: true;
  /** What the call added to what assignments bring; a plan keeps it, to be worked out again. */
  extras?: { modules?: string[]; remove_modules?: string[]; params?: { [key: string]: Json } };
  /** The plan that an apply carries out, and the SHA-256 of what it says. */
  plan_id?: string;
  plan_digest?: string;
  /** The apply whose baseline this one puts back; it does not begin where something else was asked of the machine since. */
  repeats?: string;
  /** The snapshot of that baseline when it was asked for. */
  repeats_snapshot?: string;
  /** Its place in the line of its agent, about the fleet time of its making; absent of those that an earlier version made. */
  queued_at?: number;
  /** Set where an Admin has it begin in spite of maintenance windows. */
  override_window?: true;
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
  /** The newest apply that ended on the machine, however it ended; absent where nobody knows how the first did. */
  last_apply?: {
    operation_id: string;
    snapshot: string;
    at: string;
    /** 0 where nothing is applied any more. */
    resource_count: number;
    /** When it began, a fleet time. */
    begun_at?: number;
  };
  /** The newest apply that put in place what it was asked for: since then drift is measured against what is applied in all. */
  baseline?: {
    operation_id: string;
    /** SHA-256 of all that is applied since then, of every module; the content lies in a blob. */
    snapshot: string;
    at: string;
  };
  /** The secrets in that baseline, each with the oldest version of its value. */
  secrets?: { [name: string]: number };
  /** What is known of each module, by name. */
  modules?: { [module: string]: AppliedModule };
  /** Modules that calls named for this agent: they stay wanted, whoever applies later. */
  named?: { [module: string]: NamedModule };
  /** Set where it took the place of another: what it was named itself before, and what was named for the place. */
  named_over?: {
    from: string;
    own: { [module: string]: NamedModule };
    place: { [module: string]: NamedModule };
  };
}

/** What an apply took for given of its agent when it was asked for. */
export interface Grounds {
  /** Modules of which it counts what calls named; absent = all. */
  about?: string[];
  /** Set where of that only the values of params count, because the call says the rest itself. */
  only_params?: true;
  /** What calls had named, as far as it counts. */
  named: { [module: string]: NamedModule };
  /** The newest apply about each module that it takes away. */
  removed: { [module: string]: string };
  /** Applies of what a call removes that were asked for before it, and had not ended: the call knew of them. */
  ahead?: string[];
}

/** What is known of one module of an agent. */
export interface AppliedModule {
  /** In the newest apply about it. */
  revision: number;
  /** The newest apply about it: its results tell what is in place. */
  operation_id: string;
  /** The assignments that brought it. */
  assignments: readonly string[];
  /** The newest apply that put all of it in place, or was to bring no more than that; absent = none has. */
  applied?: { revision: number; operation_id: string };
  /** When that apply began, a fleet time. */
  begun_at?: number;
  /** Set where an apply about it ended without telling what it did. */
  doubtful?: true;
  /** Ids of its resources that were forgotten since. */
  forgotten?: string[];
  /** Set where it was to be taken away, and some of it is still there. */
  leaving?: true;
}

/** What the operations feature keeps. */
export const operationCollections = {
  operations: {
    indexes: {
      by_node: ["node_id"],
      by_node_kind: ["node_id", "kind"],
      by_status: ["status"],
      by_deadline: ["status", "deadline_at"],
      by_expiry: ["status", "queue_until"],
      by_rollout: ["rollout_id"],
      by_rollout_status: ["rollout_id", "status"],
      by_rollout_node: ["rollout_id", "node_id"],
      by_rollout_changes: ["rollout_id", "changes"],
      by_results: ["results.from"],
      by_snapshot: ["snapshot"],
      by_assignment: ["assignment"],
    },
    blobs: { snapshot: "snapshot" },
  },
  agent_states: {
    indexes: { by_baseline: ["baseline.snapshot"] },
    blobs: { "baseline.snapshot": "snapshot" },
  },
} as const satisfies Record<string, CollectionDefinition>;

export const resultsLog = "operation_results";

export const operationLogs = {
  [resultsLog]: { chained: false },
} as const satisfies Record<string, LogDefinition>;
