import type { RolloutStrategy } from "../assignments/schemas.ts";
import type { CallOrigin } from "../callers/caller.ts";
import type { EventSubject } from "../events.ts";
import type { CollectionDefinition } from "../storage/storage.ts";
import type { MemberStatus, Recap, RolloutStatus } from "./schemas.ts";

/** How many agents have each status. */
export type MemberCounts = Record<MemberStatus, number>;

/** A rollout as stored, under its id (a UUIDv7, so that keys are in order of time). Its agents lie in a blob. */
export interface RolloutDocument {
  rollout_id: string;
  /** Absent where it is a command. */
  assignment?: string;
  kind: "apply" | "plan" | "run";
  /** Of a command: what it runs, up to 4,096 characters; the whole of it lies with the agents. */
  command?: string;
  /** How long it may run on an agent; absent = as the option says. */
  timeout_seconds?: number;
  trigger: "manual" | "scheduled";
  status: RolloutStatus;
  reason?: string;
  /** How it ends once nothing runs any more; there while it is stopping. */
  ending?: "cancelled" | "failed";
  /** Whose wish it is that a command is ended where it runs, and where they called from; absent = what runs is finished. */
  cancelled_by?: EventSubject & { origin?: CallOrigin };
  strategy: RolloutStrategy;
  /** Set where an Admin has it begin in spite of maintenance windows. */
  override_window?: true;
  /** Set where nobody is there to see what it would remove: agents leave that as it is. */
  hold_removals?: true;
  modules: { name: string; revision: number }[];
  matched: number;
  batches: number;
  /** The batch in progress, from 0. */
  batch: number;
  /** How many agents of the list were begun: each has an operation, or a refusal. */
  begun: number;
  /** When the batch in progress may begin, a fleet time; until it does. */
  not_before?: number;
  /** As of the last write; exact once it has ended. */
  counts: MemberCounts;
  /** What its operations came to, as of the last write; absent of a command, and of those that an earlier version ended. */
  recap?: Recap;
  /** The rollout whose plan it applies, and nothing else. */
  plan?: string;
  /** Agents that match now and are not in that plan: they are left alone. Absent = none. */
  unplanned?: { count: number; agents: { node_id: string; name: string }[] };
  /** SHA-256 of the list of agents. */
  targets: string;
  requested_by: EventSubject;
  /** The epoch in which it was made; absent = before there were epochs. */
  epoch?: number;
  created_at: string;
  finished_at?: string;
}

/** Why an agent of a rollout got no operation, under `rollout_id/node_id`. */
export interface RefusalDocument {
  rollout_id: string;
  node_id: string;
  error: { code: string; message: string };
  /** The group of those that were refused for the same reason; absent = before there were groups. */
  changes?: string;
}

/** What the rollouts feature keeps. */
export const rolloutCollections = {
  rollouts: {
    indexes: { by_status: ["status"], by_assignment: ["assignment"], by_targets: ["targets"] },
    blobs: { targets: "rollout" },
  },
  rollout_refusals: {
    indexes: { by_rollout: ["rollout_id"], by_rollout_changes: ["rollout_id", "changes"] },
  },
  rollout_groups: { indexes: { by_agents: ["rollout_id", "agents"] } },
} as const satisfies Record<string, CollectionDefinition>;
