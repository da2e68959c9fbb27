import type { Clock, Timer } from "../clock.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { heartbeatIntervalMs, silenceLimitMs } from "../wire/limits.ts";

/** Says regularly that this side lives, and notices when the other does not. */
export interface Heartbeat {
  /** The peer was heard. */
  heard(): void;
  stop(): void;
}

/** Turns of the event loop before silence is believed: a timer that is late comes before what was received meanwhile. */
const turnsOfReading = 2;

/**
 * Begins to send pings every 15 s. A peer that was silent for 45 s is noticed within 15 s more.
 *
 * Both sides ping on their own account, so a ping needs no answer: half the frames, and each direction is proved by itself. Silence is
 * counted in pings, however late each of them is: a process that gets no time, or blocks itself, counts one for all that it did not
 * hear meanwhile.
 */
export function startHeartbeat(options: {
  clock: Clock;
  ping(): void;
  silent(): void;
  /** Whether this side reads at all now; while it does not, silence proves nothing. */
  isReading(): boolean;
}): Heartbeat {
  const { clock } = options;
  /** Beats in a row at which nothing was heard since the one before. */
  let silentBeats = 0;
  let isStopped = false;
  let timer: Timer = clock.setTimer(heartbeatIntervalMs, beat);
  function beat(): void {
    silentBeats = options.isReading() ? silentBeats + 1 : 0;
    if (silentBeats * heartbeatIntervalMs >= silenceLimitMs) void judge();
    else goOn();
  }
  function goOn(): void {
    timer = clock.setTimer(heartbeatIntervalMs, beat);
    options.ping();
  }
  async function judge(): Promise<void> {
    for (let turn = 0; turn < turnsOfReading; turn += 1) await nextTurn();
    if (isStopped) return;
    if (silentBeats > 0) options.silent();
    else goOn();
  }
  return {
    heard: () => {
      // The beat after it ends no whole interval of silence.
      silentBeats = -1;
    },
    stop: () => {
      isStopped = true;
      timer.cancel();
    },
  };
}
