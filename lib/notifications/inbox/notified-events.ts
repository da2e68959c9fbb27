/** Which events operators are notified of: those that somebody may have to do something about, and that it is over. */
import type { EventType, OrchestratorEvent } from "../../events.ts";

interface Notified {
  /** What several that happened together are called; absent = each is told by itself. */
  many?: (count: number) => string;
  /** What one agent of an event is called that tells of many; absent where events tell of one. */
  one?: (agent: string) => string;
  /** Of what alone events are told together, and its name, which goes before {@link many}; absent = of the type. */
  by?: (event: OrchestratorEvent) => { id: string; name: string };
  /** Which of them; absent = all. */
  when?: (event: OrchestratorEvent) => boolean;
}

/** The table, by the type of the event. */
export const notifiedEvents: Readonly<Partial<Record<EventType, Notified>>> = {
  "operator.added": {},
  "operator.removed": {},
  "operator.roleChanged": {},
  "agent.enrolled": {
    // What comes with a token that counts does not wait for anybody.
    when: (event) => event.event_type === "agent.enrolled" && event.metadata.enrolment_token === undefined,
    many: (count) => `${count} agents wait to be approved`,
  },
  "agent.slotsTaken": {},
  "agent.refused": {
    // One key on two machines; other refusals are what strangers cause.
    when: (event) =>
      event.event_type === "agent.refused" && event.metadata.code === "AGENT_ALREADY_CONNECTED",
    many: (count) => `${count} times a second machine came with the key of another`,
  },
  "agent.offline": {
    many: (count) => `${count} agents are offline`,
    one: (agent) => `Agent ${agent} is offline`,
  },
  "agent.online": {
    many: (count) => `${count} agents are online again`,
    one: (agent) => `Agent ${agent} is online again`,
  },
  "rollout.stopped": {},
  "schedule.skipped": { many: (count) => `${count} scheduled runs were skipped` },
  "operation.failed": { many: (count) => `${count} operations failed` },
  "drift.detected": { many: (count) => `${count} agents have drifted` },
  "drift.enforcementStopped": { many: (count) => `Drift comes back on ${count} agents` },
  "drift.resolved": { many: (count) => `${count} agents are in sync again` },
  "metric.thresholdCrossed": { many: (count) => `${count} alarms`, by: thresholdOf },
  "metric.thresholdRecovered": { many: (count) => `${count} alarms are over`, by: thresholdOf },
  "metric.alarmsFlapped": {
    many: (count) => `${count} times alarms begin and end too often to be told one by one`,
  },
  "metric.alarmsSettled": { many: (count) => `${count} times alarms are told one by one again` },
  "terminal.interrupted": { many: (count) => `${count} terminals were interrupted` },
  "secret.expiring": { many: (count) => `${count} secrets expire soon` },
  "secret.expired": { many: (count) => `${count} secrets have expired` },
  "secret.keyRotated": {},
  "channel.failed": {},
  "storage.restored": {},
  "storage.lossAccepted": {},
  "storage.full": {},
  "audit.invalid": {},
  "audit.pruned": {},
  "audit.retentionChanged": {},
};

function thresholdOf({ metadata }: OrchestratorEvent): { id: string; name: string } {
  return "series" in metadata
    ? { id: metadata.threshold_id, name: metadata.threshold }
    : { id: "", name: "" };
}

/** Whether operators are notified of an event. */
export function isNotified(event: OrchestratorEvent): boolean {
  const notified = notifiedEvents[event.event_type];
  return notified !== undefined && (notified.when?.(event) ?? true);
}
