import type { AssignmentService } from "../assignments/assignment-service.ts";
import type { AssignmentDocument } from "../assignments/documents.ts";
import { answering, type Caller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { RolloutService } from "../rollouts/rollout-service.ts";
import type { MissedRun } from "../rollouts/scheduled-rollouts.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { RestoreState } from "./schemas.ts";

/** Most of each kind that are named. */
const mostNamed = 100;

interface Features {
  assignments: AssignmentService;
  operations: OperationService;
  rollouts: RolloutService;
}

type Waiting = Pick<RestoreState, "open_operations" | "operations" | "rollouts" | "missed" | "enforcing">;

/** What waits after a restore, and the word that has it go on. */
export class Restores {
  readonly #context: Context;
  readonly #features: Features;

  constructor(context: Context, features: Features) {
    this.#context = context;
    this.#features = features;
  }

  /** Tells whether the server is paused after a restore, and what {@link resume} would set going. */
  async get(caller: Caller): Promise<RestoreState> {
    await this.#context.authorize(caller, "restores.get");
    return this.#state(this.#context.epochs.isPaused ? await this.#waiting() : nothing);
  }

  /**
   * Goes on after a restore: what waited may begin, rollouts go on, and schedules count from now on. Due times that have passed are
   * passed over, with an event each: they may have been carried out before the restore.
   *
   * @returns The state since, with what was passed over in `missed`.
   * @throws {OrchestratorError} `INVALID_TRANSITION` where the server is not paused.
   */
  async resume(caller: Caller): Promise<RestoreState> {
    await this.#context.authorize(caller, "restores.resume");
    return retryOnConflict(() => this.#resume(caller));
  }

  /** In one step, so that nothing is passed over where the server stays paused. */
  async #resume(caller: Caller): Promise<RestoreState> {
    const { epochs } = this.#context;
    if (!epochs.isPaused)
      throw new OrchestratorError("INVALID_TRANSITION", {
        message: "The server is not paused after a restore.",
      });
    const { missed, writes, events } = await this.#features.rollouts.passingOver(
      "The server was restored from a backup: it may have been carried out since.",
    );
    const passedOver = { ...nothing, missed: missed.slice(0, mostNamed) };
    await epochs.resume((write, resumed) => {
      const answered = answering(caller, this.#state(passedOver, resumed));
      return this.#context.commitWithReserve(answered, [write, ...writes], ...events, {
        type: "storage.resumed",
        summary: "The server was told to go on after a restore",
        metadata: { schedules_passed_over: missed.length },
      });
    });
    return this.#state(passedOver);
  }

  #state(waiting: Waiting, document = this.#context.epochs.document): RestoreState {
    const { supersededBy } = this.#context.epochs;
    const { restored_at = null, backup_at = null, resumed_at = null } = document?.restore ?? {};
    return {
      status: restored_at !== null && resumed_at === null ? "paused" : "active",
      epoch: document && { number: document.number, id: document.id, begun_at: document.begun_at },
      restored_at,
      backup_at,
      resumed_at,
      superseded_by: supersededBy && { number: supersededBy.number, node_id: supersededBy.nodeId },
      ...waiting,
    };
  }

  async #waiting(): Promise<Waiting> {
    const operations: RestoreState["operations"] = [];
    let open = 0;
    for await (const operation of this.#features.operations.store.open()) {
      if (!this.#context.epochs.isBefore(operation)) continue;
      open += 1;
      if (operations.length < mostNamed) operations.push(toWaiting(operation));
    }
    return {
      open_operations: open,
      operations,
      rollouts: await this.#rollouts(),
      missed: await this.#missed(),
      enforcing: await this.#enforcing(),
    };
  }

  async #rollouts(): Promise<RestoreState["rollouts"]> {
    const rollouts: RestoreState["rollouts"] = [];
    for await (const rollout of this.#features.rollouts.open()) {
      if (!this.#context.epochs.isBefore(rollout)) continue;
      const { rollout_id, assignment, command, kind, status, matched, begun } = rollout;
      rollouts.push({
        rollout_id,
        ...(assignment !== undefined && { assignment }),
        ...(command !== undefined && { command }),
        kind,
        status,
        matched,
        left: matched - begun,
      });
      if (rollouts.length === mostNamed) break;
    }
    return rollouts;
  }

  async #missed(): Promise<MissedRun[]> {
    const missed: MissedRun[] = [];
    for await (const { value } of this.#features.assignments.due.due(this.#context.clock.now())) {
      if (value.is_over === true) continue;
      missed.push({ assignment: value.name, due_at: toTimestamp(value.next_run_at) });
      if (missed.length === mostNamed) break;
    }
    return missed;
  }

  async #enforcing(): Promise<string[]> {
    const names: string[] = [];
    for await (const { value } of eachDocument<AssignmentDocument>(this.#context.storage, "assignments")) {
      if (value.enforce === true) names.push(value.name);
      if (names.length === mostNamed) break;
    }
    return names;
  }
}

const nothing: Waiting = { open_operations: 0, operations: [], rollouts: [], missed: [], enforcing: [] };

function toWaiting(operation: Readonly<OperationDocument>): RestoreState["operations"][number] {
  const { operation_id, kind, node_id, agent_name, status, created_at } = operation;
  const would = status === "queued" ? "begin" : "end";
  return { operation_id, kind, node_id, agent_name, status, created_at, would };
}
