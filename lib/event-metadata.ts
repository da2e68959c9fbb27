/** What each event says beside who did what to whom: the one table from the name of an event to its facts. */
import type { Permission, permissionTable } from "./callers/permissions.ts";
import type { Role } from "./callers/roles.ts";
import type { ErrorCode } from "./errors.ts";
import type { OperationStatus } from "./operations/schemas.ts";
import type { MemberStatus, RolloutStatus } from "./rollouts/schemas.ts";
import type { Counts } from "./state/result.ts";

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
  /** The first 100 of them. */
  node_ids: string[];
}

/** How an agent is decided about. */
export interface DecisionFacts {
  before: "pending" | "approved" | "rejected";
  after: "pending" | "approved" | "rejected";
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

/** The facts of each event by its name: the type of `metadata`. Instants are RFC 3339, UTC. Never a secret. */
export interface EventMetadata {
  "operator.added": { role: Role; /** Hex. */ public_key: string };
  "operator.removed": NoMetadata;
  "operator.roleChanged": { before: Role; after: Role };
  "operator.signedIn": NoMetadata;
  "operator.signInRefused": RefusalFacts & { code: ErrorCode };
  "operator.signedOut": NoMetadata;
  "access.denied": RefusalFacts & {
    permission: Permission;
    /** The least role that has it. */
    needed: (typeof permissionTable)[Permission];
  };
  "agent.enrolled": {
    public_key: string;
    /** Whether the record of the same key was removed once. */ removed_before: boolean;
  };
  "agent.approved": DecisionFacts;
  "agent.rejected": DecisionFacts;
  "agent.removed": NoMetadata;
  "agent.forgotten": {
    public_key: string;
    first_seen_at: string;
    last_seen_at: string;
    remote_address: string | null;
  };
  "discovery.announced": {
    /** Addresses, 100 at most. */
    sent_to: string[];
  };
  "agent.slotsTaken": {
    /** How many there are. */
    slots: number;
    /** The network with most of them. */
    network: string;
    /** How many that one has. */
    count: number;
  };
  "agent.attributesChanged": AttributeFacts;
  "agent.tagsChanged": { before: Record<string, string>; after: Record<string, string> };
  "agent.refused": {
    code: ErrorCode;
    message: string;
    remote_address: string | null;
    /** With `AGENT_ALREADY_CONNECTED`: the address of the connection that lives. */
    connected_address?: string | null;
  };
  "agent.connected": NoMetadata;
  "agent.offline": OfflineFacts & { /** When the first of them went. */ since: string };
  "agent.online": OfflineFacts;
  "agent.disconnected": { /** For people. */ reason: string };
  "module.uploaded": {
    revision: number;
    /** SHA-256 of what Viewers see of it, hex. */ content_hash: string;
  };
  "module.removed": NoMetadata;
  "assignment.created": AssignmentFacts;
  "assignment.updated": AssignmentFacts;
  "assignment.removed": AssignmentFacts;
  "rollout.started": RolloutFacts & { trigger: "manual" | "scheduled" };
  "rollout.paused": RolloutFacts;
  "rollout.resumed": RolloutFacts;
  "rollout.cancelled": RolloutFacts;
  "rollout.stopped": RolloutFacts & { /** The batch in progress, from 1. */ batch: number; failures: number };
  "rollout.finished": RolloutFacts & {
    status: RolloutStatus;
    /** Agents by status. */
    counts: Record<MemberStatus, number>;
  };
  "rollout.pruned": RolloutFacts & {
    status: RolloutStatus;
    /** It ended before this instant. */ before: string;
  };
  "schedule.skipped": { due_at: string; /** For people. */ reason: string };
  "operation.requested": {
    node_id: string;
    modules: { name: string; revision: number }[];
    /** The modules that it is about, those that it takes away among them; absent = all that the machine has. */
    scope?: string[];
    /** What it is to forget: `module/id`, or a module. */
    forgets?: string[];
    /** What it runs, the beginning. */
    command?: string;
  };
  "operation.finished": OperationFacts;
  "operation.failed": OperationFacts;
  "operation.cancelRequested": NoMetadata;
  "operation.pruned": {
    /** How many records. */
    removed: number;
    /** They ended before this instant; absent where they were more than are kept. */
    before?: string;
    /** How many are kept; absent where they were too old. */
    keep?: number;
  };
  "drift.checkRequested": { node_id: string; baseline_operation_id: string };
  "drift.detected": DriftFacts;
  "drift.enforced": EnforcementFacts & { /** The apply. */ operation_id: string };
  "drift.enforcementStopped": EnforcementFacts;
  "drift.resolved": DriftFacts;
  "terminal.opened": TerminalFacts & { /** Why, as the operator says. */ reason?: string };
  "terminal.watched": TerminalFacts;
  "terminal.closed": TerminalEndFacts;
  "terminal.interrupted": TerminalEndFacts;
  "terminal.pruned": { removed: number; /** They ended before this instant. */ before: string };
  "secret.created": SecretFacts;
  "secret.updated": SecretFacts & {
    /** The fields that were given, `value` among them. */ changed: string[];
  };
  "secret.removed": NoMetadata;
  "secret.expiring": SecretFacts & { expires_at: string };
  "secret.expired": SecretFacts & { expires_at: string };
  "secret.keyRotated": {
    /** Names the key that everything is encrypted with from now on; tells nothing of it. */
    key_id: string;
    /** How many values were encrypted anew, since the last start. */ rewrapped: number;
  };
  "storage.backedUp": NoMetadata;
  "storage.restored": { restored_at: string; /** Null where nobody can tell. */ backup_at: string | null };
  "storage.resumed": { schedules_passed_over: number };
  "storage.lossAccepted": {
    /** The first 100. */
    losses: {
      file: string;
      /** The byte from which on it is lost. */ offset: number;
      /** For people. */ what: string;
    }[];
  };
  "audit.pruned": {
    from_sequence: number;
    through_sequence: number;
    /** Hash of the last event that went, hex. */
    through_hash: string;
    /** Of the orchestrator, over sequence and hash of the last event that went; hex. */
    signature: string;
    before: string;
  };
  "audit.retentionChanged": { /** Days; null = for ever. */ before: number | null; after: number | null };
}
