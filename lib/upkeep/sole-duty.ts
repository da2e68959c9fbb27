/**
 * Work that one process does for all, under a lease: another takes it over some seconds after this one is gone.
 *
 *   waits ──the lease is free──▶ on duty ──it could not be renewed──▶ waits
 */
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import type { Lease } from "../storage/storage.ts";

/** For how long a process that says nothing keeps the duty, and how often it says something, milliseconds. */
const ttlMs = 15_000;
const beatMs = 5_000;

export class SoleDuty {
  readonly #context: Context;
  readonly #name: string;
  readonly #began: () => void;
  #lease: Lease | null = null;
  /** Until when it is certain, by the clock that never goes back. */
  #until = -Infinity;
  #timer: Timer | null = null;
  #isStopped = false;
  #beating: Promise<void> = Promise.resolve();

  /** @param began - Called each time this process takes the duty over. */
  constructor(context: Context, name: string, began: () => void) {
    this.#context = context;
    this.#name = name;
    this.#began = began;
  }

  /** Whether it is this process's. */
  get isMine(): boolean {
    return this.#context.clock.monotonic() < this.#until;
  }

  /** Takes the duty, or waits for it. */
  start(): Promise<void> {
    return (this.#beating = this.#beat());
  }

  /** Gives it up. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#beating;
    this.#until = -Infinity;
    await this.#lease?.release();
  }

  async #beat(): Promise<void> {
    const { storage, clock, logger } = this.#context;
    const askedAt = clock.monotonic();
    try {
      const isRenewed = (await this.#lease?.renew()) ?? false;
      if (!isRenewed) this.#lease = await storage.lease(this.#name, ttlMs);
      this.#until = this.#lease ? askedAt + ttlMs : -Infinity;
      if (this.#lease && !isRenewed) this.#began();
    } catch (error) {
      logger.warn("A duty could not be renewed.", { error, duty: this.#name });
    }
    if (!this.#isStopped) this.#timer = clock.setTimer(beatMs, () => void (this.#beating = this.#beat()));
  }
}
