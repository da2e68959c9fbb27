import type { z } from "zod";
import { toSubject, type Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { RolloutDocument } from "./documents.ts";
import { listRollouts } from "./rollout-list.ts";
import { RolloutMembers, type Listed } from "./rollout-members.ts";
import type { RolloutRun } from "./rollout-run.ts";
import type { RolloutService } from "./rollout-service.ts";
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
import { loadTargets } from "./targets.ts";
import { cancelling, pausing, resuming, type Transition } from "./transitions.ts";

/** Assignments carried out on every agent that they match at the time of the call. */
export class Rollouts {
  readonly #context: Context;
  readonly #service: RolloutService;
  readonly #members: RolloutMembers;

  constructor(context: Context, service: RolloutService, { operations }: { operations: OperationService }) {
    this.#context = context;
    this.#service = service;
    this.#members = new RolloutMembers({
      operations: operations.store,
      freezeOf: (operation) => operations.held.freezeOf(operation),
      store: service.store,
    });
  }

  /**
   * Applies the modules of an assignment on every agent that it matches, and takes away what it brought there before and nobody wants any
   * more. What others brought stays as it is.
   *
   * Agents come in batches, as the assignment says and `rollout` overrides; without either all at once, up to the option
   * `rolloutConcurrency` at a time. Every agent gets the assignment's modules in the revisions of the time of the call.
   *
   * @returns The rollout, ended, or as it is after `wait_seconds`. An agent for which no operation could be made has
   * an error in its place; it keeps nobody else from theirs unless the strategy says so.
   * @throws {OrchestratorError} `NOT_FOUND`; `NO_MATCH`; `MAINTENANCE_WINDOW` where every agent is frozen; `FORBIDDEN` for
   * `override_window` of who is no Admin; `UNKNOWN_RESOURCE_TYPE` where a module has a type that the orchestrator was not given again.
   */
  async apply(caller: Caller, input: z.input<typeof rolloutApplyInput>): Promise<RolloutDetail> {
    await this.#context.authorize(caller, "assignments.applyNow");
    const { name, rollout, wait_seconds, override_window } = parseInput(rolloutApplyInput, input);
    if (override_window) await this.#context.authorize(caller, "maintenanceWindows.update");
    const run = await this.#service.begin(caller, name, (assignment) => {
      const strategy = { ...assignment.rollout, ...rollout };
      return { assignment, kind: "apply", strategy, overrideWindow: override_window };
    });
    return this.#follow(run, wait_seconds);
  }

  /** Tells what {@link apply} would do, on all agents at once. */
  async plan(caller: Caller, input: z.input<typeof rolloutPlanInput>): Promise<RolloutDetail> {
    await this.#context.authorize(caller, "assignments.plan");
    const { name, wait_seconds } = parseInput(rolloutPlanInput, input);
    const run = await this.#service.begin(caller, name, (assignment) => {
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

  async #follow(run: RolloutRun, waitSeconds = 30): Promise<RolloutDetail> {
    await run.wait(waitSeconds * 1000);
    return this.#detail(run.rolloutId);
  }

  async #change(
    caller: Caller,
    input: z.input<typeof rolloutIdInput>,
    transition: Transition,
  ): Promise<RolloutDetail> {
    await this.#context.authorize(caller, transition.permission);
    const { rollout_id } = parseInput(rolloutIdInput, input);
    await this.#service.change(caller, rollout_id, transition);
    return this.#detail(rollout_id);
  }

  async #detail(rolloutId: string): Promise<RolloutDetail> {
    const listed = await this.#listed(rolloutId);
    const operations = await this.#members.first(listed);
    const truncated = listed.targets.agents.length > operations.length;
    return { ...this.#view(listed.rollout), operations, truncated };
  }

  #view(rollout: Readonly<RolloutDocument>): Rollout {
    return this.#service.toView(rollout);
  }

  async #listed(rolloutId: string): Promise<Listed> {
    const { value: rollout } = await this.#service.store.read(rolloutId);
    const run = this.#service.running(rolloutId);
    const targets = run?.targets ?? (await loadTargets(this.#context, rollout.targets));
    return { rollout, targets };
  }
}
