/**
 * Work that one process does for all, under a lease: another takes it over some seconds after this one is gone.
 *
 *   idle ──there is something to do──▶ waits ──the lease is free──▶ on duty ──it could not be renewed──▶ waits
 *     ▲                                  └───────────────┬──────────────┘
 *     └──────────────there is nothing to do any more─────┘
 */
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import type { Lease } from "../storage/storage.ts";

/** For how long a process that says nothing keeps the duty, and how often it says something, milliseconds. */
const ttlMs = 15_000;
const beatMs = 5_000;

interface Work {
  /** Called each time this process takes the duty over, or is certain again that it has it. */
  began: () => void;
  /** Whether there is anything to do; {@link SoleDuty.look} is told where that may have changed. */
  isNeeded: () => boolean;
}

export class SoleDuty {
  readonly #context: Context;
  readonly #name: string;
  readonly #work: Work;
  #lease: Lease | null = null;
  /** Until when it is certain, by the clock that never goes back. */
  #until = -Infinity;
  #timer: Timer | null = null;
  #state: "new" | "idle" | "beating" | "stopped" = "new";
  #beating: Promise<void> = Promise.resolve();
  /** The look that whoever asks meanwhile waits for. */
  #confirming: Promise<boolean> | null = null;

  constructor(context: Context, name: string, work: Work) {
    this.#context = context;
    this.#name = name;
    this.#work = work;
  }

  /** Whether it is this process's. */
  get isMine(): boolean {
    return this.#context.clock.monotonic() < this.#until;
  }

  /** Takes the duty where there is something to do, or waits for it. */
  start(): Promise<void> {
    this.#state = "idle";
    return this.look();
  }

  /** Looks whether there is something to do. */
  look(): Promise<void> {
    if (this.#state !== "idle" || !this.#work.isNeeded()) return Promise.resolve();
    this.#state = "beating";
    return (this.#beating = this.#beat());
  }

  /** Whether it is certainly this process's, after a look where that is not certain any more: as where it was held up for long. */
  confirm(): Promise<boolean> {
    // Of two looks at once one would find the lease taken by the other, and this process would not know that it has it.
    return (this.#confirming ??= this.#confirm().finally(() => (this.#confirming = null)));
  }

  async #confirm(): Promise<boolean> {
    await this.#beating;
    if (this.isMine || this.#state !== "beating") return this.isMine;
    this.#timer?.cancel();
    await (this.#beating = this.#beat());
    return this.isMine;
  }

  /** Gives it up. */
  async stop(): Promise<void> {
    this.#state = "stopped";
    this.#timer?.cancel();
    await this.#beating;
    await this.#giveUp();
  }

  async #beat(): Promise<void> {
    const { storage, clock, logger } = this.#context;
    const askedAt = clock.monotonic();
    try {
      if (!this.#work.isNeeded()) return await this.#rest();
      let wasMine = this.isMine;
      const isRenewed = (await this.#lease?.renew()) ?? false;
      if (!isRenewed) this.#lease = await storage.lease(this.#name, ttlMs);
      wasMine &&= this.isMine;
      this.#until = this.#lease ? askedAt + ttlMs : -Infinity;
      // What came while it was not certain waits, too.
      if (this.#lease && !(isRenewed && wasMine)) this.#work.began();
    } catch (error) {
      logger.warn("A duty could not be renewed.", { error, duty: this.#name });
    }
    if (this.#state === "beating")
      this.#timer = clock.setTimer(beatMs, () => void (this.#beating = this.#beat()));
  }

  async #rest(): Promise<void> {
    await this.#giveUp();
    if (this.#state !== "beating") return;
    this.#state = "idle";
    // Something may have come meanwhile.
    await this.look();
  }

  async #giveUp(): Promise<void> {
    this.#until = -Infinity;
    const lease = this.#lease;
    this.#lease = null;
    await lease?.release();
  }
}
