/**
 * Fleet time: the orchestrator's own time, by which it measures what may not be early, late or good again because somebody set a
 * clock: until when commands may begin, how long operations are awaited and queued, challenges and sessions.
 *
 *   start ──the wall clock, or what was told before where that is later──▶ runs by the clock that never goes back
 *
 * While the process runs, nothing that happens to the wall clock moves it. It stands still while the machine is suspended, as timers
 * do. What was told is written at the start, once a minute and at the stop, so that a start with a wall clock that was set back goes on
 * where the process before ended; after a kill it may repeat a minute, which everything that goes by it allows for.
 */
import { ClockWatch } from "./clock-watch.ts";
import { toTimestamp, type Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import type { CollectionDefinition, Storage, Write } from "./storage/storage.ts";

/** How often what was told is written, and so the most that a start after a kill may repeat. */
export const fleetTimeStepMs = 60_000;

/** Where the fleet time is kept. */
export const fleetTimeCollections = {
  fleet_time: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;

/** Tells the time that never goes back. */
export class FleetTime {
  readonly #parts: { storage: Storage; clock: Clock; logger: Logger };
  #startMs: number;
  #watch: ClockWatch;
  #isJumped = false;
  #isTold = false;
  /** When it was to be written last; none is while nothing is started. */
  #writtenMs = Infinity;
  #writing: Promise<void> = Promise.resolve();

  constructor(parts: { storage: Storage; clock: Clock; logger: Logger }) {
    this.#parts = parts;
    this.#startMs = parts.clock.now() - parts.clock.monotonic();
    this.#watch = new ClockWatch(parts.clock, parts.clock.now());
  }

  /**
   * Takes up where the process before ended, and begins to write what is told. The function returned ends that.
   *
   * @throws {OrchestratorError} Of the storage.
   */
  async start(): Promise<() => Promise<void>> {
    const { storage, clock, logger } = this.#parts;
    const told = (await storage.get<{ told_ms: number }>("fleet_time", "now"))?.value.told_ms ?? -Infinity;
    const wallMs = clock.now();
    this.#startMs = Math.max(wallMs, told) - clock.monotonic();
    this.#watch = new ClockWatch(clock, Math.max(wallMs, told));
    if (told - wallMs > fleetTimeStepMs) {
      const fields = { clock_ms: wallMs, told_ms: told };
      logger.warn("The clock is behind what it was before: deadlines go on from there.", fields);
    }
    // Before anybody is told of it: a process that is killed in its first minute, after its clock was set back, must not be forgotten.
    this.#isTold = true;
    await this.#write();
    const beat = (): void => {
      this.wallAheadMs();
      void this.#write();
      timer = clock.setTimer(fleetTimeStepMs, beat);
    };
    let timer = clock.setTimer(fleetTimeStepMs, beat);
    return () => {
      timer.cancel();
      const written = this.#write();
      this.#writtenMs = Infinity;
      return written;
    };
  }

  /** Milliseconds, about those since 1970; never goes back, whatever becomes of the wall clock. */
  now(): number {
    this.#isTold = true;
    const now = this.#now();
    // After a time in which nobody asked.
    if (now - this.#writtenMs >= fleetTimeStepMs) void this.#write();
    return now;
  }

  /** The same as RFC 3339: what agents are told. */
  timestamp(): string {
    return toTimestamp(this.now());
  }

  /** When a fleet time will be, or was, by the wall clock as it is set now: what people are told. */
  toWall(ms: number): number {
    return this.#parts.clock.now() + Math.round(ms - this.#now());
  }

  /** By how much the wall clock was set ahead (less than 0: back) since it was believed last, milliseconds; 0 where it was not. */
  wallAheadMs(): number {
    const aheadMs = this.#watch.look();
    const isNews = (aheadMs !== 0) !== this.#isJumped;
    this.#isJumped = aheadMs !== 0;
    if (isNews && this.#isJumped)
      this.#parts.logger.warn("The clock was set, or the machine was suspended.", { ahead_ms: aheadMs });
    return aheadMs;
  }

  #now(): number {
    return Math.floor(this.#startMs + this.#parts.clock.monotonic());
  }

  #write(): Promise<void> {
    if (this.#isTold) this.#writtenMs = this.#now();
    return (this.#writing = this.#writing.then(() => this.#writeNow()));
  }

  /** What a commit takes along that must not be forgotten by a start with a clock that was set back: the time, on disk with it. */
  toWrite(): Write {
    return { kind: "put", collection: "fleet_time", key: "now", value: { told_ms: this.#now() } };
  }

  /** Without the reserve of the storage: what uses it on a full disk takes the time along. */
  async #writeNow(): Promise<void> {
    if (!this.#isTold) return;
    this.#isTold = false;
    try {
      await this.#parts.storage.commit([this.toWrite()]);
    } catch (error) {
      this.#isTold = true;
      this.#parts.logger.debug("The fleet time was not written.", { error });
    }
  }
}
