import type { AgentService } from "../agents/agent-service.ts";
import type { AssignmentService } from "../assignments/assignment-service.ts";
import type { AssignmentDocument } from "../assignments/documents.ts";
import { answering, systemCaller, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { MaintenanceService } from "../maintenance/maintenance-service.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { OperationService } from "../operations/operation-service.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import type { RolloutDocument } from "./documents.ts";
import { hasEnded } from "./progress.ts";
import {
  RolloutBeginnings,
  type Beginning,
  type Begun,
  type CommandBeginning,
} from "./rollout-beginnings.ts";
import { correctionOf } from "./rollout-corrections.ts";
import { RolloutEnds } from "./rollout-ends.ts";
import { RolloutRetention } from "./rollout-retention.ts";
import { RolloutRun } from "./rollout-run.ts";
import { RolloutStore } from "./rollout-store.ts";
import { toRollout } from "./rollout-view.ts";
import { ScheduledRollouts, type PassedOver } from "./scheduled-rollouts.ts";
import type { Rollout } from "./schemas.ts";
import { loadTargets, targetsKind, type Targets } from "./targets.ts";
import { cancellingRun, type Transition } from "./transitions.ts";

/** What a call that changes a rollout is answered with, from what it writes. */
type WrittenAnswer = (rollout: Readonly<RolloutDocument>) => unknown;

/** Carries rollouts out, from their beginning or from where the process before left them, to their end. Whoever asks has authorized. */
export class RolloutService {
  /** Removes rollouts that ended long ago. */
  readonly retention: RolloutRetention;
  readonly store: RolloutStore;
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #assignments: AssignmentService;
  readonly #operations: OperationService;
  readonly #beginnings: RolloutBeginnings;
  readonly #work: BackgroundWork;
  readonly #scheduled: ScheduledRollouts;
  readonly #runs = new Map<string, RolloutRun>();
  /** Assignments by the applies of them that have not ended, whichever process drives these. */
  readonly #applying = new Map<string, string>();
  /** Those that were heard of while all were read, which is older; null once they are. */
  #heard: Set<string> | null = new Set();
  readonly #ends: RolloutEnds;

  constructor(
    context: Context,
    features: {
      agents: AgentService;
      assignments: AssignmentService;
      maintenance: MaintenanceService;
      operations: OperationService;
    },
  ) {
    this.#context = context;
    this.#agents = features.agents;
    this.#assignments = features.assignments;
    this.#operations = features.operations;
    this.store = new RolloutStore(context);
    this.#ends = new RolloutEnds(context, this.store);
    this.#beginnings = new RolloutBeginnings(context, { ...features, store: this.store });
    this.retention = new RolloutRetention(context);
    this.#work = new BackgroundWork(context);
    this.#scheduled = new ScheduledRollouts(context, {
      assignments: features.assignments,
      work: this.#work,
      begin: async (assignment, write) => {
        const how = { assignment, kind: "apply", trigger: "scheduled", writes: [write] } as const;
        await this.#go(await this.#beginnings.store(systemCaller, how));
      },
      isRunning: (name) => [...this.#applying.values()].includes(name),
    });
    // Another process may have been told to pause, resume or cancel it.
    context.feed.follow<RolloutDocument>("rollouts", ({ key, document }) => {
      const run = this.#runs.get(key);
      if (document && run && run.status !== document.value.status) run.go();
    });
    context.contents.onReference(targetsKind, (hash) => this.store.isReferred(hash));
    features.operations.retention.onRollout((rolloutId) => this.store.isOpen(rolloutId));
    context.references.register("module", (names) => this.store.usersOf(new Set(names)));
    features.operations.store.watch((operation) => this.#note(operation));
    features.operations.outcomes.onCorrection((before, after) =>
      correctionOf(context.storage, { before, after }),
    );
    // What is held takes nobody's place among those that are open at once.
    features.operations.held.watch((rolloutId) => this.#runs.get(rolloutId)?.go());
    context.feed.follow<RolloutDocument>("rollouts", ({ key, document }) => {
      this.#heard?.add(key);
      this.#know(key, document?.value);
    });
    context.epochs.onResume(() => {
      for (const run of this.#runs.values()) run.go();
      this.#scheduled.look();
    });
  }

  /** Resolves when a rollout has ended, or after a time in milliseconds; `NOT_FOUND` where there is none. */
  wait(rolloutId: string, waitMs: number): Promise<void> {
    return this.#ends.wait(rolloutId, waitMs);
  }

  /** A rollout as callers see it; `NOT_FOUND` where there is none. */
  async view(rolloutId: string): Promise<Rollout> {
    return this.toView((await this.store.read(rolloutId)).value);
  }

  /** A rollout that was read, as callers see it. */
  toView(rollout: Readonly<RolloutDocument>): Rollout {
    const { rollout_id } = rollout;
    const held = this.#operations.held.frozenOf(rollout_id);
    return this.#toView(rollout, { progress: this.running(rollout_id)?.progress, held });
  }

  /** A rollout as it was written, whatever became of its agents since. */
  asWritten(rollout: Readonly<RolloutDocument>): Rollout {
    return this.#toView(rollout, { progress: undefined, held: 0 });
  }

  #toView(
    rollout: Readonly<RolloutDocument>,
    known: Omit<Parameters<typeof toRollout>[1], "toWall">,
  ): Rollout {
    return toRollout(rollout, { ...known, toWall: (ms) => this.#context.fleetTime.toWall(ms) });
  }

  /**
   * Changes how a rollout stands, and has it go on from there. Resolves with it as it was written.
   *
   * @param transition.answer - What the call that asks for it is answered with, should nothing more become known of it.
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION`.
   */
  async change(
    caller: Caller,
    rolloutId: string,
    { from, change, answer }: Transition & { answer: WrittenAnswer },
  ): Promise<Readonly<RolloutDocument>> {
    const rollout = await this.store.update(caller, rolloutId, (before) => {
      if (!from.includes(before.status))
        throw new OrchestratorError("INVALID_TRANSITION", { message: `The rollout is ${before.status}.` });
      const changed = change(before);
      answering(caller, answer(changed.rollout));
      return changed;
    });
    await this.running(rolloutId)?.goNow();
    return rollout;
  }

  /**
   * Ends a command, also where it runs. As {@link change}.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has ended.
   */
  cancelRun(caller: Caller, rolloutId: string, answer: WrittenAnswer): Promise<Readonly<RolloutDocument>> {
    return this.change(caller, rolloutId, { ...cancellingRun(caller), answer });
  }

  /** One that has not ended; undefined where there is none of this id. */
  running(rolloutId: string): RolloutRun | undefined {
    return this.#runs.get(rolloutId);
  }

  /**
   * Reads what was open when the process ended, and counts how far each is. Called before any operation moves.
   *
   * @returns How many were open.
   */
  async load(): Promise<number> {
    for await (const rollout of this.store.open()) {
      if (this.#heard?.has(rollout.rollout_id) !== true) this.#know(rollout.rollout_id, rollout);
      await this.#run(rollout, await loadTargets(this.#context, rollout.targets)).recall();
    }
    this.#heard = null;
    return this.#runs.size;
  }

  /** Goes on with what was read, and begins to keep the schedules. */
  start(): void {
    for (const run of this.#runs.values()) run.go();
    this.#scheduled.start();
  }

  /** What tells of schedules that were due while the server was away or paused, and has none of them carried out late. */
  passingOver(reason: string): Promise<PassedOver> {
    return this.#scheduled.passingOver(reason);
  }

  /** Those that have not ended, oldest first. */
  get open(): RolloutStore["open"] {
    return () => this.store.open();
  }

  /** Begins nothing any more, and waits for what is being written. What is open goes on at the next start. */
  async stop(): Promise<void> {
    this.#ends.release();
    await this.#work.stop();
  }

  /** Stores a rollout of what an assignment is then, again where one of its modules changed in that moment. */
  async begin(
    caller: Caller,
    name: string,
    how: (assignment: Readonly<AssignmentDocument>) => Beginning,
  ): Promise<Begun> {
    const begun = await retryOnConflict(async () => {
      const { value: assignment } = await this.#assignments.read(name);
      return this.#beginnings.store(caller, how(assignment));
    });
    return this.#go(begun);
  }

  /** Stores a command on its way through agents, and begins it. */
  async beginCommand(caller: Caller, beginning: CommandBeginning): Promise<Begun> {
    return this.#go(await this.#beginnings.storeCommand(caller, beginning));
  }

  async #go(begun: Begun): Promise<Begun> {
    await this.#run(begun.rollout, begun.targets).goNow();
    return begun;
  }

  #run(rollout: Readonly<RolloutDocument>, targets: Targets): RolloutRun {
    const parts = {
      context: this.#context,
      agents: this.#agents,
      operations: this.#operations,
      store: this.store,
      work: this.#work,
    };
    const onEnd = (): void => void this.#runs.delete(rollout.rollout_id);
    const run = new RolloutRun(parts, rollout, { targets, onEnd });
    this.#runs.set(rollout.rollout_id, run);
    return run;
  }

  /** How one stands, whichever process drives it. What waits of one that is paused or stops may not begin either. */
  #know(rolloutId: string, rollout: Readonly<RolloutDocument> | undefined): void {
    const { status, kind, assignment } = rollout ?? {};
    this.#operations.held.keepRollout(rolloutId, status === "paused" || status === "stopping");
    if (kind === "apply" && assignment !== undefined && status !== undefined && !hasEnded(status))
      this.#applying.set(rolloutId, assignment);
    else this.#applying.delete(rolloutId);
  }

  #note(operation: Readonly<OperationDocument>): void {
    if (operation.rollout_id !== undefined) this.#runs.get(operation.rollout_id)?.note(operation);
  }
}
