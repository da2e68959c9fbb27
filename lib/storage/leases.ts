import type { Clock } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import type { Lease } from "./storage.ts";

const maxTtlMs = 3_600_000;

/** Leases of a storage that one process has to itself: a map in memory is enough. */
export class ProcessLeases {
  readonly #clock: Clock;
  readonly #held = new Map<string, { expiresAt: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  take(name: string, ttlMs: number): Lease | null {
    if (!(ttlMs >= 1 && ttlMs <= maxTtlMs)) {
      throw new OrchestratorError("VALIDATION_FAILED", { message: `A lease lasts 1 to ${maxTtlMs} ms.` });
    }
    const other = this.#held.get(name);
    if (other !== undefined && this.#isValid(other)) return null;
    // Monotonic: a jump of the wall clock must neither end a lease nor keep it.
    const mine = { expiresAt: this.#clock.monotonic() + ttlMs };
    this.#held.set(name, mine);
    const isMine = (): boolean => this.#held.get(name) === mine;
    return {
      renew: async () => {
        if (!isMine() || !this.#isValid(mine)) return false;
        mine.expiresAt = this.#clock.monotonic() + ttlMs;
        return true;
      },
      release: async () => {
        if (isMine()) this.#held.delete(name);
      },
    };
  }

  /** Every lease is lost. */
  clear(): void {
    this.#held.clear();
  }

  #isValid(lease: { expiresAt: number }): boolean {
    return lease.expiresAt > this.#clock.monotonic();
  }
}
