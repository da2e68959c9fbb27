/**
 * What of the alarms that begin and end is told one by one, and what in sum. The alarms themselves are kept as they are either way.
 *
 *   told one by one ──more than the budget──▶ flapping ──30 minutes without a change, or a day──▶ told in sum
 *
 * That something flaps is told once, and while it does an alarm is told that is more severe than what was told of it. Where all of an agent
 * flaps, the first alarm that begins is told of each threshold that has had no part in it, too: so noise hides no other fault.
 */
import type { Context, EventInput } from "../context.ts";
import { severities, type Severity } from "../events.ts";
import { dayMs } from "../internal/durations.ts";
import { toJsonObject } from "../json.ts";
import type { Write } from "../storage/storage.ts";
import { flappingKey, type AlarmDocument, type FlappingDocument } from "./documents.ts";
import { TellingBudget } from "./telling-budget.ts";
import type { StoredFlapping, ThresholdBook } from "./threshold-book.ts";
import { flappedEvent } from "./threshold-view.ts";

const collection = "flapping_alarms";
/** How long nothing must have begun or ended, and after how long it is told in sum all the same, milliseconds. */
const quietMs = 1_800_000;
const longestMs = dayMs;
/** So much is told of a threshold that has no part in what flaps: that an alarm began, and that it ended. */
const mostWithoutPart = 2;

/** That an alarm began or ended, and the event that would tell of it. */
export interface TellableChange {
  kind: "began" | "ended";
  alarm: Readonly<AlarmDocument>;
  event: EventInput;
}

/** What is to be committed beside the alarms of an agent. */
export interface Telling {
  writes: Write[];
  events: EventInput[];
  /** The thresholds of what is told one by one, one each: {@link AlarmDamping.told} counts them once they are. */
  counted: string[];
}

interface Draft {
  value: FlappingDocument;
  /** 0 = it is new. */
  revision: number;
}

export class AlarmDamping {
  readonly #context: Context;
  readonly #book: ThresholdBook;
  readonly #budget: TellingBudget;

  constructor(context: Context, book: ThresholdBook) {
    this.#context = context;
    this.#book = book;
    this.#budget = new TellingBudget(context.clock);
  }

  /** What tells of changes of one agent's alarms. */
  tell(agent: { id: string; name: string }, changes: readonly TellableChange[]): Telling {
    const stored = this.#book.flappingOf(agent.id);
    const drafts = new Map(
      stored.map(({ key, value, revision }) => [key, { value: { ...value }, revision }]),
    );
    const events: EventInput[] = [];
    const counted: string[] = [];
    for (const change of changes) {
      const thresholdId = change.alarm.threshold_id;
      const known = drafts.get(agent.id) ?? drafts.get(flappingKey(agent.id, thresholdId));
      const scope = known ? null : this.#overdrawn(agent.id, thresholdId, counted);
      if (!known && scope === null) {
        events.push(change.event);
        counted.push(thresholdId);
        continue;
      }
      const { value } = known ?? this.#begin(drafts, change.alarm, scope!);
      const isTold = this.#takeIn(value, change, counted);
      if (!known) events.push(flappedEvent(value, agent.name));
      if (isTold) events.push(change.event);
      counted.push(...Array<string>(Number(!known) + Number(isTold)).fill(thresholdId));
    }
    return { writes: toWrites(stored, drafts), events, counted };
  }

  /** What {@link tell} said is committed. */
  told(nodeId: string, { counted }: Telling): void {
    for (const thresholdId of counted) this.#budget.spend(nodeId, thresholdId);
  }

  /** An agent is none of the fleet any more. */
  forget(nodeId: string): void {
    this.#budget.forget(nodeId);
  }

  /** What is to be told in sum by now. */
  settled(): StoredFlapping[] {
    const now = this.#context.fleetTime.now();
    const isDue = ({ value: { changed_at, since } }: StoredFlapping): boolean =>
      now - changed_at >= quietMs || now - since >= longestMs;
    return [...this.#book.flapping.values()].filter(isDue);
  }

  /** Whose budget is spent; null where there is some left. */
  #overdrawn(nodeId: string, thresholdId: string, counted: readonly string[]): "agent" | "threshold" | null {
    if (this.#budget.left(nodeId, null) - counted.length <= 0) return "agent";
    return this.#budget.left(nodeId, thresholdId) - countOf(counted, thresholdId) <= 0 ? "threshold" : null;
  }

  /** Takes a change into what flaps. Tells whether it is told by itself all the same. */
  #takeIn(value: FlappingDocument, { kind, alarm }: TellableChange, counted: readonly string[]): boolean {
    const isFirst = value.threshold_id === undefined && !this.#hasPart(value, alarm, counted);
    const isRise = isMore(alarm.severity, value.severity);
    const isTold = kind === "began" && (isFirst || isRise);
    value.changed_at = this.#context.fleetTime.now();
    if (isTold && isRise) value.severity = alarm.severity;
    if (isTold && isFirst) this.#addPart(value, alarm.threshold_id);
    if (!isTold) value[kind] += 1;
    return isTold;
  }

  /** Whether a threshold has part in it that all of an agent flaps. What was told lately says so, and is noted, as that is forgotten. */
  #hasPart(
    value: FlappingDocument,
    { node_id, threshold_id: id }: Readonly<AlarmDocument>,
    counted: readonly string[],
  ): boolean {
    if (value.part_ids?.includes(id)) return true;
    if (this.#budget.spent(node_id, id) + countOf(counted, id) <= mostWithoutPart) return false;
    this.#addPart(value, id);
    return true;
  }

  #addPart(value: FlappingDocument, thresholdId: string): void {
    value.part_ids = [...(value.part_ids ?? []).filter((id) => this.#book.has(id)), thresholdId];
  }

  #begin(drafts: Map<string, Draft>, alarm: Readonly<AlarmDocument>, scope: "agent" | "threshold"): Draft {
    const { node_id, threshold_id, threshold, severity } = alarm;
    const since = this.#context.fleetTime.now();
    const value: FlappingDocument = { node_id, severity, since, changed_at: since, began: 0, ended: 0 };
    if (scope === "threshold") Object.assign(value, { threshold_id, threshold });
    else
      for (const [key, { value: part }] of drafts) {
        value.began += part.began;
        value.ended += part.ended;
        value.since = Math.min(value.since, part.since);
        if (isMore(part.severity, value.severity)) value.severity = part.severity;
        if (part.threshold_id !== undefined) this.#addPart(value, part.threshold_id);
        drafts.delete(key);
      }
    const draft = { value, revision: 0 };
    drafts.set(flappingKey(node_id, scope === "agent" ? null : threshold_id), draft);
    return draft;
  }
}

function countOf(ids: readonly string[], id: string): number {
  return ids.filter((each) => each === id).length;
}

function isMore(severity: Severity, than: Severity): boolean {
  return severities.indexOf(severity) > severities.indexOf(than);
}

function toWrites(
  stored: readonly { key: string; revision: number }[],
  drafts: ReadonlyMap<string, Draft>,
): Write[] {
  const gone = stored.filter(({ key }) => !drafts.has(key));
  return [
    ...gone.map(({ key, revision }): Write => ({ kind: "delete", collection, key, expected: revision })),
    ...[...drafts].map(([key, { value, revision }]): Write => ({
      kind: "put",
      collection,
      key,
      value: toJsonObject(value),
      expected: revision,
    })),
  ];
}
