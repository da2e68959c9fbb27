import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { RolloutDocument } from "./documents.ts";
import { readPlanned, type PlannedRollout } from "./planned-rollout.ts";
import type { Begun } from "./rollout-beginnings.ts";
import { listGroups } from "./rollout-groups.ts";
import { listRollouts } from "./rollout-list.ts";
import { RolloutMembers, type Listed } from "./rollout-members.ts";
import type { RolloutService } from "./rollout-service.ts";
import {
  changeRolloutInput,
  getRolloutInput,
  listGroupsInput,
  listMembersInput,
  listRolloutsInput,
  rolloutApplyInput,
  rolloutPlanInput,
  type Rollout,
  type RolloutDetail,
  type RolloutGroup,
  type RolloutMember,
} from "./schemas.ts";
import { loadTargets } from "./targets.ts";
import { cancelling, pausing, resuming, type Transition } from "./transitions.ts";

/** How long a call waits for a rollout, and how many of its agents it is answered with. */
type Following = Pick<z.output<typeof getRolloutInput>, "wait_seconds" | "show_agents">;

/** Assignments carried out on every agent that they match at the time of the call. */
export class Rollouts {
  readonly #context: Context;
  readonly #service: RolloutService;
  readonly #features: { operations: OperationService; agents: AgentService };
  readonly #members: RolloutMembers;

