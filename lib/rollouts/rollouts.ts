import type { z } from "zod";
import { toSubject, systemCaller, type Caller } from "../access/caller.ts";
import type { Agents } from "../agents/agents.ts";
import type { AssignmentDocument } from "../assignments/documents.ts";
import type { Assignments } from "../assignments/assignments.ts";
import { BackgroundWork } from "../background-work.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import type { OperationDocument } from "../operations/documents.ts";
import type { Operations } from "../operations/operations.ts";
import type { RolloutDocument } from "./documents.ts";
import { RolloutBeginnings, type Beginning, type Begun } from "./rollout-beginnings.ts";
import { listRollouts } from "./rollout-list.ts";
import { RolloutRetention } from "./rollout-retention.ts";
import { RolloutRun } from "./rollout-run.ts";
import { RolloutStore } from "./rollout-store.ts";
import { ScheduledRollouts, type MissedRun } from "./scheduled-rollouts.ts";
import { cancelling, correcting, pausing, resuming, type Transition } from "./transitions.ts";
import { RolloutMembers, type Listed } from "./rollout-members.ts";
import { toRollout } from "./rollout-view.ts";
import {
  listMembersInput,
  listRolloutsInput,
  rolloutApplyInput,
  rolloutIdInput,
  rolloutPlanInput,
  type Rollout,
  type RolloutDetail,
  type RolloutMember,
} from "./schemas.ts";
import { loadTargets, targetsKind, type Targets } from "./targets.ts";

/** Assignments carried out on every agent that they match at the time of the call. */
export class Rollouts {
  /** Removes rollouts that ended long ago. @internal */
  readonly retention: RolloutRetention;
  readonly #context: Context;
  readonly #agents: Agents;
  readonly #assignments: Assignments;
  readonly #operations: Operations;
  readonly #store: RolloutStore;
  readonly #beginnings: RolloutBeginnings;
  readonly #members: RolloutMembers;
  readonly #work: BackgroundWork;
  readonly #scheduled: ScheduledRollouts;
  readonly #runs = new Map<string, RolloutRun>();

