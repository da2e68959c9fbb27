/**
 * The thresholds and the alarms that there are, in memory, as the feed tells: each sample of each agent asks for them, and reads nothing.
 */
import type { Severity } from "../events.ts";
import { matchesSelector } from "../selectors/match.ts";
import type { Selector, SelectorTarget } from "../selectors/selector.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { AlarmDocument, FlappingDocument, ThresholdDocument } from "./documents.ts";
import { watches } from "./judgement.ts";

/** A threshold, and how its selector is read. */
export interface KnownThreshold {
  document: Readonly<ThresholdDocument>;
  /** Null = the whole fleet. */
  selector: Selector | null;
}

/** An alarm as stored. */
export type StoredAlarm = StoredDocument<AlarmDocument>;

/** What flaps, as stored. */
export type StoredFlapping = StoredDocument<FlappingDocument>;

/** Where an alarm is. */
interface Place {
  nodeId: string;
  pair: string;
  thresholdId: string;
  severity: Severity;
}

/** Names a series of an agent that a threshold watches. */
export function pairKey(thresholdId: string, series: string): string {
  return `${thresholdId} ${series}`;
}

export class ThresholdBook {
  readonly #thresholds = new Map<string, KnownThreshold>();
  /** By agent, then by threshold and series. */
  readonly #alarms = new Map<string, Map<string, StoredAlarm>>();
  /** By threshold, then by id. */
  readonly #ofThreshold = new Map<string, Map<string, StoredAlarm>>();
  /** Where an alarm is in these, by its id. */
  readonly #places = new Map<string, Place>();
  readonly #counts: Record<Severity, number> = { critical: 0, warning: 0, info: 0 };

  /** By {@link flappingKey}. */
  readonly #flapping = new Map<string, StoredFlapping>();
  /** The keys of {@link #flapping} by agent. */
  readonly #flappingOf = new Map<string, Set<string>>();

  /** How many thresholds there are. */
  get size(): number {
    return this.#thresholds.size;
  }

  /** Whether there is a threshold. */
  has(id: string): boolean {
    return this.#thresholds.has(id);
  }

  /** Takes a threshold in, or replaces what is known of it. */
  set(document: Readonly<ThresholdDocument>, selector: Selector | null): void {
    this.#thresholds.set(document.id, { document, selector });
  }

  /** Forgets a threshold. */
  delete(id: string): void {
    this.#thresholds.delete(id);
  }

  /** The thresholds that watch an agent. `target` is null where nothing is known of it. */
  of(target: SelectorTarget | null): Readonly<ThresholdDocument>[] {
    const found: Readonly<ThresholdDocument>[] = [];
    for (const { document, selector } of this.#thresholds.values())
      if (document.enabled && target !== null && (selector === null || matchesSelector(selector, target)))
        found.push(document);
    return found;
  }

  /** Whether there is still a threshold that watches what an alarm is about. */
  stands({ threshold_id, series }: Readonly<AlarmDocument>, target: SelectorTarget | null): boolean {
    const known = this.#thresholds.get(threshold_id);
    if (!known || !known.document.enabled || target === null || !watches(known.document, series))
      return false;
    return known.selector === null || matchesSelector(known.selector, target);
  }

  /** Takes an alarm in. */
  setAlarm(alarm: StoredAlarm): void {
    const { id, node_id, threshold_id, series, severity } = alarm.value;
    const before = this.#places.get(id);
    if (before) this.#counts[before.severity] -= 1;
    this.#counts[severity] += 1;
    const pair = pairKey(threshold_id, series);
    const alarms = this.#alarms.get(node_id) ?? new Map<string, StoredAlarm>();
    this.#alarms.set(node_id, alarms.set(pair, alarm));
    const all = this.#ofThreshold.get(threshold_id) ?? new Map<string, StoredAlarm>();
    this.#ofThreshold.set(threshold_id, all.set(id, alarm));
    this.#places.set(id, { nodeId: node_id, pair, thresholdId: threshold_id, severity });
  }

  /** Forgets an alarm. */
  deleteAlarm(id: string): void {
    const place = this.#places.get(id);
    if (!place) return;
    this.#places.delete(id);
    this.#counts[place.severity] -= 1;
    const alarms = this.#alarms.get(place.nodeId);
    alarms?.delete(place.pair);
    if (alarms?.size === 0) this.#alarms.delete(place.nodeId);
    const all = this.#ofThreshold.get(place.thresholdId);
    all?.delete(id);
    if (all?.size === 0) this.#ofThreshold.delete(place.thresholdId);
  }

  /** How many alarms there are, by severity; costs the same however many that is. */
  alarmCounts(): Record<Severity, number> {
    return { ...this.#counts };
  }

  /** The alarms of an agent, by {@link pairKey}. */
  alarmsOf(nodeId: string): ReadonlyMap<string, StoredAlarm> {
    return this.#alarms.get(nodeId) ?? none;
  }

  /** The alarms of a threshold, by their ids. */
  alarmsOfThreshold(id: string): ReadonlyMap<string, StoredAlarm> {
    return this.#ofThreshold.get(id) ?? none;
  }

  /** The thresholds, also removed ones, of which there are alarms. */
  get alarmed(): Iterable<string> {
    return this.#ofThreshold.keys();
  }

  /** Takes in what flaps. */
  setFlapping(flapping: StoredFlapping): void {
    const { key, value } = flapping;
    this.#flapping.set(key, flapping);
    this.#flappingOf.set(value.node_id, (this.#flappingOf.get(value.node_id) ?? new Set()).add(key));
  }

  /** Forgets what flapped. */
  deleteFlapping(key: string): void {
    const nodeId = this.#flapping.get(key)?.value.node_id;
    if (nodeId === undefined) return;
    this.#flapping.delete(key);
    const keys = this.#flappingOf.get(nodeId);
    keys?.delete(key);
    if (keys?.size === 0) this.#flappingOf.delete(nodeId);
  }

  /** All that flaps. */
  get flapping(): ReadonlyMap<string, StoredFlapping> {
    return this.#flapping;
  }

  /** What flaps of one agent. */
  flappingOf(nodeId: string): StoredFlapping[] {
    return [...(this.#flappingOf.get(nodeId) ?? [])].map((key) => this.#flapping.get(key)!);
  }

  /** Every alarm. */
  *alarms(): Generator<StoredAlarm> {
    for (const alarms of this.#alarms.values()) yield* alarms.values();
  }
}

const none: ReadonlyMap<string, StoredAlarm> = new Map();
