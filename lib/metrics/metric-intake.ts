/**
 * Takes in what agents measure. Only the process that holds an agent's connection hears its samples, so only it takes them in.
 *
 *   message ──rules──▶ series of the storage ──durable──▶ acknowledged: the agent forgets it
 *
 * What is durable is asked once for all agents that wait for it, a second after the first of them at the latest. An agent that sends one sample
 * at a time is acknowledged once a minute: a command costs a signature, and the samples of a minute cost the agent nothing. What was
 * not acknowledged comes again, after the next connection or three minutes, and is known by its time.
 */
import { toTimestamp, type Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { hourMs } from "../internal/durations.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import type { SampleRow } from "../storage/storage.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";
import { noSamples, takeSamples, type SampleState } from "./sample-rules.ts";

/** Messages with samples of one agent a minute that are read. */
const messagesPerMinute = 120;
/** How long what waits to be durable waits for more. */
const syncMs = 1_000;
/** How long an agent that sends one sample at a time goes without: about a minute. */
const acknowledgedMs = 50_000;
/** How long an acknowledgement counts. */
const noticeMs = 300_000;

/** What is counted on when an agent comes again. */
type KeptNames = Pick<SampleState, "names" | "missing" | "newNamesLeft" | "sinceMs">;

interface AgentState extends SampleState {
  /** When it was last acknowledged, by the monotonic clock. */
  acknowledgedMs: number;
}

/** Takes in what agents measure. */
export class MetricIntake {
  readonly #context: Context;
  readonly #messages: RateLimiter;
  readonly #complaints: RateLimiter;
  /** The agents that sent samples over the connection they have. */
  readonly #agents = new Map<string, AgentState>();
  /** The names of agents that left within the hour, the first to leave first: to come again makes none of them new, and no count begin anew. */
  readonly #left = new Map<string, KeptNames & { leftMs: number }>();
  /** Agents of which it is being read what is stored; another mark, or none, where the connection was gone meanwhile. */
  readonly #reading = new Map<string, symbol>();
  /** The newest sample that was seen of an agent of which some were not taken, or not read. */
  readonly #missing = new Map<string, number>();
  /** Up to which time samples of an agent wait to be durable. */
  #waiting = new Map<string, number>();
  #timer: Timer | null = null;
  #syncing: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(context: Context) {
    this.#context = context;
    this.#messages = new RateLimiter(context.clock, messagesPerMinute);
    this.#complaints = new RateLimiter(context.clock, 1);
  }

  /** Whether samples of an agent would be taken now: asked before a message is read. One that is not read is not acknowledged. */
  isWanted(nodeId: string): boolean {
    const { series } = this.#context.storage;
    // While they can't be kept, agents keep them.
    const isWanted = (series?.fault?.() ?? null) === null && this.#messages.tryTake(nodeId);
    if (!isWanted && !this.#missing.has(nodeId))
      this.#missing.set(nodeId, this.#agents.get(nodeId)?.lastAt ?? -Infinity);
    return isWanted;
  }

  /**
   * Takes samples of an agent, and tells which were taken. Where they can't be stored they are not acknowledged, and the agent sends them
   * again.
   */
  async take(nodeId: string, message: MessageOf<AgentMessage, "metrics">): Promise<readonly SampleRow[]> {
    const { logger } = this.#context;
    if (message.gap)
      logger.info("An agent dropped samples: they were too old, or too many, to keep.", { node_id: nodeId });
    if (this.#isBehind(nodeId, message)) return [];
    try {
      return await this.#take(nodeId, message.samples);
    } catch (error) {
      logger.error("Metrics of an agent could not be taken in.", { node_id: nodeId, error });
      this.#keepNames(nodeId);
      this.#agents.delete(nodeId);
      this.#missing.set(nodeId, timesOf(message).last);
      return [];
    }
  }

  /**
   * Whether samples before these are missing: they could not be stored, or were not read. An acknowledgement is of all up to a time, so these are
   * left to the agent too, until it goes back to the oldest that it has. What it sends again was here already: nothing else is known by that.
   */
  #isBehind(nodeId: string, message: MessageOf<AgentMessage, "metrics">): boolean {
    const missing = this.#missing.get(nodeId);
    if (missing === undefined) return false;
    const { first, last } = timesOf(message);
    const isBehind = first > missing;
    if (isBehind) this.#missing.set(nodeId, last);
    else this.#missing.delete(nodeId);
    return isBehind;
  }

  /** The connection of an agent is gone: with the next one it may have been elsewhere meanwhile. */
  forget(nodeId: string): void {
    this.#keepNames(nodeId);
    this.#reading.delete(nodeId);
    this.#agents.delete(nodeId);
    this.#missing.delete(nodeId);
    this.#waiting.delete(nodeId);
  }

  /** An agent was removed, and its series are: whoever comes with its key brings names as one that was never here. */
  remove(nodeId: string): void {
    this.forget(nodeId);
    this.#left.delete(nodeId);
  }

  /** Acknowledges nothing any more, and resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#syncing;
  }

  async #take(
    nodeId: string,
    samples: MessageOf<AgentMessage, "metrics">["samples"],
  ): Promise<readonly SampleRow[]> {
    const { storage, clock, logger } = this.#context;
    const state = await this.#stateOf(nodeId);
    // Not acknowledged: where it was not removed, the agent sends them again.
    if (state === null) return [];
    const { rows, through, leftOut } = takeSamples(samples, state, this.#now());
    if (leftOut.samples + leftOut.values > 0 && this.#complaints.tryTake(nodeId))
      logger.warn("Metrics of an agent were left out.", { node_id: nodeId, ...leftOut });
    if (rows.length > 0) await storage.series?.append(nodeId, rows);
    if (through === null) return rows;
    const isDue = clock.monotonic() - state.acknowledgedMs >= acknowledgedMs;
    if (samples.length > 1 || isDue || this.#waiting.has(nodeId)) this.#await(nodeId, through);
    return rows;
  }

  #now(): { nowMs: number; monotonicMs: number; intervalMs: number } {
    const { clock, fleetTime, options } = this.#context;
    const intervalMs = options.metricsIntervalSeconds * 1_000;
    return { nowMs: fleetTime.now(), monotonicMs: clock.monotonic(), intervalMs };
  }

  /**
   * What is known of an agent; with its first message of a connection, from the newest sample that is stored. Null where it left, or was
   * removed, while that was read.
   */
  async #stateOf(nodeId: string): Promise<AgentState | null> {
    const known = this.#agents.get(nodeId);
    if (known) return known;
    const { storage, clock } = this.#context;
    const mark = Symbol(nodeId);
    this.#reading.set(nodeId, mark);
    const lastAt = (await storage.series?.newest(nodeId))?.at ?? -Infinity;
    if (this.#reading.get(nodeId) !== mark) return null;
    this.#reading.delete(nodeId);
    const kept: KeptNames = this.#left.get(nodeId) ?? noSamples(lastAt, clock.monotonic());
    const { names, missing, newNamesLeft, sinceMs } = kept;
    const state = { lastAt, names, missing, newNamesLeft, sinceMs, acknowledgedMs: -Infinity };
    this.#agents.set(nodeId, state);
    return state;
  }

  #keepNames(nodeId: string): void {
    const leftMs = this.#context.clock.monotonic();
    for (const [other, left] of this.#left) {
      if (leftMs - left.leftMs < hourMs) break;
      this.#left.delete(other);
    }
    const state = this.#agents.get(nodeId);
    if (!state) return;
    const { names, missing, newNamesLeft, sinceMs } = state;
    this.#left.delete(nodeId);
    this.#left.set(nodeId, { names, missing, newNamesLeft, sinceMs, leftMs });
  }

  #await(nodeId: string, through: number): void {
    this.#waiting.set(nodeId, Math.max(this.#waiting.get(nodeId) ?? -Infinity, through));
    if (this.#isStopped) return;
    this.#timer ??= this.#context.clock.setTimer(syncMs, () => {
      this.#timer = null;
      this.#syncing = this.#syncing.then(() => this.#acknowledge());
    });
  }

  /** Has everything that was taken made durable, and tells the agents. */
  async #acknowledge(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = new Map();
    try {
      await this.#context.storage.series?.sync();
    } catch (error) {
      // They send it again.
      this.#context.logger.debug("Metrics are not durable yet.", { error });
      return;
    }
    for (const [nodeId, through] of waiting) await this.#tell(nodeId, through);
  }

  async #tell(nodeId: string, through: number): Promise<void> {
    const { ids, fleetTime, clock, transport, logger } = this.#context;
    const state = this.#agents.get(nodeId);
    if (!state) return;
    state.acknowledgedMs = clock.monotonic();
    const not_after = toTimestamp(fleetTime.now() + noticeMs);
    try {
      await transport.send(nodeId, {
        type: "metrics.ack",
        id: ids.next(),
        not_after,
        through: toTimestamp(through),
      });
    } catch (error) {
      if (!isOrchestratorError(error))
        logger.error("Metrics could not be acknowledged.", { node_id: nodeId, error });
    }
  }
}

function timesOf({ samples }: MessageOf<AgentMessage, "metrics">): { first: number; last: number } {
  const times = samples.map(({ at }) => Date.parse(at));
  return { first: Math.min(...times), last: Math.max(...times) };
}