  constructor(
    context: Context,
    features: { agents: Agents; assignments: Assignments; operations: Operations },
  ) {
    this.#context = context;
    this.#agents = features.agents;
    this.#assignments = features.assignments;
    this.#operations = features.operations;
    this.#store = new RolloutStore(context);
    this.#beginnings = new RolloutBeginnings(context, { ...features, store: this.#store });
    this.#members = new RolloutMembers({ operations: features.operations.store, store: this.#store });
    this.retention = new RolloutRetention(context);
    this.#work = new BackgroundWork(context);
    this.#scheduled = new ScheduledRollouts(context, {
      assignments: features.assignments,
      work: this.#work,
      begin: async (assignment, write) => {
        const how = { assignment, kind: "apply", trigger: "scheduled", writes: [write] } as const;
        return this.#go(await this.#beginnings.store(systemCaller, how));
      },
      isRunning: (name) =>
        [...this.#runs.values()].some(({ assignment, kind }) => assignment === name && kind === "apply"),
    });
    context.contents.onReference(targetsKind, (hash) => this.#store.isReferred(hash));
    features.operations.retention.onRollout((rolloutId) => this.#store.isOpen(rolloutId));
    context.references.register("module", (names) => this.#store.usersOf(new Set(names)));
    features.operations.store.watch((after, before) => this.#note(after, before));
    context.epochs.onResume(() => {
      for (const run of this.#runs.values()) run.go();
      this.#scheduled.look();
    });
    context.leaving.signal.addEventListener("abort", () => {
      for (const run of this.#runs.values()) run.letGo();
    });
  }

  /**
   * Applies, on every agent that an assignment matches, all that is desired of that agent.
   *
   * Agents come in batches, as the assignment says and `rollout` overrides; without either all at once, up to the option
   * `rolloutConcurrency` at a time. Every agent gets the assignment's modules in the revisions of the time of the call.
   *
   * @returns The rollout, ended, or as it is after `wait_seconds`. An agent for which no operation could be made has
   * an error in its place; it keeps nobody else from theirs unless the strategy says so.
   * @throws {OrchestratorError} `NOT_FOUND`; `NO_MATCH`.
   */
  async apply(caller: Caller, input: z.input<typeof rolloutApplyInput>): Promise<RolloutDetail> {
    await this.#context.authorize(caller, "assignments.applyNow");
    const { name, rollout, wait_seconds } = parseInput(rolloutApplyInput, input);
    const run = await this.#begin(caller, name, (assignment) => {
      return { assignment, kind: "apply", strategy: { ...assignment.rollout, ...rollout } };
    });
    return this.#follow(run, wait_seconds);
  }

  /** Tells what {@link apply} would do, on all agents at once. */
  async plan(caller: Caller, input: z.input<typeof rolloutPlanInput>): Promise<RolloutDetail> {
    await this.#context.authorize(caller, "assignments.plan");
    const { name, wait_seconds } = parseInput(rolloutPlanInput, input);
    const run = await this.#begin(caller, name, (assignment) => {
      return { assignment, kind: "plan", strategy: {} };
    });
    return this.#follow(run, wait_seconds);
  }

  /** Lists rollouts, newest first. */
  async list(caller: Caller, input: z.input<typeof listRolloutsInput> = {}): Promise<Page<Rollout>> {
    await this.#context.authorize(caller, "rollouts.list");
    const page = await listRollouts(this.#context, parseInput(listRolloutsInput, input));
    const items = page.items.map((each) => this.#view(each));
    return { ...page, items };
  }

  /**
   * Lists the agents of a rollout in the order in which they are begun. A call looks at 2,000 agents at most, so with a filter a page
   * may hold less than `limit` and still have a `next_cursor`.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async agents(caller: Caller, input: z.input<typeof listMembersInput>): Promise<Page<RolloutMember>> {
    await this.#context.authorize(caller, "rollouts.agents");
    const query = parseInput(listMembersInput, input);
    return this.#members.page(await this.#listed(query.rollout_id), query);
  }

  /**
   * Reads a rollout with its agents; of very many, the first 1,000.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof rolloutIdInput>): Promise<RolloutDetail> {
    await this.#context.authorize(caller, "rollouts.get");
    return this.#detail(parseInput(rolloutIdInput, input).rollout_id);
  }

  /**
   * Begins no further agent until {@link resume}. What was begun goes on.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it is not running.
   */
  pause(caller: Caller, input: z.input<typeof rolloutIdInput>): Promise<RolloutDetail> {
    return this.#change(caller, input, pausing);
  }

  /**
   * Goes on with a rollout that was paused.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it is not paused.
   */
  resume(caller: Caller, input: z.input<typeof rolloutIdInput>): Promise<RolloutDetail> {
    return this.#change(caller, input, resuming);
  }

  /**
   * Ends a rollout: what has not started is cancelled, what runs on a machine ends there.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has ended or is stopping.
   */
  cancel(caller: Caller, input: z.input<typeof rolloutIdInput>): Promise<RolloutDetail> {
    return this.#change(caller, input, cancelling(toSubject(caller).name));
  }

  /**
   * Reads what was open when the process ended, and counts how far each is. Called before any operation moves.
   *
   * @returns How many were open.
   */
  async load(): Promise<number> {
    for await (const rollout of this.#store.open()) {
      await this.#run(rollout, await loadTargets(this.#context, rollout.targets)).recall();
    }
    return this.#runs.size;
  }

  /** Goes on with what was read, and begins to keep the schedules. */
  async start(): Promise<void> {
    for (const run of this.#runs.values()) run.go();
    await this.#scheduled.start();
  }

  /** Tells of schedules that were due while the server was away or paused, and has none of them carried out late. */
  skipMissed(reason: string): Promise<MissedRun[]> {
    return this.#scheduled.skipMissed(reason);
  }

  /** Those that have not ended, oldest first. */
  get open(): RolloutStore["open"] {
    return () => this.#store.open();
  }

  /** Begins nothing any more, and waits for what is being written. What is open goes on at the next start. */
  async stop(): Promise<void> {
    for (const run of this.#runs.values()) run.release();
    await this.#work.stop();
  }

  /** Stores a rollout of what an assignment is then, again where one of its modules changed in that moment. */
  async #begin(
    caller: Caller,
    name: string,
    how: (assignment: Readonly<AssignmentDocument>) => Beginning,
  ): Promise<RolloutRun> {
    const begun = await retryOnConflict(async () => {
      const { value: assignment } = await this.#assignments.read(name);
      return this.#beginnings.store(caller, how(assignment));
    });
    return this.#go(begun);
  }

  async #go({ rollout, targets }: Begun): Promise<RolloutRun> {
    const run = this.#run(rollout, targets);
    await run.goNow();
    return run;
  }

  #run(rollout: Readonly<RolloutDocument>, targets: Targets): RolloutRun {
    const parts = {
      context: this.#context,
      agents: this.#agents,
      operations: this.#operations,
      store: this.#store,
      work: this.#work,
    };
    const onEnd = (): void => void this.#runs.delete(rollout.rollout_id);
    const run = new RolloutRun(parts, rollout, { targets, onEnd });
    this.#runs.set(rollout.rollout_id, run);
    return run;
  }

  async #follow(run: RolloutRun, waitSeconds = 30): Promise<RolloutDetail> {
    await run.wait(waitSeconds * 1000);
    return this.#detail(run.rolloutId);
  }

  async #change(
    caller: Caller,
    input: z.input<typeof rolloutIdInput>,
    { permission, from, change }: Transition,
  ): Promise<RolloutDetail> {
    await this.#context.authorize(caller, permission);
    const { rollout_id } = parseInput(rolloutIdInput, input);
    await this.#store.update(caller, rollout_id, (rollout) => {
      if (from.includes(rollout.status)) return change(rollout);
      throw new OrchestratorError("INVALID_TRANSITION", { message: `The rollout is ${rollout.status}.` });
    });
    await this.#runs.get(rollout_id)?.goNow();
    return this.#detail(rollout_id);
  }

  async #detail(rolloutId: string): Promise<RolloutDetail> {
    const listed = await this.#listed(rolloutId);
    const operations = await this.#members.first(listed);
    const truncated = listed.targets.agents.length > operations.length;
    return { ...this.#view(listed.rollout), operations, truncated };
  }

  #view(rollout: Readonly<RolloutDocument>): Rollout {
    const toWall = (ms: number): number => this.#context.fleetTime.toWall(ms);
    return toRollout(rollout, { progress: this.#runs.get(rollout.rollout_id)?.progress, toWall });
  }

  async #listed(rolloutId: string): Promise<Listed> {
    const { value: rollout } = await this.#store.read(rolloutId);
    const run = this.#runs.get(rolloutId);
    const targets = run?.targets ?? (await loadTargets(this.#context, rollout.targets));
    return { rollout, targets };
  }

  #note(after: Readonly<OperationDocument>, before: Readonly<OperationDocument> | null): void {
    if (after.rollout_id === undefined) return;
    const run = this.#runs.get(after.rollout_id);
    if (run) run.note(after, before);
    // An agent of which nothing was heard has turned up after the rollout had ended.
    else if (before?.status === "unknown") this.#work.do(() => this.#correct(after));
  }

  async #correct({ rollout_id, status }: Readonly<OperationDocument>): Promise<void> {
    await this.#store.update(systemCaller, rollout_id!, correcting(status));
  }
}
