/** What each event says beside who did what to whom: the one table from the name of an event to its facts. */
import type { Permission, permissionTable } from "./callers/permissions.ts";
import type { Role } from "./callers/roles.ts";
import type { ErrorCode } from "./errors.ts";
import type {
  AlarmFacts,
  FlappingFacts,
  NoMetadata,
  RefusalFacts,
  AttributeFacts,
  OfflineFacts,
  DecisionFacts,
  ReplacementFacts,
  AssignmentFacts,
  RolloutFacts,
  OperationFacts,
  DriftEndFacts,
  DriftFacts,
  EnforcementFacts,
  SecretFacts,
  ChannelFacts,
  DeliveryFacts,
  TerminalFacts,
  TerminalEndFacts,
  ThresholdFacts,
  TokenUseFacts,
  WindowFacts,
  WindowTimeFacts,
} from "./event-facts.ts";
import type { MemberStatus, RolloutStatus } from "./rollouts/schemas.ts";

/** The facts of each event by its name: the type of `metadata`. Instants are RFC 3339, UTC. Never a secret. */
export interface EventMetadata {
  "operator.added": { role: Role; /** Hex. */ public_key: string };
  "operator.removed": NoMetadata;
  "operator.roleChanged": { before: Role; after: Role };
  "operator.managed": { /** Of the folder; null = none manages it any more. */ label: string | null };
  "operator.notificationsMuted": { muted_events: string[]; min_severity: string };
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
    /** Id of the enrolment token that it is approved by in the same moment; absent where it waits. */
    enrolment_token?: string;
  };
  "agent.approved": DecisionFacts & {
    /** Id of the enrolment token that it is approved by; absent where an operator did it. */
    enrolment_token?: string;
    /** The agent whose place it takes, in the same step. */
    replaces?: string;
  };
  "enrolmentToken.created": { uses: number; expires_at: string; tags: Record<string, string> };
  "enrolmentToken.used": TokenUseFacts & { /** The agent that is approved. */ node_id: string };
  "enrolmentToken.revoked": TokenUseFacts;
  "enrolmentToken.refused": RefusalFacts & {
    /** The token is none, has ended, or does not count for this agent: an operator has decided about its key, or it would have too many tags. */
    reason:
      "unknown" | "expired" | "revoked" | "used_up" | "agent_rejected" | "agent_removed" | "too_many_tags";
    /** The agent that came with it. */
    node_id: string;
    remote_address: string | null;
  };
  "agent.rejected": DecisionFacts & {
    /** The agent that takes its place, in the same step. */
    replaced_by?: string;
  };
  "agent.renamed": { before: string; after: string };
  "agent.replaced": {
    /** The agent that was replaced, as it was before. */
    replaced: ReplacementFacts;
    /** The agent that takes its place, as it was before. */
    by: ReplacementFacts;
    /** Whether the old one was connected. */
    forced: boolean;
  };
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
  "rollout.started": RolloutFacts & {
    trigger: "manual" | "scheduled";
    /** The rollout whose plan it applies; absent where it applies no plan. */
    plan_rollout_id?: string;
  };
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
    /** The rollout that it belongs to; absent where it belongs to none. */
    rollout_id?: string;
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
  "operation.cancelRequested": {
    node_id: string;
    /** The rollout that it belongs to; absent where it belongs to none. */
    rollout_id?: string;
  };
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
  "drift.resolved": DriftEndFacts;
  "terminal.opened": TerminalFacts & { /** Why, as the operator says. */ reason?: string };
  "terminal.watched": TerminalFacts;
  "terminal.transcriptRead": TerminalFacts & {
    /** Of it all (`asciicast`), its text, or the lines in which something stands (`search`). */
    form: "asciicast" | "text" | "search";
  };
  "terminal.closeRequested": TerminalFacts;
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
  "metric.thresholdCreated": ThresholdFacts;
  "metric.thresholdUpdated": ThresholdFacts;
  "metric.thresholdRemoved": ThresholdFacts;
  "metric.thresholdCrossed": AlarmFacts & {
    /** What was measured; in percent where the threshold counts so. */
    value: number;
    /** The limit as it was. */
    limit: number;
    /** Since when it is beyond. */
    since: string;
  };
  "metric.thresholdRecovered": AlarmFacts & {
    /** Null where it was not measured any more, or nobody looks at it. */
    value: number | null;
    crossed_at: string;
    reason: "recovered" | "not_measured" | "withdrawn";
  };
  "metric.alarmsFlapped": FlappingFacts;
  "metric.alarmsSettled": FlappingFacts & {
    /** Since when they were not told one by one. */
    since: string;
    /** Alarms that began meanwhile, and that ended, and were not told. */
    began: number;
    ended: number;
    /** Alarms of them that there are now. */
    alarms: number;
  };
  "maintenance.created": WindowTimeFacts;
  "maintenance.updated": WindowTimeFacts;
  "maintenance.removed": WindowTimeFacts;
  "maintenance.started": WindowFacts & { starts_at: string; /** As things stood then. */ ends_at: string };
  "maintenance.ended": WindowFacts & { starts_at: string; ends_at: string };
  "maintenance.overridden": {
    /** The window that the call passed over; null where none was active at the time of the call. */
    window_id: string | null;
    kind: "apply" | "run";
    /** How many agents it is for. */
    matched: number;
  };
  "secret.keyRotated": {
    /** Names the key that everything is encrypted with from now on; tells nothing of it. */
    key_id: string;
    /** How many values were encrypted anew, since the last start. */ rewrapped: number;
  };
  "channel.created": ChannelFacts;
  "channel.updated": ChannelFacts & { /** The fields that were given. */ changed: string[] };
  "channel.removed": NoMetadata;
  "channel.tested": { delivered: boolean; /** For people; absent where it was delivered. */ error?: string };
  "channel.redelivered": { delivery_id: string };
  "channel.failed": DeliveryFacts;
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
  "storage.full": NoMetadata;
  "audit.invalid": { /** Of the first event that does not fit. */ first_bad_sequence: number };
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
