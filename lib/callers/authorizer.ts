/** Who may: asked by every verb before it does anything else. */
import type { Clock } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import type { EventSubject } from "../events.ts";
import type { Caller, OperatorCaller } from "./caller.ts";
import { Denials } from "./denials.ts";
import { permissionTable, type Permission } from "./permissions.ts";
import { isAtLeast } from "./roles.ts";

/** The one answer to all who may: nearly every call asks, so none is made anew. */
const allowed: Promise<void> = Promise.resolve();

/** Calls of one operator that were denied and are recorded in a minute. */
const deniedPerMinute = 20;

/** A refusal that is worth a record. */
export interface Denial {
  caller: OperatorCaller;
  permission: Permission;
  /** The least role that may. */
  needed: (typeof permissionTable)[Permission];
  /** What they may not use it on; absent where they may use it on nothing. */
  target?: EventSubject;
  /** How many refusals of this operator before it were not recorded. */
  unrecorded: number;
}

/** Whether the permission table lets a caller use a verb. Asks nobody and records nothing. */
export function allows(caller: Caller, permission: Permission): boolean {
  // A program without types may have left it out.
  if ((caller as Partial<Caller> | null | undefined)?.kind === undefined) return false;
  const needed = permissionTable[permission];
  if (caller.kind === "system" || needed === "anyone") return true;
  return caller.kind === "operator" && isAtLeast(caller.role, needed);
}

/** Holds callers to the table of permissions. */
export class Authorizer {
  /** Tells whether a session ended since its caller was made: what the body of a call took to come was time for that. */
  hasEnded: (sessionId: string) => boolean = () => false;
  readonly #denials: Denials;
  readonly #record: (denial: Denial) => Promise<unknown>;

  /** @param record - Writes a refusal down, before it is thrown. */
  constructor(clock: Clock, record: (denial: Denial) => Promise<unknown>) {
    this.#denials = new Denials(clock, deniedPerMinute);
    this.#record = record;
  }

  /**
   * Refuses a caller who may not use a verb, and records the refusal; of very many in a minute it records the number only, so that
   * nobody fills the audit log with them.
   *
   * @throws {OrchestratorError} `UNAUTHENTICATED`; `FORBIDDEN`.
   */
  authorize(caller: Caller, permission: Permission): Promise<void> {
    if (allows(caller, permission)) return this.#isOver(caller, permission) ? over() : allowed;
    return this.refuse(caller, { permission, needed: permissionTable[permission] });
  }

  #isOver(caller: Caller, permission: Permission): boolean {
    if (caller.kind !== "operator" || permissionTable[permission] === "anyone") return false;
    return this.hasEnded(caller.session_id);
  }

  /**
   * Refuses a call, as {@link authorize} does, where the role alone does not tell.
   *
   * @throws {OrchestratorError} `UNAUTHENTICATED`; `FORBIDDEN`.
   */
  async refuse(caller: Caller, refused: Omit<Denial, "caller" | "unrecorded">): Promise<never> {
    // A program without types may have left it out.
    const kind = (caller as Caller | null | undefined)?.kind;
    if (kind === undefined || caller.kind !== "operator") throw new OrchestratorError("UNAUTHENTICATED");
    await this.#denials.record(caller.operator_id, (unrecorded) =>
      this.#record({ caller, ...refused, unrecorded }),
    );
    const { permission, needed } = refused;
    throw new OrchestratorError("FORBIDDEN", { details: { permission, needed } });
  }
}

/** No session is of the token that was given, or none is any more. The reason is the word of RFC 6750 for it. */
export function invalidToken(): OrchestratorError {
  return new OrchestratorError("UNAUTHENTICATED", {
    message: "The session is over, or there was none with this token.",
    details: { reason: "invalid_token" },
  });
}

function over(): Promise<never> {
  return Promise.reject(invalidToken());
}
