/** Groups of agents with equal changes, as they are kept. */
import { toJsonObject } from "../json.ts";
import type { OperationStatus } from "../operations/schemas.ts";
import type { Counts } from "../state/result.ts";
import type { Write } from "../storage/storage.ts";
import type { MemberOutcome } from "./schemas.ts";

/** Counts that are the same on every agent of a group. */
export type GroupCounts = Pick<Counts, "changed" | "would_change" | "unknown" | "removed" | "failed">;

/** Agents of a rollout with equal changes, under `rollout_id/changes`. Which these are their operations and refusals say. */
export interface GroupDocument {
  rollout_id: string;
  /** SHA-256 of how their operations ended and what these say, hex. */
  changes: string;
  /** How many. */
  agents: number;
  outcome: MemberOutcome;
  status: OperationStatus;
  error?: { code: string; message: string };
  counts: GroupCounts;
}

/** Where a group is kept. */
export function groupKey(rolloutId: string, changes: string): string {
  return `${rolloutId}/${changes}`;
}

export function toGroupPut(group: GroupDocument, expected?: number): Write {
  const key = groupKey(group.rollout_id, group.changes);
  const value = toJsonObject(group);
  return {
    kind: "put",
    collection: "rollout_groups",
    key,
    value,
    ...(expected !== undefined && { expected }),
  };
}
