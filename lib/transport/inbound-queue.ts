import { OrchestratorError } from "../errors.ts";
import type { Pausable } from "./shared-pause.ts";

/** Reading stops above this many bytes of waiting messages, and goes on below half of it. */
const pauseAboveBytes = 1024 * 1024;
/** A peer that goes on sending although nobody reads is cut off here: more than one whole message of 16 MiB. */
const limitBytes = 32 * 1024 * 1024;
/** What an object costs beside its text. */
const itemOverheadBytes = 256;

/** Hands what came in to its handler: in order, one at a time, and no faster than the handler can. */
export class InboundQueue<Item> {
  readonly #socket: Pausable;
  readonly #handle: (item: Item) => Promise<void>;
  readonly #failed: (error: unknown) => void;
  #waiting: { item: Item; bytes: number }[] = [];
  #waitingBytes = 0;
  #state: "shut" | "open" | "finishing" | "ended" = "shut";
  #run: Promise<void> | null = null;
  #isPaused = false;

  /**
   * @param handlers - `handle` is called with each item; `failed` once with what it rejected with, after which nothing is
   * handed over any more.
   */
  constructor(
    socket: Pausable,
    handlers: { handle(item: Item): Promise<void>; failed(error: unknown): void },
  ) {
    this.#socket = socket;
    this.#handle = handlers.handle;
    this.#failed = handlers.failed;
  }

  /** Whether the socket was asked to wait. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether nothing is handed over any more. */
  get hasEnded(): boolean {
    return this.#state === "ended";
  }

  /**
   * Adds an item of a size in bytes.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR` where the peer sends on although it was asked to wait.
   */
  push(item: Item, sizeBytes: number): void {
    if (this.#state === "finishing" || this.#state === "ended") return;
    const bytes = sizeBytes + itemOverheadBytes;
    if (this.#waitingBytes + bytes > limitBytes) {
      throw new OrchestratorError("PROTOCOL_ERROR", { message: "The peer sends faster than it is heard." });
    }
    this.#waiting.push({ item, bytes });
    this.#waitingBytes += bytes;
    if (this.#waitingBytes > pauseAboveBytes && !this.#isPaused) {
      this.#isPaused = true;
      this.#socket.pause();
    }
    this.#start();
  }

  /** Begins to hand over. */
  open(): void {
    if (this.#state !== "shut") return;
    this.#state = "open";
    this.#start();
  }

  /**
   * Takes nothing more, and hands over what waits. {@link InboundQueue.end} cuts that short.
   *
   * @returns Resolves when all is handed over; null where nothing waits.
   */
  finish(): Promise<void> | null {
    if (this.#state !== "open" || !this.#run) {
      this.end();
      return null;
    }
    this.#state = "finishing";
    return this.#run.finally(() => this.end());
  }

  /** Hands nothing over any more. */
  end(): void {
    this.#state = "ended";
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  /** Resolves when the handler that runs now is done. */
  async settled(): Promise<void> {
    await this.#run;
  }

  #start(): void {
    if (this.#state !== "open" || this.#run || this.#waiting.length === 0) return;
    this.#run = this.#drain().finally(() => {
      this.#run = null;
      this.#start();
    });
  }

  async #drain(): Promise<void> {
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      try {
        await this.#handle(next.item);
      } catch (error) {
        if (this.#state === "open") this.#failed(error);
        this.end();
        return;
      }
      if (this.hasEnded) return;
      this.#waitingBytes -= next.bytes;
      if (this.#isPaused && this.#waitingBytes < pauseAboveBytes / 2) {
        this.#isPaused = false;
        this.#socket.resume();
      }
    }
  }
}
