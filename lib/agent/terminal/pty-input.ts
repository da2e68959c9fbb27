/**
 * What is typed into a pseudoterminal, as far as its program takes it:
 *
 *   idle --write--> writing --all is taken--> idle
 *                     |--the terminal is full--> waiting --some milliseconds--> writing
 *
 * It is written here and not by the stream of the terminal: libuv takes a pseudoterminal for one whose writes block, and turns round and
 * round in them, with all of the process, until a program reads that may never do so.
 */
import { writeSync } from "node:fs";
import { type Clock, systemClock, type Timer } from "../../clock.ts";

/** A program that did not read for longer is looked at less often. */
const retryMs = { first: 2, most: 50 };

interface Piece {
  bytes: Uint8Array;
  done: () => void;
}

export class PtyInput {
  readonly #fd: number;
  readonly #clock: Clock;
  readonly #pieces: Piece[] = [];
  #size = 0;
  #retry: Timer | null = null;
  #retryMs = retryMs.first;
  #isOver = false;

  /** @param fd - Of a terminal that does not block. */
  constructor(fd: number, clock: Clock = systemClock) {
    this.#fd = fd;
    this.#clock = clock;
  }

  /** Bytes that wait. */
  get size(): number {
    return this.#size;
  }

  /** Resolves when the terminal has taken the bytes, or is gone. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#isOver || bytes.length === 0) return Promise.resolve();
    return new Promise((done) => {
      this.#pieces.push({ bytes, done });
      this.#size += bytes.length;
      if (this.#retry === null) this.#flush();
    });
  }

  /** Nothing more can be typed; what waits is dropped. */
  end(): void {
    this.#isOver = true;
    this.#retry?.cancel();
    this.#size = 0;
    for (const { done } of this.#pieces.splice(0)) done();
  }

  #flush(): void {
    this.#retry = null;
    try {
      for (let piece = this.#pieces[0]; piece !== undefined; piece = this.#pieces[0]) {
        const taken = writeSync(this.#fd, piece.bytes);
        this.#retryMs = retryMs.first;
        this.#size -= taken;
        piece.bytes = piece.bytes.subarray(taken);
        if (piece.bytes.length > 0) continue;
        this.#pieces.shift();
        piece.done();
      }
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === "EAGAIN") this.#flushLater();
      else if (code === "EINTR") this.#flush();
      else this.end();
    }
  }

  #flushLater(): void {
    this.#retry = this.#clock.setTimer(this.#retryMs, () => this.#flush());
    this.#retryMs = Math.min(retryMs.most, this.#retryMs * 2);
  }
}
