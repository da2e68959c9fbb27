import type { EventMetadata } from "./event-metadata.ts";

/** How much an event deserves attention. */
export type Severity = "info" | "warning" | "critical";

/** All of them, the least first. */
export const severities = ["info", "warning", "critical"] as const satisfies readonly Severity[];

/** The part of the product that an event belongs to; audit can be filtered by it. */
export type EventCategory =
  | "access"
  | "agent"
  | "module"
  | "assignment"
  | "operation"
  | "drift"
  | "metric"
  | "terminal"
  | "secret"
  | "channel"
  | "maintenance"
  | "audit"
  | "storage";

interface EventDefinition {
  category: EventCategory;
  severity: Severity;
  /** Whether it is written to the audit log, in the same commit as what it tells. */
  audited: boolean;
}

/**
 * Every event of the package, once. Audit, notifications and live streams all use these names, which are stable for ever.
 * `docs/events.md` explains each.
 */
export const eventTable = {
  "operator.added": { category: "access", severity: "info", audited: true },
  "operator.removed": { category: "access", severity: "warning", audited: true },
  "operator.roleChanged": { category: "access", severity: "warning", audited: true },
  "operator.managed": { category: "access", severity: "info", audited: true },
  "operator.notificationsMuted": { category: "access", severity: "info", audited: true },
  "operator.signedIn": { category: "access", severity: "info", audited: true },
  "operator.signInRefused": { category: "access", severity: "warning", audited: true },
  "operator.signedOut": { category: "access", severity: "info", audited: true },
  "access.denied": { category: "access", severity: "warning", audited: true },
  "agent.enrolled": { category: "agent", severity: "info", audited: true },
  "agent.approved": { category: "agent", severity: "info", audited: true },
  "agent.rejected": { category: "agent", severity: "warning", audited: true },
  "agent.renamed": { category: "agent", severity: "info", audited: true },
  "agent.replaced": { category: "agent", severity: "warning", audited: true },
  "agent.removed": { category: "agent", severity: "warning", audited: true },
  "agent.forgotten": { category: "agent", severity: "info", audited: true },
  "enrolmentToken.created": { category: "agent", severity: "info", audited: true },
  "enrolmentToken.used": { category: "agent", severity: "info", audited: true },
  "enrolmentToken.revoked": { category: "agent", severity: "warning", audited: true },
  "enrolmentToken.refused": { category: "agent", severity: "warning", audited: true },
  "agent.slotsTaken": { category: "agent", severity: "warning", audited: true },
  "agent.tagsChanged": { category: "agent", severity: "info", audited: true },
  "agent.attributesChanged": { category: "agent", severity: "info", audited: false },
  "agent.refused": { category: "agent", severity: "warning", audited: true },
  "discovery.announced": { category: "agent", severity: "info", audited: true },
  "agent.connected": { category: "agent", severity: "info", audited: false },
  "agent.offline": { category: "agent", severity: "warning", audited: false },
  "agent.online": { category: "agent", severity: "info", audited: false },
  "agent.disconnected": { category: "agent", severity: "info", audited: false },
  "module.uploaded": { category: "module", severity: "info", audited: true },
  "module.removed": { category: "module", severity: "info", audited: true },
  "assignment.created": { category: "assignment", severity: "info", audited: true },
  "assignment.updated": { category: "assignment", severity: "info", audited: true },
  "assignment.removed": { category: "assignment", severity: "info", audited: true },
  "rollout.started": { category: "assignment", severity: "info", audited: true },
  "rollout.paused": { category: "assignment", severity: "info", audited: true },
  "rollout.resumed": { category: "assignment", severity: "info", audited: true },
  "rollout.cancelled": { category: "assignment", severity: "warning", audited: true },
  "rollout.stopped": { category: "assignment", severity: "warning", audited: true },
  "rollout.finished": { category: "assignment", severity: "info", audited: true },
  "rollout.pruned": { category: "assignment", severity: "info", audited: true },
  "schedule.skipped": { category: "assignment", severity: "warning", audited: true },
  "operation.requested": { category: "operation", severity: "info", audited: true },
  "operation.finished": { category: "operation", severity: "info", audited: true },
  "operation.failed": { category: "operation", severity: "warning", audited: true },
  "operation.cancelRequested": { category: "operation", severity: "info", audited: true },
  "operation.pruned": { category: "operation", severity: "info", audited: true },
  "drift.checkRequested": { category: "drift", severity: "info", audited: true },
  "drift.detected": { category: "drift", severity: "warning", audited: true },
  "drift.enforced": { category: "drift", severity: "info", audited: true },
  "drift.enforcementStopped": { category: "drift", severity: "warning", audited: true },
  "drift.resolved": { category: "drift", severity: "info", audited: true },
  "metric.thresholdCreated": { category: "metric", severity: "info", audited: true },
  "metric.thresholdUpdated": { category: "metric", severity: "info", audited: true },
  "metric.thresholdRemoved": { category: "metric", severity: "warning", audited: true },
  "metric.thresholdCrossed": { category: "metric", severity: "warning", audited: false },
  "metric.thresholdRecovered": { category: "metric", severity: "info", audited: false },
  "metric.alarmsFlapped": { category: "metric", severity: "warning", audited: false },
  "metric.alarmsSettled": { category: "metric", severity: "info", audited: false },
  "terminal.opened": { category: "terminal", severity: "info", audited: true },
  "terminal.watched": { category: "terminal", severity: "warning", audited: true },
  "terminal.transcriptRead": { category: "terminal", severity: "info", audited: true },
  "terminal.closeRequested": { category: "terminal", severity: "info", audited: true },
  "terminal.closed": { category: "terminal", severity: "info", audited: true },
  "terminal.interrupted": { category: "terminal", severity: "warning", audited: true },
  "terminal.pruned": { category: "terminal", severity: "info", audited: true },
  "secret.created": { category: "secret", severity: "info", audited: true },
  "secret.updated": { category: "secret", severity: "info", audited: true },
  "secret.removed": { category: "secret", severity: "warning", audited: true },
  "secret.expiring": { category: "secret", severity: "warning", audited: true },
  "secret.expired": { category: "secret", severity: "warning", audited: true },
  "secret.keyRotated": { category: "secret", severity: "warning", audited: true },
  "channel.created": { category: "channel", severity: "info", audited: true },
  "channel.updated": { category: "channel", severity: "info", audited: true },
  "channel.removed": { category: "channel", severity: "warning", audited: true },
  "channel.tested": { category: "channel", severity: "info", audited: true },
  "channel.redelivered": { category: "channel", severity: "info", audited: true },
  "channel.failed": { category: "channel", severity: "warning", audited: true },
  "maintenance.created": { category: "maintenance", severity: "info", audited: true },
  "maintenance.updated": { category: "maintenance", severity: "info", audited: true },
  "maintenance.removed": { category: "maintenance", severity: "warning", audited: true },
  "maintenance.started": { category: "maintenance", severity: "info", audited: true },
  "maintenance.ended": { category: "maintenance", severity: "info", audited: true },
  "maintenance.overridden": { category: "maintenance", severity: "warning", audited: true },
  "storage.backedUp": { category: "storage", severity: "warning", audited: true },
  "storage.restored": { category: "storage", severity: "critical", audited: true },
  "storage.resumed": { category: "storage", severity: "warning", audited: true },
  "storage.lossAccepted": { category: "storage", severity: "critical", audited: true },
  "storage.full": { category: "storage", severity: "critical", audited: true },
  "audit.invalid": { category: "audit", severity: "critical", audited: true },
  "audit.pruned": { category: "audit", severity: "warning", audited: true },
  "audit.retentionChanged": { category: "audit", severity: "warning", audited: true },
} as const satisfies Record<string, EventDefinition>;

