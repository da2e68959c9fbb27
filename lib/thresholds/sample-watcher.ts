/**
 * Looks at the samples of agents as they come: which series cross a threshold, and which recover.
 *
 *   samples ──courses──▶ crossed or recovered ──one commit──▶ alarm and event
 *
 * Only the process that holds an agent's connection hears its samples. Durations are remembered in memory alone; after a start they are read
 * from the samples that are stored. Where an alarm can't be written, the next sample tries again.
 */
import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import type { SelectorTarget } from "../selectors/selector.ts";
import type { SampleRow } from "../storage/storage.ts";
import type { AlarmChange, AlarmWriter, Pair } from "./alarm-writer.ts";
import type { ThresholdDocument } from "./documents.ts";
import { continued, countedOf, isCrossed, isRecovered, neededFor, noCourse, watchedOf } from "./judgement.ts";
import { pairKey, type ThresholdBook } from "./threshold-book.ts";

/** What comes later than this is history: it counts for durations, and nothing is told of it. */
const freshMs = 300_000;
/** Alarms of one agent: a machine that is beyond all limits is one machine. */
const mostAlarms = 50;
/** Alarms of one agent that begin or end at once, and in each minute: a value may cross its limit with each sample. */
const changesPerMinute = 60;

type Threshold = Readonly<ThresholdDocument>;
type Pairs = ReadonlyMap<string, Pair>;

interface Parts {
  agents: AgentService;
  book: ThresholdBook;
  writer: AlarmWriter;
}

export class SampleWatcher {
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #book: ThresholdBook;
  readonly #writer: AlarmWriter;
  readonly #changes: RateLimiter;
  /** The series that are beyond a limit or have an alarm, by agent and {@link pairKey}; of each agent whose stored samples were looked at. */
  readonly #pairs = new Map<string, Pairs>();
  /** What is under way for each agent: its samples are looked at one after the other. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(context: Context, { agents, book, writer }: Parts) {
    this.#context = context;
    this.#agents = agents;
    this.#book = book;
    this.#writer = writer;
    this.#changes = new RateLimiter(context.clock, changesPerMinute);
  }

  /** Looks at samples of an agent that were taken in. Never rejects. */
  look(nodeId: string, rows: readonly SampleRow[]): Promise<void> {
    if (rows.length === 0 || this.#book.size === 0) return Promise.resolve();
    const before = this.#running.get(nodeId) ?? Promise.resolve();
    const done: Promise<void> = before
      .then(() => this.#look(nodeId, rows))
      .catch((error: unknown) => {
        this.forget(nodeId);
        this.#context.logger.error("Samples were not compared with thresholds.", { node_id: nodeId, error });
      })
      .finally(() => {
        if (this.#running.get(nodeId) === done) this.#running.delete(nodeId);
      });
    this.#running.set(nodeId, done);
    return done;
  }

  /** Forgets what is known of an agent. */
  forget(nodeId: string): void {
    this.#pairs.delete(nodeId);
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #look(nodeId: string, rows: readonly SampleRow[]): Promise<void> {
    const thresholds = this.#book.of(this.#targetOf(nodeId));
    if (!this.#pairs.has(nodeId)) await this.#lookBack(nodeId, thresholds, rows[0]!);
    for (const row of rows) {
      this.#continue(nodeId, thresholds, row);
      if (row.at < this.#context.fleetTime.now() - freshMs) continue;
      const changes = this.#due(nodeId);
      if (changes.length > 0)
        await this.#context.tell("metric.thresholdCrossed", () => this.#writer.write(nodeId, changes));
    }
  }

  /** Null where it is not approved: nothing watches it. */
  #targetOf(nodeId: string): SelectorTarget | null {
    const { registry } = this.#agents;
    return registry.isApproved(nodeId) ? registry.index.get(nodeId) : null;
  }

  #continue(nodeId: string, thresholds: readonly Threshold[], row: SampleRow): void {
    const before = this.#pairs.get(nodeId);
    const alarms = this.#book.alarmsOf(nodeId);
    const after = new Map<string, Pair>();
    for (const threshold of thresholds) {
      for (const series of this.#watched(nodeId, threshold, row)) {
        const key = pairKey(threshold.id, series);
        const known = before?.get(key);
        // Another limit is another question.
        const course = known?.threshold === threshold ? known.course : noCourse();
        const value = countedOf(threshold, series, row);
        const next = continued(course, threshold, { at: row.at, value, gapMs: this.#gapMs });
        if (next.beyondSince !== null || alarms.has(key)) after.set(key, { threshold, series, course: next });
      }
    }
    this.#pairs.set(nodeId, after);
  }

  /** The series of a sample that a threshold watches, and those of which there is an alarm. */
  #watched(nodeId: string, threshold: Threshold, row: SampleRow): Set<string> {
    const watched = new Set(watchedOf(threshold, row));
    for (const { value } of this.#book.alarmsOf(nodeId).values())
      if (value.threshold_id === threshold.id) watched.add(value.series);
    return watched;
  }

  /** Longer than between two samples of a machine that measures, milliseconds. */
  get #gapMs(): number {
    return Math.max(60_000, 3_000 * this.#context.options.metricsIntervalSeconds);
  }

  /** What stood before the first sample that this process hears, as far as the durations reach back that may count. */
  async #lookBack(nodeId: string, thresholds: readonly Threshold[], first: SampleRow): Promise<void> {
    this.#continue(nodeId, thresholds, first);
    const begun = [...(this.#pairs.get(nodeId)?.values() ?? [])];
    this.#pairs.delete(nodeId);
    const { series: stored } = this.#context.storage;
    if (begun.length === 0 || !stored) return;
    const seconds = begun.map(({ threshold }) => Math.max(threshold.for_seconds, threshold.recovery_seconds));
    const series = [...new Set(begun.flatMap((pair) => neededFor(pair.threshold, pair.series)))];
    const from = first.at - Math.max(...seconds) * 1_000 - this.#gapMs;
    const found = await stored.query(nodeId, { from, to: first.at, series });
    for (const row of toRows(found)) this.#continue(nodeId, thresholds, row);
  }

  /** What begins and what ends with the newest sample. */
  #due(nodeId: string): AlarmChange[] {
    const alarms = this.#book.alarmsOf(nodeId);
    const pairs = this.#pairs.get(nodeId) ?? new Map<string, Pair>();
    const target = this.#targetOf(nodeId);
    const changes: AlarmChange[] = [];
    for (const [key, alarm] of alarms) {
      const pair = pairs.get(key);
      if (!this.#book.stands(alarm.value, target))
        changes.push({ ended: alarm, reason: "withdrawn", value: null });
      else if (pair && isRecovered(pair.course, pair.threshold)) {
        const { value } = pair.course;
        changes.push({ ended: alarm, reason: value === null ? "not_measured" : "recovered", value });
      }
    }
    let room = mostAlarms - alarms.size;
    for (const [key, pair] of pairs) {
      if (room === 0 || alarms.has(key) || !isCrossed(pair.course, pair.threshold)) continue;
      room -= 1;
      changes.push({ began: pair });
    }
    return changes.filter(() => this.#changes.tryTake(nodeId));
  }
}

function toRows(stored: Readonly<Record<string, { at: number; mean: number }[]>>): SampleRow[] {
  const rows = new Map<number, SampleRow>();
  for (const [name, points] of Object.entries(stored))
    for (const { at, mean } of points) {
      const row = rows.get(at) ?? { at, values: {} };
      row.values[name] = mean;
      rows.set(at, row);
    }
  return [...rows.values()].toSorted((one, other) => one.at - other.at);
}
