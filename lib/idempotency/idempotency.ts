import type { Caller } from "../callers/caller.ts";
import type { IdempotencyService } from "./idempotency-service.ts";
import type { KeyedCall } from "./keyed-call.ts";

/** Makes a call once, however often it is sent with the same key within 24 hours. */
export class Idempotency {
  readonly #service: IdempotencyService;

  constructor(service: IdempotencyService) {
    this.#service = service;
  }

  /**
   * Runs a call, or answers as the first one with this key did. A second call while the first is running waits for it.
   * Refusals are answers, too, but for those after which trying again makes sense. Only an operator's calls are kept.
   *
   * @param run - Makes the call as the caller that it is given, whose first commit takes the claim along. What it resolves with is JSON or
   * undefined.
   * @throws {OrchestratorError} `VALIDATION_FAILED` for a key that can't be one; `IDEMPOTENCY_KEY_REUSED` with another input;
   * `IDEMPOTENCY_ANSWER_UNKNOWN`; `RATE_LIMITED` with too many keys; and what the call throws.
   */
  once<Output>(caller: Caller, call: KeyedCall, run: (caller: Caller) => Promise<Output>): Promise<Output> {
    return this.#service.once(caller, call, run);
  }
}
