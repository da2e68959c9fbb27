import type { OperatorCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { Challenges } from "./challenges.ts";
import { OperatorRegistry } from "./operator-registry.ts";
import { Sessions } from "./sessions.ts";

/** Who is signed in, for every feature. */
export class AccessService {
  readonly operators: OperatorRegistry;
  readonly sessions: Sessions;
  readonly #context: Context;
  #challenges: Challenges | null = null;

  constructor(context: Context) {
    this.#context = context;
    this.sessions = new Sessions(context);
    this.operators = new OperatorRegistry(context);
  }

  /** Makes ready to sign people in. `secret` is the orchestrator's own, 32 bytes. */
  start(secret: Uint8Array): void {
    const key = this.#context.crypto.deriveKey(secret, new Uint8Array(0), "fleetwright/1 challenge", 32);
    this.#challenges = new Challenges(this.#context, key);
  }

  /**
   * The challenges of those who are about to sign in.
   *
   * @throws {OrchestratorError} `UNAVAILABLE` before {@link start}.
   */
  get challenges(): Challenges {
    if (!this.#challenges) throw new OrchestratorError("UNAVAILABLE");
    return this.#challenges;
  }

  /** Whether the session of a caller still lives and is still of the same role. */
  async isSignedIn(caller: OperatorCaller): Promise<boolean> {
    const operator = await this.operators.find(caller.operator_id);
    return operator?.value.role === caller.role && (await this.sessions.isLive(caller.session_id));
  }
}
