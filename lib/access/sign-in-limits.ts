/**
 * How often somebody may try to sign in. Keys of operators are counted each by itself, and the rest together, for each source:
 * whoever makes up keys does not shut out the team behind his address, and nobody elsewhere locks an owner out.
 *
 * Past the limit of a source, its answers tell a key of an operator from others. Keys can't be guessed; who suspects one learns that it
 * may sign in, which is no secret that anything rests on.
 */
import { sourceOf } from "../callers/caller-source.ts";
import type { Caller } from "../callers/caller.ts";
import type { Clock } from "../clock.ts";
import { decodeBytes } from "../crypto/parse-public-key.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";

/** Counts attempts to sign in. */
export class SignInLimits {
  readonly #attempts: RateLimiter;
  readonly #findId: (key: Uint8Array) => Promise<string | null>;

  /** @param findId - The id of the operator of a key; null where there is none. */
  constructor(clock: Clock, perMinute: number, findId: (key: Uint8Array) => Promise<string | null>) {
    this.#attempts = new RateLimiter(clock, perMinute);
    this.#findId = findId;
  }

  /**
   * Counts a call for a key, as hex or base64; null where it names none. Callers within the process are not counted.
   *
   * @throws {OrchestratorError} `RATE_LIMITED`.
   */
  async take(caller: Caller, publicKey: string | null): Promise<void> {
    const source = sourceOf(caller);
    if (source === null) return;
    const key = publicKey === null ? null : decodeBytes(publicKey, 32);
    const operatorId = key && (await this.#findId(key));
    this.#attempts.take(operatorId === null ? source : `${source} ${operatorId}`);
  }
}
