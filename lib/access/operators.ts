import type { z } from "zod";
import { answering, toSubject, type Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { parsePublicKey } from "../crypto/parse-public-key.ts";
import { requireVersion, type ChangeOptions } from "../document-version.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { EventSubject } from "../events.ts";
import type { Page } from "../internal/common-schemas.ts";
import { decodeCursor, encodeCursor } from "../internal/cursor.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { isManagedAs, managedAfter } from "../managed-by.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import type { AdminsDocument, OperatorDocument } from "./documents.ts";
import { toOperator, type OperatorRegistry } from "./operator-registry.ts";
import {
  addOperatorInput,
  listOperatorsInput,
  operatorIdInput,
  setRoleInput,
  type Operator,
} from "./schemas.ts";
import type { Sessions } from "./sessions.ts";

/** The people and programs who may sign in. */
export class Operators {
  readonly #context: Context;
  readonly #registry: OperatorRegistry;
  readonly #sessions: Sessions;

  constructor(context: Context, { registry, sessions }: { registry: OperatorRegistry; sessions: Sessions }) {
    this.#context = context;
    this.#registry = registry;
    this.#sessions = sessions;
  }

  /** Lists operators by username. */
  async list(caller: Caller, input: z.input<typeof listOperatorsInput> = {}): Promise<Page<Operator>> {
    await this.#context.authorize(caller, "operators.list");
    const { limit, cursor } = parseInput(listOperatorsInput, input);
    const page = await this.#context.storage.list<OperatorDocument>("operators", {
      index: "by_username",
      limit: limit ?? 50,
      ...(cursor !== undefined && { after: String(decodeCursor("operators", {}, cursor)) }),
    });
    return {
      items: page.items.map(toOperator),
      next_cursor: page.next === null ? null : encodeCursor("operators", {}, page.next),
    };
  }

  /**
   * Reads one operator.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof operatorIdInput>): Promise<Operator> {
    await this.#context.authorize(caller, "operators.get");
    return toOperator(await this.#registry.read(parseInput(operatorIdInput, input).operator_id));
  }

  /**
   * Lets somebody sign in with a key from now on. The operator's id is derived from the key.
   *
   * @throws {OrchestratorError} `KEY_REFUSED` for a weak key; `ALREADY_EXISTS` for a known key or username.
   */
  async add(caller: Caller, input: z.input<typeof addOperatorInput>): Promise<Operator> {
    await this.#context.authorize(caller, "operators.add");
    const { username, public_key, role = "Operator", managed_by } = parseInput(addOperatorInput, input);
    const key = parsePublicKey(public_key, this.#context.crypto);
    const operator: OperatorDocument = {
      operator_id: key.id,
      username,
      role,
      public_key: key.hex,
      added_at: this.#context.timestamp(),
      added_by: toSubject(caller).name,
      ...(managed_by && { managed_by }),
    };
    const writes: Write[] = [
      { kind: "put", collection: "operators", key: key.id, value: toJsonObject(operator), expected: 0 },
      {
        kind: "put",
        collection: "operator_names",
        key: username.toLowerCase(),
        value: { operator_id: key.id },
        expected: 0,
      },
    ];
    const added = toOperator({ value: operator, revision: 1 });
    const event: EventInput = {
      type: "operator.added",
      target: asSubject(operator),
      summary: `Operator ${username} was added as ${role}`,
      metadata: { role, public_key: key.hex },
    };
    const admins = (ids: string[]): string[] => (role === "Admin" ? [...ids, key.id] : ids);
    await retryOnConflict(async () => {
      const guard = await this.#changeAdmins(admins);
      await this.#context
        .commit(answering(caller, added), [...writes, ...guard], event)
        .catch((error: unknown) => {
          throw asDuplicate(error);
        });
    });
    return added;
  }

  /**
   * Gives an operator another role and ends their sessions. Where the role stays, so do they: then it only says which folder manages the
   * operator.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `LAST_ADMIN`; `PRECONDITION_FAILED`.
   */
  async setRole(
    caller: Caller,
    input: z.input<typeof setRoleInput>,
    options?: ChangeOptions,
  ): Promise<Operator> {
    await this.#context.authorize(caller, "operators.setRole");
    const { operator_id, role, managed_by } = parseInput(setRoleInput, input);
    return retryOnConflict(async () => {
      const stored = await this.#registry.read(operator_id);
      requireVersion(stored, options);
      const operator = { ...managedAfter(stored.value, managed_by), role };
      if (stored.value.role !== role) return this.#setRole(caller, stored, operator);
      return isManagedAs(stored.value, managed_by)
        ? toOperator(stored)
        : this.#manage(caller, stored, operator);
    });
  }

  async #manage(
    caller: Caller,
    stored: StoredDocument<OperatorDocument>,
    operator: OperatorDocument,
  ): Promise<Operator> {
    const changed = toOperator({ value: operator, revision: stored.revision + 1 });
    await this.#context.commit(answering(caller, changed), [toPut(operator, stored.revision)], {
      type: "operator.managed",
      target: asSubject(operator),
      summary: `Operator ${operator.username} is ${operator.managed_by ? `managed by the folder ${operator.managed_by.label}` : "managed by no folder"}`,
      metadata: { label: operator.managed_by?.label ?? null },
    });
    return changed;
  }

  async #setRole(
    caller: Caller,
    stored: StoredDocument<OperatorDocument>,
    operator: OperatorDocument,
  ): Promise<Operator> {
    const { operator_id, role } = operator;
    const writes: Write[] = [
      toPut(operator, stored.revision),
      ...(await this.#sessions.endAllOf(operator_id)),
    ];
    const others = (ids: string[]): string[] => ids.filter((id) => id !== operator_id);
    const guard = await this.#changeAdmins((ids) =>
      role === "Admin" ? [...others(ids), operator_id] : others(ids),
    );
    const changed = toOperator({ value: operator, revision: stored.revision + 1 });
    await this.#context.commit(answering(caller, changed), [...writes, ...guard], {
      type: "operator.roleChanged",
      target: asSubject(operator),
      summary: `Operator ${operator.username} is now ${role}`,
      metadata: { before: stored.value.role, after: role },
    });
    return changed;
  }

  /**
   * Removes an operator and ends their sessions.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `LAST_ADMIN`; `PRECONDITION_FAILED`.
   */
  async remove(
    caller: Caller,
    input: z.input<typeof operatorIdInput>,
    options?: ChangeOptions,
  ): Promise<void> {
    await this.#context.authorize(caller, "operators.remove");
    const { operator_id } = parseInput(operatorIdInput, input);
    await retryOnConflict(async () => {
      const stored = await this.#registry.read(operator_id);
      requireVersion(stored, options);
      await this.#remove(caller, stored);
    });
  }

  async #remove(caller: Caller, stored: StoredDocument<OperatorDocument>): Promise<void> {
    const { operator_id } = stored.value;
    const writes: Write[] = [
      { kind: "delete", collection: "operators", key: operator_id, expected: stored.revision },
      { kind: "delete", collection: "operator_names", key: stored.value.username.toLowerCase() },
      ...(await this.#sessions.endAllOf(operator_id)),
    ];
    const guard = await this.#changeAdmins((ids) => ids.filter((id) => id !== operator_id));
    await this.#context.commit(answering(caller), [...writes, ...guard], {
      type: "operator.removed",
      target: asSubject(stored.value),
      summary: `Operator ${stored.value.username} was removed`,
    });
  }

  /** The write of the list of Admins that a change leaves, refusing an empty one; of two at once, one conflicts. */
  async #changeAdmins(change: (ids: string[]) => string[]): Promise<Write[]> {
    const stored = await this.#context.storage.get<AdminsDocument>("admins", "all");
    const before = stored?.value.operator_ids ?? [];
    const after = change(before);
    if (before.length > 0 && after.length === 0) throw new OrchestratorError("LAST_ADMIN");
    if (after.length === before.length && after.every((id, at) => id === before[at])) return [];
    const value = { operator_ids: after };
    return [{ kind: "put", collection: "admins", key: "all", value, expected: stored?.revision ?? 0 }];
  }
}

function toPut(operator: OperatorDocument, expected: number): Write {
  const value = toJsonObject(operator);
  return { kind: "put", collection: "operators", key: operator.operator_id, value, expected };
}

/** A conflict on a document that had to be new means that somebody has that key or name. */
function asDuplicate(error: unknown): unknown {
  if (!isOrchestratorError(error, "REVISION_CONFLICT") || error.details["collection"] === "admins")
    return error;
  const what = error.details["collection"] === "operator_names" ? "username" : "public key";
  return new OrchestratorError("ALREADY_EXISTS", {
    message: `An operator with this ${what} exists.`,
    cause: error,
  });
}

function asSubject(operator: OperatorDocument): EventSubject {
  return { type: "operator", id: operator.operator_id, name: operator.username };
}
