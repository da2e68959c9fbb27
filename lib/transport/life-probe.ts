import type { Clock, Timer } from "../clock.ts";
import type { FrameSocket } from "./socket.ts";

/** How long a peer has for a sign of life, milliseconds: several round trips around the world. */
export const probeTimeoutMs = 2_000;

/** What a probe is made of. */
export interface LifeProbeOptions {
  socket: Pick<FrameSocket, "probe">;
  clock: Clock;
  /** Whether the socket is read now: while it is not, silence proves nothing. */
  isReading(): boolean;
}

/** Finds out whether the peer of a connection is still there: with one question at a time, however many want to know. */
export class LifeProbe {
  readonly #options: LifeProbeOptions;
  #asking: { answer: Promise<boolean>; timer: Timer } | null = null;
  #resolve: (isAlive: boolean) => void = () => {};
  #isOver = false;

  constructor(options: LifeProbeOptions) {
    this.#options = options;
  }

  /** Resolves with true at the first sign of life, with false where none came in time or the connection ended. */
  ask(): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false);
    if (this.#asking) return this.#asking.answer;
    const { socket, clock, isReading } = this.#options;
    const answer = new Promise<boolean>((resolve) => (this.#resolve = resolve));
    const timer = clock.setTimer(probeTimeoutMs, () => this.#settle(!isReading()));
    this.#asking = { answer, timer };
    void socket.probe().then(() => this.heard());
    return answer;
  }

  /** The peer was heard. */
  heard(): void {
    this.#settle(true);
  }

  /** The connection is over. */
  over(): void {
    this.#isOver = true;
    this.#settle(false);
  }

  #settle(isAlive: boolean): void {
    if (!this.#asking) return;
    this.#asking.timer.cancel();
    this.#asking = null;
    this.#resolve(isAlive);
  }
}
