/**
 * One side of a pipe. Each direction by itself:
 *
 *   writer: open ──end()──▶ ending ──"ended" came──▶ done        reader: open ──"end" came, "ended" sent──▶ done
 *
 * Over when both are done; failed from any state but that by a gap in the numbers, silence, more than the window, or either side's `abort`.
 * The writer begins with a window of credit, takes the cost of each frame off it and waits where it does not suffice; the reader grants
 * anew what was read, a quarter of the window at a time. Every frame is numbered, beats too: what was lost shows with the next frame, and
 * there is always a next one.
 */
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { Bell } from "../internal/bell.ts";
import type { Pipe } from "./cluster.ts";
import { fromClusterError, lost, toClusterError, type ClusterError, type PipeStep } from "./frames.ts";
import { costOf, maxFrameBytes, silenceMs, windowBytes } from "./limits.ts";

/** What a side of a pipe needs of the process that it is in. */
export interface PipeEnds {
  /** Brings a step to the other side, under its number. */
  send(step: PipeStep, number: number): void;
  /** Tells the other side that the pipe has failed. */
  reset(error: ClusterError): void;
  /** The pipe is over or has failed: nothing more goes or comes. */
  over(): void;
  /** Milliseconds that never go back. */
  now(): number;
}

export class FramedPipe implements Pipe {
  readonly #ends: PipeEnds;
  readonly #failed = new AbortController();
  readonly #news = new Bell();
  #error: OrchestratorError | null = null;
  #isOver = false;
  #isOpened = false;
  #sent = 0;
  #heard = 0;
  #heardAt: number;
  #writing: Promise<void> = Promise.resolve();
  #credit = windowBytes;
  #ending: Promise<void> | null = null;
  #isEndKnown = false;
  #unread: Uint8Array[] = [];
  #unreadCost = 0;
  /** What was read and not granted anew yet. */
  #owed = 0;
  #isEndHeard = false;

  constructor(ends: PipeEnds) {
    this.#ends = ends;
    this.#heardAt = ends.now();
  }

  get signal(): AbortSignal {
    return this.#failed.signal;
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.#ending !== null) return Promise.reject(this.#error ?? lost("closed"));
    return this.#inLine(() => this.#sendAll(bytes));
  }

  end(): Promise<void> {
    if (this.#ending !== null) return this.#ending;
    const ending = this.#inLine(() => this.#sendEnd());
    // Who does not wait for it hears of a failure elsewhere.
    ending.catch(() => {});
    return (this.#ending = ending);
  }

  async read(): Promise<Uint8Array | null> {
    for (;;) {
      const bytes = this.#unread.shift();
      if (bytes !== undefined) {
        this.#grant(costOf(bytes));
        return bytes;
      }
      if (this.#isEndHeard) return null;
      this.#throwIfFailed();
      await this.#news.next(this.#failed.signal);
    }
  }

  abort(error: unknown = new OrchestratorError("CANCELLED")): void {
    if (this.#isOver) return;
    const sent = toClusterError(error);
    this.#ends.reset(sent);
    this.#fail(isOrchestratorError(error) ? error : fromClusterError(sent));
  }

  /** The method of this side begins. */
  accept(): void {
    this.#say({ kind: "opened" });
  }

  /** Resolves when the method of the other side has begun. */
  opened(): Promise<void> {
    return this.#until(() => this.#isOpened);
  }

  /** The other side said something. */
  receive(step: PipeStep, number: number): void {
    if (this.#isOver) return;
    this.#heardAt = this.#ends.now();
    if (number !== this.#heard) return this.abort(lost("gap"));
    this.#heard += 1;
    this.#take(step);
    this.#news.ring();
    if (this.#isEndHeard && this.#isEndKnown) this.#finish();
  }

  /** The other side says that the pipe has failed. */
  wasReset(error: ClusterError): void {
    this.#fail(fromClusterError(error));
  }

  /** Called every {@link beatMs}: says that this side is there, and notices where the other is not. */
  beat(): void {
    if (this.#ends.now() - this.#heardAt > silenceMs) return this.abort(lost("silent"));
    this.#say({ kind: "beat" });
  }

  #take(step: PipeStep): void {
    switch (step.kind) {
      case "opened":
        this.#isOpened = true;
        return;
      case "data":
        this.#keep(step.bytes);
        return;
      case "credit":
        this.#credit += step.bytes;
        return;
      case "end":
        this.#isEndHeard = true;
        this.#say({ kind: "ended" });
        return;
      case "ended":
        this.#isEndKnown = true;
        return;
      case "beat":
        return;
    }
  }

  #keep(bytes: Uint8Array): void {
    const cost = this.#unreadCost + this.#owed + costOf(bytes);
    if (cost > windowBytes || bytes.length > maxFrameBytes || this.#isEndHeard)
      return this.abort(lost("overrun"));
    this.#unread.push(bytes);
    this.#unreadCost += costOf(bytes);
  }

  #inLine(work: () => Promise<void>): Promise<void> {
    const done = this.#writing.then(work);
    this.#writing = done.catch(() => {});
    return done;
  }

  async #sendAll(bytes: Uint8Array): Promise<void> {
    this.#throwIfFailed();
    for (let at = 0; at < bytes.length; at += maxFrameBytes) {
      const part = bytes.subarray(at, at + maxFrameBytes);
      const cost = costOf(part);
      await this.#until(() => this.#credit >= cost);
      this.#throwIfFailed();
      this.#credit -= cost;
      this.#say({ kind: "data", bytes: part });
    }
  }

  async #sendEnd(): Promise<void> {
    this.#throwIfFailed();
    this.#say({ kind: "end" });
    await this.#until(() => this.#isEndKnown);
  }

  /** Resolves when something is so; rejects where the pipe fails before. */
  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      this.#throwIfFailed();
      await this.#news.next(this.#failed.signal);
    }
  }

  #throwIfFailed(): void {
    if (this.#error !== null) throw this.#error;
  }

  #grant(cost: number): void {
    this.#unreadCost -= cost;
    this.#owed += cost;
    if (this.#isEndHeard || this.#isOver || this.#owed < windowBytes / 4) return;
    this.#say({ kind: "credit", bytes: this.#owed });
    this.#owed = 0;
  }

  #say(step: PipeStep): void {
    this.#ends.send(step, this.#sent);
    this.#sent += 1;
  }

  #fail(error: OrchestratorError): void {
    if (this.#isOver) return;
    this.#error = error;
    // What is not whole is nothing.
    if (!this.#isEndHeard) this.#unread = [];
    this.#finish();
    this.#failed.abort(error);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#ends.over();
  }
}
