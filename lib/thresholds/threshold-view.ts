/** Thresholds and alarms as callers and events name them. */
import { toTimestamp } from "../clock.ts";
import type { EventInput } from "../context.ts";
import type { AlarmFacts, FlappingFacts, ThresholdFacts } from "../event-facts.ts";
import type { EventSubject } from "../events.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { AlarmDocument, FlappingDocument, ThresholdDocument } from "./documents.ts";
import type { Threshold } from "./schemas.ts";

/** Why an alarm is over. */
export type AlarmEnd = "recovered" | "not_measured" | "withdrawn";

/** The threshold as callers see it. */
export function toThreshold({
  value,
  revision,
}: Pick<StoredDocument<ThresholdDocument>, "value" | "revision">): Threshold {
  return { ...value, version: revision };
}

/** The threshold as events name it. */
export function thresholdSubject({ id, name }: Readonly<ThresholdDocument>): EventSubject {
  return { type: "threshold", id, name };
}

/** What every event of a change of a threshold says. */
export function thresholdFacts(document: Readonly<ThresholdDocument>): ThresholdFacts {
  const { metric, percent_of, condition, value, selector, severity, enabled } = document;
  return {
    metric,
    percent_of: percent_of ?? null,
    condition,
    value,
    selector: selector ?? null,
    severity,
    enabled,
  };
}

/** Tells that an alarm began. */
export function crossedEvent(
  alarm: Readonly<AlarmDocument>,
  threshold: Readonly<ThresholdDocument>,
  agentName: string,
): EventInput {
  const { condition, value: limit, percent_of } = threshold;
  const share = percent_of === undefined ? "" : ` % of ${percent_of}`;
  return {
    type: "metric.thresholdCrossed",
    severity: alarm.severity,
    target: { type: "agent", id: alarm.node_id, name: agentName },
    summary: `${alarm.threshold}: ${alarm.series} of ${agentName} is ${shown(alarm.value)}${share}, ${condition} ${shown(limit)}`,
    metadata: { ...alarmFacts(alarm), value: alarm.value, limit, since: alarm.since },
  };
}

/** Tells that an alarm is over. `value` is null where the series is not measured any more, or was not looked at. */
export function recoveredEvent(
  alarm: Readonly<AlarmDocument>,
  { value, reason, agentName }: { value: number | null; reason: AlarmEnd; agentName: string },
): EventInput {
  const how: Record<AlarmEnd, string> = {
    recovered: `is back at ${value === null ? "-" : shown(value)}`,
    not_measured: "is not measured any more",
    withdrawn: "is not watched any more",
  };
  return {
    type: "metric.thresholdRecovered",
    target: { type: "agent", id: alarm.node_id, name: agentName },
    summary: `${alarm.threshold}: ${alarm.series} of ${agentName} ${how[reason]}`,
    metadata: { ...alarmFacts(alarm), value, crossed_at: alarm.crossed_at, reason },
  };
}

/** Tells that alarms are not told one by one any more. */
export function flappedEvent(flapping: Readonly<FlappingDocument>, agentName: string): EventInput {
  return {
    type: "metric.alarmsFlapped",
    severity: flapping.severity,
    target: { type: "agent", id: flapping.node_id, name: agentName },
    summary: `${alarmsOf(flapping, agentName)} begin and end too often to be told one by one`,
    metadata: flappingFacts(flapping),
  };
}

/** Tells in sum what was not told one by one. `alarms` is how many there are now. */
export function settledEvent(
  flapping: Readonly<FlappingDocument>,
  { agentName, alarms }: { agentName: string; alarms: number },
): EventInput {
  const { began, ended, since } = flapping;
  const now = alarms === 1 ? "1 is there now" : `${alarms} are there now`;
  return {
    type: "metric.alarmsSettled",
    severity: alarms > 0 ? flapping.severity : "info",
    target: { type: "agent", id: flapping.node_id, name: agentName },
    summary: `${alarmsOf(flapping, agentName)} are told one by one again: ${began} more began and ${ended} ended meanwhile, ${now}`,
    metadata: { ...flappingFacts(flapping), since: toTimestamp(since), began, ended, alarms },
  };
}

function alarmsOf({ threshold }: Readonly<FlappingDocument>, agentName: string): string {
  return threshold === undefined ? `Alarms of ${agentName}` : `${threshold}: alarms of ${agentName}`;
}

function flappingFacts({ threshold_id, threshold }: Readonly<FlappingDocument>): FlappingFacts {
  return { threshold_id: threshold_id ?? null, threshold: threshold ?? null };
}

function alarmFacts({ threshold_id, threshold, series }: Readonly<AlarmDocument>): AlarmFacts {
  return { threshold_id, threshold, series };
}

/** A number as people read it: whole, or with three significant digits where it is below 100. */
function shown(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return String(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)));
}
