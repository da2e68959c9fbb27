import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { allows } from "./allows.ts";
import type { Caller } from "./caller.ts";
import { Challenges } from "./challenges.ts";
import { Denials } from "./denials.ts";
import { OperatorRegistry } from "./operator-registry.ts";
import { permissionTable, type Permission } from "./permissions.ts";
import { Sessions } from "./sessions.ts";

/** The one answer to all who may: nearly every call asks, so none is made anew. */
const allowed: Promise<void> = Promise.resolve();

/** Calls of one operator that were denied and are recorded in a minute. */
const deniedPerMinute = 20;

/** Who is signed in and may do what, for every feature. */
export class AccessService {
  readonly operators: OperatorRegistry;
  readonly sessions: Sessions;
  readonly #context: Context;
  readonly #denials: Denials;
  #challenges: Challenges | null = null;

  constructor(context: Context) {
    this.#context = context;
    this.sessions = new Sessions(context);
    this.operators = new OperatorRegistry(context);
    this.#denials = new Denials(context.clock, deniedPerMinute);
    context.authorize = (caller, permission) => this.authorize(caller, permission);
    context.isSignedIn = (caller) => this.isSignedIn(caller);
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

  /**
   * Refuses a caller who may not use a verb, and records the refusal; of very many in a minute it records the number only, so that
   * nobody fills the audit log with them.
   *
   * @throws {OrchestratorError} `UNAUTHENTICATED`; `FORBIDDEN`.
   */
  authorize(caller: Caller, permission: Permission): Promise<void> {
    return allows(caller, permission) ? allowed : this.#deny(caller, permission);
  }

  async #deny(caller: Caller, permission: Permission): Promise<never> {
    if (caller.kind !== "operator") throw new OrchestratorError("UNAUTHENTICATED");
    const needed = permissionTable[permission];
    const unrecorded = this.#denials.next(caller.operator_id);
    if (unrecorded !== null) {
      await this.#context.commit(caller, [], {
        type: "access.denied",
        summary: `${caller.username} (${caller.role}) may not use ${permission}`,
        metadata: { permission, needed, ...(unrecorded > 0 && { unrecorded }) },
      });
    }
    throw new OrchestratorError("FORBIDDEN", { details: { permission, needed } });
  }

  /** Whether the session of a caller still lives and is still of the same role. The process itself is always signed in. */
  async isSignedIn(caller: Caller): Promise<boolean> {
    if (caller.kind !== "operator") return caller.kind === "system";
    const operator = await this.operators.find(caller.operator_id);
    return operator?.role === caller.role && (await this.sessions.isLive(caller.session_id));
  }
}