/** A stable name of something that happened. */
export type EventType = keyof typeof eventTable;

/** Who did it, or what it was done to. */
export interface EventSubject {
  type:
    | "operator"
    | "agent"
    | "enrolmentToken"
    | "module"
    | "assignment"
    | "rollout"
    | "operation"
    | "drift"
    | "terminal"
    | "threshold"
    | "secret"
    | "channel"
    | "maintenance"
    | "system"
    | "anonymous"
    | "audit";
  id: string;
  /** What people call it. */
  name: string;
}

/** What every event says, and the facts of the one. */
export interface EventFields<Type extends EventType> {
  /** UUIDv7. */
  id: string;
  /** RFC 3339, UTC. */
  timestamp: string;
  event_type: Type;
  severity: Severity;
  actor: EventSubject;
  target?: EventSubject;
  /** One sentence for people. */
  summary: string;
  /** Facts for programs, as {@link EventMetadata} has them for the type; never a secret. */
  metadata: EventMetadata[Type];
  request_id?: string;
  source_address?: string;
}

/**
 * Something that happened, as it is given to the audit log and to listeners: one type for each `event_type`, so that a `switch` over
 * that knows what `metadata` holds. With a type or several, events of these alone.
 */
export type OrchestratorEvent<Type extends EventType = EventType> = {
  [Each in Type]: EventFields<Each>;
}[Type];

/** The agents that an event is about, by id: what it was done to, and those that its facts name. */
export function concernedAgents({
  target,
  metadata,
}: Pick<OrchestratorEvent, "target" | "metadata">): string[] {
  const ids = new Set(target?.type === "agent" ? [target.id] : []);
  if ("node_ids" in metadata) for (const id of metadata.node_ids) ids.add(id);
  if ("node_id" in metadata) ids.add(metadata.node_id);
  if ("replaced" in metadata) ids.add(metadata.replaced.node_id);
  return [...ids];
}

/** Hears of events after they are on disk. What it does is its own: where it throws, or gives a promise that is rejected, that is logged. */
export type EventListener<Type extends EventType = EventType> = (event: OrchestratorEvent<Type>) => void;
