import type { Clock, Timer } from "../clock.ts";
import { heartbeatIntervalMs, silenceLimitMs } from "../wire/limits.ts";

/** Says regularly that this side lives, and notices when the other does not. */
export interface Heartbeat {
  /** The peer was heard. */
  heard(): void;
  stop(): void;
}

/**
 * Begins to send pings every 15 s. A peer that was silent for 45 s is noticed within 15 s more.
 *
 * Both sides ping on their own account, so a ping needs no answer: half the frames, and each direction is proved by itself.
 */
export function startHeartbeat(options: {
  clock: Clock;
  ping(): void;
  silent(): void;
  /** Whether this side reads at all now; while it does not, silence proves nothing. */
  isReading(): boolean;
}): Heartbeat {
  const { clock } = options;
  let heardAtMs = clock.monotonic();
  let timer: Timer = clock.setTimer(heartbeatIntervalMs, beat);
  function beat(): void {
    if (!options.isReading()) heardAtMs = clock.monotonic();
    if (clock.monotonic() - heardAtMs >= silenceLimitMs) {
      options.silent();
      return;
    }
    timer = clock.setTimer(heartbeatIntervalMs, beat);
    options.ping();
  }
  return {
    heard: () => {
      heardAtMs = clock.monotonic();
    },
    stop: () => timer.cancel(),
  };
}
