import type { Clock, Timer } from "../clock.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { heartbeatIntervalMs, silenceLimitMs } from "../wire/limits.ts";

/** Turns of the event loop before silence is believed: a timer that is late comes before what was received meanwhile. */
const turnsOfReading = 2;

/** Whose heart beats. */
export interface HeartbeatOwner {
  /** Whether this side reads at all now; while it does not, silence proves nothing. */
  readonly isReading: boolean;
  ping(): void;
  /** The peer was silent for too long. */
  silent(): void;
}

/**
 * Says regularly that this side lives, and notices when the other does not: a ping every 15 s, and a peer that was silent for 45 s is
 * noticed within 15 s more.
 *
 * Both sides ping on their own account, so a ping needs no answer: half the frames, and each direction is proved by itself. Silence is
 * counted in pings, however late each of them is: a process that gets no time, or blocks itself, counts one for all that it did not
 * hear meanwhile.
 */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #owner: HeartbeatOwner;
  /** Beats in a row at which nothing was heard since the one before. */
  #silentBeats = 0;
  #isStopped = false;
  #timer: Timer;

  constructor(clock: Clock, owner: HeartbeatOwner) {
    this.#clock = clock;
    this.#owner = owner;
    this.#timer = this.#next();
  }

  /** The peer was heard. */
  heard(): void {
    // The beat after it ends no whole interval of silence.
    this.#silentBeats = -1;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer.cancel();
  }

  #next(): Timer {
    return this.#clock.setTimer(heartbeatIntervalMs, () => this.#beat());
  }

  #beat(): void {
    this.#silentBeats = this.#owner.isReading ? this.#silentBeats + 1 : 0;
    if (this.#silentBeats * heartbeatIntervalMs >= silenceLimitMs) void this.#judge();
    else this.#goOn();
  }

  #goOn(): void {
    this.#timer = this.#next();
    this.#owner.ping();
  }

  async #judge(): Promise<void> {
    for (let turn = 0; turn < turnsOfReading; turn += 1) await nextTurn();
    if (this.#isStopped) return;
    if (this.#silentBeats > 0) this.#owner.silent();
    else this.#goOn();
  }
}
