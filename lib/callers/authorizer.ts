/** Who may: asked by every verb before it does anything else. */
import type { Clock } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import { allows } from "./allows.ts";
import type { Caller, OperatorCaller } from "./caller.ts";
import { Denials } from "./denials.ts";
import { permissionTable, type Permission } from "./permissions.ts";

/** The one answer to all who may: nearly every call asks, so none is made anew. */
const allowed: Promise<void> = Promise.resolve();

/** Calls of one operator that were denied and are recorded in a minute. */
const deniedPerMinute = 20;

/** A refusal that is worth a record. */
export interface Denial {
  caller: OperatorCaller;
  permission: Permission;
  /** How many refusals of this operator before it were not recorded. */
  unrecorded: number;
}

/** Holds callers to the table of permissions. */
export class Authorizer {
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
    return allows(caller, permission) ? allowed : this.#deny(caller, permission);
  }

  async #deny(caller: Caller, permission: Permission): Promise<never> {
    if (caller.kind !== "operator") throw new OrchestratorError("UNAUTHENTICATED");
    const unrecorded = this.#denials.next(caller.operator_id);
    if (unrecorded !== null) await this.#record({ caller, permission, unrecorded });
    throw new OrchestratorError("FORBIDDEN", {
      details: { permission, needed: permissionTable[permission] },
    });
  }
}