  constructor(
    context: Context,
    service: RolloutService,
    { operations, agents }: { operations: OperationService; agents: AgentService },
  ) {
    this.#context = context;
    this.#features = { operations, agents };
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
   * With `plan_rollout_id` it does exactly what that plan of the assignment said, agent by agent, or nothing there: an agent on which the plan
   * is not true any more is left out as `stale`, and counts as no failure. Agents that are not in the plan are left alone and told as `unplanned`.
   *
   * @returns The rollout, ended, or as it is after `wait_seconds`. An agent for which no operation could be made has
   * an error in its place; it keeps nobody else from theirs unless the strategy says so.
   * @throws {OrchestratorError} `NOT_FOUND`, also for a plan of something else; `INVALID_TRANSITION` for a plan that has not ended, or told
   * nothing; `PLAN_STALE` where the assignment brings other modules or revisions than the plan, or what it said is not kept any more; `NO_MATCH`; `MAINTENANCE_WINDOW` where every agent is frozen; `FORBIDDEN` for
   * `override_window` of who is no Admin; `UNKNOWN_RESOURCE_TYPE` where a module has a type that the orchestrator was not given again.
   */
  async apply(caller: Caller, input: z.input<typeof rolloutApplyInput>): Promise<RolloutDetail> {
    await this.#context.authorize(caller, "assignments.applyNow");
    const {
      name,
      rollout,
      override_window,
      plan_rollout_id: planned,
      ...how
    } = parseInput(rolloutApplyInput, input);
    if (override_window) await this.#context.authorize(caller, "maintenanceWindows.update");
    const plan = planned === undefined ? undefined : await this.#planned(name, planned);
    const answer = (begun: Begun): RolloutDetail => this.#asBegun(begun, how);
    const begun = await this.#service.begin(caller, name, (assignment) => {
      const strategy = { ...assignment.rollout, ...rollout };
      return { assignment, kind: "apply", strategy, plan, overrideWindow: override_window, answer };
    });
    return this.#follow(begun, how);
  }

  /** Tells what {@link apply} would do, on all agents at once. */
  async plan(caller: Caller, input: z.input<typeof rolloutPlanInput>): Promise<RolloutDetail> {
    await this.#context.authorize(caller, "assignments.plan");
    const { name, ...how } = parseInput(rolloutPlanInput, input);
    const answer = (begun: Begun): RolloutDetail => this.#asBegun(begun, how);
    const begun = await this.#service.begin(caller, name, (assignment) => {
      return { assignment, kind: "plan", strategy: {}, answer };
    });
    return this.#follow(begun, how);
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
   * Lists the groups of agents of a rollout whose operations ended alike, smallest first: what was, would be or could not be changed is told
   * once for all of them. While a rollout goes on a group that grows may come a second time on a later page.
   *
   * Groups are of what a reader sees: two hidden values that differ look the same, and are the same here. A page ends early, and still has a
   * `next_cursor`, once it has half a mebibyte. A command has none: see `Runs.get`.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async changes(caller: Caller, input: z.input<typeof listGroupsInput>): Promise<Page<RolloutGroup>> {
    await this.#context.authorize(caller, "rollouts.changes");
    const query = parseInput(listGroupsInput, input);
    await this.#service.store.read(query.rollout_id);
    // Where nothing can be written, what was written before is read.
    await this.#service
      .running(query.rollout_id)
      ?.writeGroups()
      .catch((error: unknown) => {
        if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
      });
    return listGroups(this.#context, query, this.#features);
  }

  /**
   * Reads a rollout with its agents; of very many, the first 1,000.
   *
   * @returns The rollout as it is, or with `wait_seconds` once it has ended or the time is over.
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof getRolloutInput>): Promise<RolloutDetail> {
    await this.#context.authorize(caller, "rollouts.get");
    const { rollout_id, show_agents, wait_seconds = 0 } = parseInput(getRolloutInput, input);
    await this.#service.wait(rollout_id, wait_seconds * 1000);
    // Who was removed while they waited is told nothing of what came since.
    await this.#context.authorize(caller, "rollouts.get");
    return this.#detail(rollout_id, show_agents);
  }

  /**
   * Begins no further agent until {@link resume}. What was begun goes on.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it is not running.
   */
  pause(caller: Caller, input: z.input<typeof changeRolloutInput>): Promise<RolloutDetail> {
    return this.#change(caller, input, pausing);
  }

  /**
   * Goes on with a rollout that was paused.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it is not paused.
   */
  resume(caller: Caller, input: z.input<typeof changeRolloutInput>): Promise<RolloutDetail> {
    return this.#change(caller, input, resuming);
  }

  /**
   * Ends a rollout: what has not started is cancelled, what runs on a machine is finished there.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has ended or is stopping.
   */
  cancel(caller: Caller, input: z.input<typeof changeRolloutInput>): Promise<RolloutDetail> {
    return this.#change(caller, input, cancelling(caller));
  }

  #follow(begun: Begun, how: Following): Promise<RolloutDetail> {
    const { wait_seconds = 30, show_agents } = how;
    const { rollout_id } = begun.rollout;
    const newest = async (): Promise<RolloutDetail> => {
      await this.#service.wait(rollout_id, wait_seconds * 1000);
      return this.#detail(rollout_id, show_agents);
    };
    return this.#context.readBack(newest, this.#asBegun(begun, how));
  }

  /** A rollout as it was written, before any agent began. */
  #asBegun(begun: Begun, { show_agents }: Following): RolloutDetail {
    const operations = this.#members.waiting(begun, show_agents);
    const truncated = begun.targets.agents.length > operations.length;
    return { ...this.#service.asWritten(begun.rollout), operations, truncated };
  }

  #planned(assignment: string, rolloutId: string): Promise<PlannedRollout> {
    return readPlanned(this.#context, this.#service.store, { assignment, rolloutId });
  }

  async #change(
    caller: Caller,
    input: z.input<typeof changeRolloutInput>,
    transition: Transition,
  ): Promise<RolloutDetail> {
    await this.#context.authorize(caller, transition.permission);
    const { rollout_id, show_agents } = parseInput(changeRolloutInput, input);
    const { operations, truncated } = await this.#detail(rollout_id, show_agents);
    const answer = (rollout: Readonly<RolloutDocument>): RolloutDetail => {
      return { ...this.#view(rollout), operations, truncated };
    };
    const rollout = await this.#service.change(caller, rollout_id, { ...transition, answer });
    return this.#context.readBack(() => this.#detail(rollout_id, show_agents), answer(rollout));
  }

  async #detail(rolloutId: string, showAgents?: number): Promise<RolloutDetail> {
    const listed = await this.#listed(rolloutId);
    const operations = await this.#members.first(listed, showAgents);
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
