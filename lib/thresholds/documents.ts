import type { Severity } from "../events.ts";
import type { ManagedBy } from "../internal/common-schemas.ts";
import type { CollectionDefinition } from "../storage/storage.ts";
import type { ThresholdCondition } from "./schemas.ts";

/** A threshold as stored, under its id (a UUIDv7, so that keys are in order of time). */
export interface ThresholdDocument {
  id: string;
  name: string;
  metric: string;
  /** Absent = what is measured counts as it is. */
  percent_of?: string;
  condition: ThresholdCondition;
  value: number;
  /** Absent = `value`. */
  recovery_value?: number;
  for_seconds: number;
  recovery_seconds: number;
  severity: Severity;
  /** Absent = the whole fleet. */
  selector?: string;
  enabled: boolean;
  /** Absent = no folder does. */
  managed_by?: ManagedBy;
  created_by: string;
  created_at: string;
  /** When it became what it is: what was measured before counts for nothing. */
  changed_at: string;
}

/** The ids of all thresholds, in one document: of two that are made at once one sees the other. */
export interface ThresholdListDocument {
  ids: string[];
}

/** That a series of an agent is beyond a threshold, under what names the three, so that it is there once; gone when it has recovered. */
export interface AlarmDocument {
  id: string;
  threshold_id: string;
  threshold: string;
  severity: Severity;
  node_id: string;
  agent_name: string;
  series: string;
  value: number;
  since: string;
  crossed_at: string;
}

/**
 * That alarms of an agent begin and end too often to be told one by one, under {@link flappingKey}; gone when they were told in sum. One of
 * a threshold becomes part of that of its agent where there is one.
 */
export interface FlappingDocument {
  node_id: string;
  /** Of which threshold; absent = of all of the agent. */
  threshold_id?: string;
  threshold?: string;
  /** Where all of the agent flaps, the thresholds that have part in it, or have had an alarm told since; absent = none. */
  part_ids?: string[];
  /** The most severe alarm of which operators were told. */
  severity: Severity;
  /** By fleet time, milliseconds since 1970. */
  since: number;
  /** When an alarm began or ended last, by fleet time, milliseconds since 1970. */
  changed_at: number;
  /** Alarms that began and ended since and were not told. */
  began: number;
  ended: number;
}

/** Names what flaps: a threshold on an agent, or with null the agent. */
export function flappingKey(nodeId: string, thresholdId: string | null): string {
  return thresholdId === null ? nodeId : `${nodeId}:${thresholdId}`;
}

/** What the thresholds feature keeps. */
export const thresholdCollections = {
  thresholds: { indexes: {} },
  threshold_lists: { indexes: {} },
  flapping_alarms: { indexes: {} },
  alarms: {
    indexes: {
      by_time: ["crossed_at"],
      by_threshold: ["threshold_id", "crossed_at"],
      by_node: ["node_id", "crossed_at"],
      by_severity: ["severity", "crossed_at"],
    },
  },
} as const satisfies Record<string, CollectionDefinition>;
