/** The parts that facts of events are made of. */
import type { WindowMode, WindowSchedule } from "./maintenance/schemas.ts";
import type { OperationStatus } from "./operations/schemas.ts";
import type { Counts } from "./state/result.ts";
import type { ThresholdCondition, ThresholdSeverity } from "./thresholds/schemas.ts";

/** Nothing beside the target and the summary. */
export type NoMetadata = Record<string, never>;

/** A refusal; very many in a minute are recorded as a number only. */
export interface RefusalFacts {
  /** How many like it were not recorded since the one before; absent where all were. */
  unrecorded?: number;
}

/** An attribute that an agent tells otherwise than before; null where it told, or tells, none. Texts are cut to 200 characters. */
export interface AttributeChange {
  name: string;
  before: string | number | boolean | null;
  after: string | number | boolean | null;
}

/** What has changed of what an agent tells of its machine. */
export interface AttributeFacts {
  /** By name, 50 at most. */
  changes: AttributeChange[];
  /** How many more there are; absent where these are all. */
  unrecorded?: number;
}

/** Agents that went, or came back, together. */
export interface OfflineFacts {
  /** How many. */
  agents: number;
  /** All of them, 100 at most. */
  node_ids: string[];
}

/** How an agent is decided about. */
export interface DecisionFacts {
  before: "pending" | "approved" | "rejected";
  after: "pending" | "approved" | "rejected";
}

/** One of two agents when one took the place of the other. */
export interface ReplacementFacts {
  node_id: string;
  /** Null where it had none yet. */
  name: string | null;
  hostname: string;
  status: "pending" | "approved" | "rejected";
  tags: Record<string, string>;
}

/** How often an enrolment token was used. */
export interface TokenUseFacts {
  /** How many machines it has approved, with this one. */
  used: number;
  /** How many it approves. */
  uses: number;
}

/** An assignment after the change, or as it was removed. */
export interface AssignmentFacts {
  selector: string;
  /** Names. */
  modules: string[];
}

/** What every event of a rollout says. */
export interface RolloutFacts {
  /** Name of what is rolled out; absent where it is a command. */
  assignment?: string;
  kind: "apply" | "plan" | "run";
  /** Of a command: all of it, up to 4,096 characters, but for its environment. */
  command?: string;
  /** How many agents it is for. */
  matched: number;
}

/** How an operation ended. */
export interface OperationFacts {
  node_id: string;
  operation_id: string;
  /** The rollout that it belongs to; absent where it belongs to none. */
  rollout_id?: string;
  status: OperationStatus;
  /** Resources by outcome. */
  counts: Counts;
}

/** What a drift check found. */
export interface DriftFacts {
  drift_id: string;
  /** Resources by outcome. */
  counts: Counts;
}

/** What found that a machine agrees with its baseline again. */
export interface DriftEndFacts extends Pick<DriftFacts, "counts"> {
  /** The check that found it; absent where an apply put it right. */
  drift_id?: string;
  /** The apply of everything that put it right; absent where a check found it. */
  operation_id?: string;
}

/** What is done, or no longer done, about drift. */
export interface EnforcementFacts {
  /** The check that found it. */
  drift_id: string;
  /** Name of the assignment that is enforced. */
  assignment: string;
  /** Applies since the machine was last in sync, this one included. */
  times: number;
}

/** Which secret, never what it is. */
export interface SecretFacts {
  /** The version of its value. */
  value_version: number;
}

/** What a channel is, never where it goes. */
export interface ChannelFacts {
  /** Of the channel, e.g. `webhook`. */
  channel_type: string;
  enabled: boolean;
  /** Patterns of the events that it tells. */
  events: string[];
}

/** How an attempt to deliver ended that did not succeed. */
export interface DeliveryFacts {
  delivery_id: string;
  /** For people; nothing that the other side said. */
  error: string;
  attempts: number;
}

/** Whose terminal it is. */
export interface TerminalFacts {
  session_id: string;
  node_id: string;
  /** Who opened it. */
  operator_id: string;
}

/** How a terminal ended, and what is kept of it. */
export interface TerminalEndFacts extends TerminalFacts {
  /** One word. */
  reason: string;
  /** Absent where the program did not end by itself. */
  exit_code?: number;
  recording: "complete" | "partial" | "missing";
  /** Size of the recording. */
  recording_bytes: number;
  /** SHA-256 over the SHA-256 of each MiB of the recording, hex; absent where there is none. */
  recording_hash?: string;
}

/** What a threshold watches. */
export interface ThresholdFacts {
  metric: string;
  /** The metric that it counts in percent of; null = it counts what is measured. */
  percent_of: string | null;
  condition: ThresholdCondition;
  value: number;
  /** Null = the whole fleet. */
  selector: string | null;
  severity: ThresholdSeverity;
  enabled: boolean;
}

/** Which threshold, and which series of the agent. */
export interface AlarmFacts {
  threshold_id: string;
  /** Its name. */
  threshold: string;
  series: string;
}

/** Which alarms of an agent begin and end too often to be told one by one. */
export interface FlappingFacts {
  /** Null = all of the agent. */
  threshold_id: string | null;
  /** Its name. */
  threshold: string | null;
}

/** Which agents a maintenance window is for, and what it does there. */
export interface WindowFacts {
  mode: WindowMode;
  /** Null = the whole fleet. */
  selector: string | null;
}

/** When a maintenance window is, too. */
export interface WindowTimeFacts extends WindowFacts {
  starts_at: string;
  /** Null = it recurs without end. */
  ends_at: string | null;
  /** Absent = once. */
  schedule?: WindowSchedule;
  /** When an occurrence was ended early; absent = none was. */
  occurrence_ended_at?: string;
}
