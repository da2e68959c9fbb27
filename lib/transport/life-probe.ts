import type { Clock, Timer } from "../clock.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { FrameSocket } from "./socket.ts";

/** How long a peer has for a sign of life, milliseconds: several round trips around the world. */
export const probeTimeoutMs = 2_000;

/**
 * The time is counted in steps, however late each of them is noticed: a process that gets no time, or blocks itself, counts one step for
 * all that it did not hear meanwhile.
 */
const steps = 8;
/** Turns of the event loop before silence is believed: a timer that is late comes before what was received meanwhile. */
const turnsOfReading = 2;

/** What a probe is made of. */
export interface LifeProbeOptions {
  socket: Pick<FrameSocket, "probe">;
  clock: Clock;
  /** Whether the socket is read now: while it is not, silence proves nothing. It ceases to be only with a frame, which is heard. */
  isReading(): boolean;
}

/** A question that is not answered yet. */
interface Question {
  answer: Promise<boolean>;
  resolve(isAlive: boolean): void;
  timer: Timer | null;
  /** Steps that have passed, and the last of them in a row in which the socket was read. */
  passed: number;
  silent: number;
}

/** Finds out whether the peer of a connection is still there: with one question at a time, however many want to know. */
export class LifeProbe {
  readonly #options: LifeProbeOptions;
  #question: Question | null = null;
  #isOver = false;

  constructor(options: LifeProbeOptions) {
    this.#options = options;
  }

  /**
   * Resolves with true at the first sign of life; with false where none came in {@link probeTimeoutMs} in which the socket was read without
   * a break, or the connection ended. A socket that is read at no time in that while counts as alive.
   */
  ask(): Promise<boolean> {
    if (this.#isOver) return Promise.resolve(false);
    if (this.#question) return this.#question.answer;
    let resolve: (isAlive: boolean) => void = () => {};
    const answer = new Promise<boolean>((settle) => (resolve = settle));
    this.#question = { answer, resolve, timer: null, passed: 0, silent: 0 };
    this.#step(this.#question);
    void this.#options.socket.probe().then(() => this.heard());
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

  #step(question: Question): void {
    const { clock, isReading } = this.#options;
    const wasReading = isReading();
    question.timer = clock.setTimer(probeTimeoutMs / steps, () => {
      question.passed += 1;
      const isRead = wasReading && isReading();
      question.silent = isRead ? question.silent + 1 : 0;
      if (!isReading() && question.passed >= steps) this.#settle(true);
      else if (question.silent >= steps) void this.#judge(question);
      else this.#step(question);
    });
  }

  async #judge(question: Question): Promise<void> {
    for (let turn = 0; turn < turnsOfReading; turn += 1) await nextTurn();
    if (this.#question === question) this.#settle(false);
  }

  #settle(isAlive: boolean): void {
    const question = this.#question;
    this.#question = null;
    question?.timer?.cancel();
    question?.resolve(isAlive);
  }
}
