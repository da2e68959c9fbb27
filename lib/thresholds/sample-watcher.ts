/**
 * Looks at the samples of agents as they come: which series cross a threshold, and which recover.
 *
 *   samples ──courses──▶ crossed or recovered ──one commit──▶ alarm and event
 *
 * Only the process that holds an agent's connection hears its samples. Durations are remembered in memory alone; after a start, and where the
 * agent may have been with another process meanwhile, they are read from the samples that are stored. Where an alarm can't be written, the next sample tries again.
 */
import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import type { SelectorTarget } from "../selectors/selector.ts";
import type { SampleRow } from "../storage/storage.ts";
import { pairsAfter, pairsFrom, type Watched } from "./agent-pairs.ts";
import type { AlarmChange, AlarmWriter, Pair } from "./alarm-writer.ts";
import { isCrossed, isRecovered } from "./judgement.ts";
import type { ThresholdBook } from "./threshold-book.ts";

/** What comes later than this is history: it counts for durations, and nothing is told of it. */
const freshMs = 300_000;
/** Alarms of one agent: a machine that is beyond all limits is one machine. */
const mostAlarms = 50;
/** Alarms of one agent that begin or end at once, and in each minute: a value may cross its limit with each sample. */
const changesPerMinute = 60;

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
  /** Those of them whose connection has ended since: another process may have heard them. */
  readonly #left = new Set<string>();
  /** Agents of which alarms could not be written. */
  readonly #unwritten = new Set<string>();
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
    if (rows.length === 0 || (this.#book.size === 0 && this.#book.alarmsOf(nodeId).size === 0))
      return Promise.resolve();
    return this.#next(nodeId, () => this.#look(nodeId, rows));
  }

  /** The connection of an agent has ended: what was heard of it so far is not all that there is when it comes again. */
  left(nodeId: string): void {
    void this.#next(nodeId, async () => {
      if (this.#pairs.has(nodeId)) this.#left.add(nodeId);
    });
  }

  /** Forgets what is known of an agent. */
  forget(nodeId: string): void {
    this.#pairs.delete(nodeId);
    this.#left.delete(nodeId);
    this.#unwritten.delete(nodeId);
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  /** Does something about an agent after all that is under way. Never rejects. */
  #next(nodeId: string, work: () => Promise<void>): Promise<void> {
    const before = this.#running.get(nodeId) ?? Promise.resolve();
    const done: Promise<void> = before
      .then(work)
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

  async #look(nodeId: string, rows: readonly SampleRow[]): Promise<void> {
    for (const row of this.#thatCount(nodeId, rows)) {
      const watched = this.#watched(nodeId);
      const before = this.#pairs.get(nodeId);
      const isKnown = before !== undefined && !this.#left.has(nodeId);
      const after = isKnown
        ? pairsAfter(before, row, watched)
        : await pairsFrom(this.#context.storage, nodeId, {
            before: before ?? new Map(),
            first: row,
            watched,
          });
      this.#left.delete(nodeId);
      this.#pairs.set(nodeId, after);
      // History comes by the thousand.
      if (rows.length > 1) await nextTurn();
      if (row.at < this.#context.fleetTime.now() - freshMs) continue;
      const changes = this.#due(nodeId);
      if (changes.length > 0) await this.#write(nodeId, changes);
    }
  }

  /** Of a long history only what a duration may reach back to. */
  #thatCount(nodeId: string, rows: readonly SampleRow[]): readonly SampleRow[] {
    const { thresholds, gapMs } = this.#watched(nodeId);
    const seconds = thresholds.map((threshold) =>
      Math.max(threshold.for_seconds, threshold.recovery_seconds),
    );
    const from = rows.at(-1)!.at - Math.max(0, ...seconds) * 1_000 - gapMs - freshMs;
    return rows.filter(({ at }) => at >= from);
  }

  #watched(nodeId: string): Watched {
    return {
      thresholds: this.#book.of(this.#targetOf(nodeId)),
      alarms: this.#book.alarmsOf(nodeId),
      gapMs: Math.max(60_000, 3_000 * this.#context.options.metricsIntervalSeconds),
    };
  }

  /** Null where it is not approved: nothing watches it. */
  #targetOf(nodeId: string): SelectorTarget | null {
    const { registry } = this.#agents;
    return registry.isApproved(nodeId) ? registry.index.get(nodeId) : null;
  }

  /** Nothing is lost where it fails: the next sample tries again, and that is logged once. */
  async #write(nodeId: string, changes: readonly AlarmChange[]): Promise<void> {
    try {
      await this.#writer.write(new Map([[nodeId, changes]]));
      this.#unwritten.delete(nodeId);
    } catch (error) {
      if (!this.#unwritten.has(nodeId))
        this.#context.logger.warn("Alarms of an agent are not written yet.", { node_id: nodeId, error });
      this.#unwritten.add(nodeId);
    }
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
        const { value, missing } = pair.course;
        const gone = pair.isReplaced ? "withdrawn" : "not_measured";
        changes.push(
          missing
            ? { ended: alarm, reason: gone, value: null }
            : { ended: alarm, reason: "recovered", value },
        );
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
