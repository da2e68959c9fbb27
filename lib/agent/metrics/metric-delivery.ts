/**
 * Brings samples to the orchestrator.
 *
 *   away ──approved──▶ catching up ──all sent──▶ live: each sample as it is taken
 *                      │  one message, its           │
 *                      │  acknowledgement, the next   │ nothing acknowledged for three minutes
 *                      ▲                             ▼
 *                      └────────acknowledged──── waiting: one sample now and then, up to an hour apart
 *
 * What is acknowledged is on the orchestrator's disk and forgotten here. Sent twice is taken once, since a time is taken once.
 */
import { toTimestamp, type Clock, type Timer } from "../../clock.ts";
import type { AgentMessage } from "../../wire/messages.ts";
import type { Sample, SampleBacklog } from "./sample-backlog.ts";

/** What one message holds at most, well within what the wire carries. */
const message = { samples: 200, characters: 400_000 };
/** How long an acknowledgement is waited for, and the longest wait before it is tried again. */
const firstWaitMs = 180_000;
const longestWaitMs = 3_600_000;

/** What delivers. */
export interface MetricDeliveryOptions {
  backlog: SampleBacklog;
  clock: Clock;
  /** Sends a message; false where there is no connection for it. */
  send: (message: AgentMessage) => boolean;
}

/** Brings samples to the orchestrator. */
export class MetricDelivery {
  readonly #options: MetricDeliveryOptions;
  #isUp = false;
  /** Time of the newest sample that was acknowledged, and that was sent over this connection. */
  #acknowledged = -Infinity;
  #sent = -Infinity;
  /** Time of the newest sample of the message that told of a gap last, until it is acknowledged: it may have been lost on the way. */
  #gapToldAt = -Infinity;
  /** Whether all there is was sent, and each new sample follows at once. */
  #isLive = false;
  /** Whether nobody answered the last time. */
  #isDoubted = false;
  #waitMs = firstWaitMs;
  #timer: Timer | null = null;

  constructor(options: MetricDeliveryOptions) {
    this.#options = options;
  }

  /** There is a connection: what is not acknowledged is sent, the oldest first. */
  begin(): void {
    this.pause();
    this.#isUp = true;
    this.#isDoubted = false;
    this.#waitMs = firstWaitMs;
    this.#restart();
  }

  /** There is no connection any more. */
  pause(): void {
    this.#isUp = false;
    this.#isLive = false;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** A sample was taken, and is kept. */
  taken(sample: Sample): void {
    if (!this.#isUp) return;
    if (this.#isLive) this.#send([sample]);
    // Nothing was there to be sent, so nothing is waited for.
    else if (this.#timer === null) this.#restart();
  }

  /** The orchestrator has the samples up to a time on disk, or will never take them. */
  acknowledge(throughMs: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, Math.min(throughMs, this.#sent));
    this.#options.backlog.acknowledge(this.#acknowledged);
    if (!this.#isUp) return;
    this.#isDoubted = false;
    this.#waitMs = firstWaitMs;
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#acknowledged < this.#sent) this.#await();
    else if (!this.#isLive) this.#next();
  }

  /** Samples after a time were dropped: what is taken from now on may be older than what was sent. */
  forgetAfter(ms: number): void {
    this.#acknowledged = Math.min(this.#acknowledged, ms);
    this.#sent = Math.min(this.#sent, ms);
  }

  #restart(): void {
    if (this.#gapToldAt > this.#acknowledged) this.#options.backlog.giveGapBack();
    this.#gapToldAt = -Infinity;
    this.#sent = this.#acknowledged;
    this.#isLive = false;
    this.#next();
  }

  #next(): void {
    const { backlog } = this.#options;
    const limits = this.#isDoubted ? { samples: 1, characters: 0 } : message;
    const samples = backlog.after(this.#sent, limits);
    if (samples.length > 0 && !this.#send(samples)) return;
    this.#isLive = !this.#isDoubted && this.#sent >= backlog.newestAt;
    // What can't be read any more is not waited for.
    if (samples.length === 0) this.#isLive = true;
  }

  #send(samples: readonly Sample[]): boolean {
    const { backlog, send } = this.#options;
    const gap = backlog.takeGap();
    const entries = samples.map(({ at, values }) => ({ at: toTimestamp(at), values }));
    if (!send({ type: "metrics", samples: entries, gap })) {
      if (gap) backlog.giveGapBack();
      this.#isLive = false;
      return false;
    }
    this.#sent = samples.at(-1)?.at ?? this.#sent;
    if (gap) this.#gapToldAt = this.#sent;
    if (this.#timer === null) this.#await();
    return true;
  }

  #await(): void {
    this.#timer = this.#options.clock.setTimer(this.#waitMs, () => {
      this.#timer = null;
      // An orchestrator that does not know samples drops them: it is not to be sent all of them again and again.
      this.#isDoubted = true;
      this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
      this.#restart();
    });
  }
}
