/** How a rollout comes to be: which agents and revisions it gets is settled here and stays. */
import type { AgentService } from "../agents/agent-service.ts";
import type { AssignmentService } from "../assignments/assignment-service.ts";
import type { AssignmentDocument } from "../assignments/documents.ts";
import type { RolloutStrategy } from "../assignments/schemas.ts";
import { answering, toSubject, type Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { MaintenanceService } from "../maintenance/maintenance-service.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { Write } from "../storage/storage.ts";
import type { RolloutDocument } from "./documents.ts";
import { requireSameModules, type PlannedRollout } from "./planned-rollout.ts";
import { noCounts } from "./progress.ts";
import { rolloutFacts, rolloutSubject, titleOf, type RolloutStore } from "./rollout-store.ts";
import {
  hashWith,
  planTargets,
  readCandidates,
  saveTargets,
  type Candidate,
  type Targets,
} from "./targets.ts";

/** What is to be rolled out, and how. */
export interface Beginning {
  assignment: Readonly<AssignmentDocument>;
  kind: "apply" | "plan";
  trigger?: "scheduled";
  strategy?: RolloutStrategy | undefined;
  /** The plan that it applies, and nothing else. */
  plan?: PlannedRollout | undefined;
  /** Whether maintenance windows hold nothing of it. Default false. */
  overrideWindow?: boolean | undefined;
  /** What else is written in the step that makes it. */
  writes?: readonly Write[];
  /** What the call that asks for it is answered with, should nothing more become known of it; absent = nobody is answered. */
  answer?: BeginningAnswer;
}

/** What a call that begins a rollout is answered with, from what it writes. */
export type BeginningAnswer = (begun: Begun) => unknown;

/** A command that is to be run on agents. */
export interface CommandBeginning {
  script: ResolvedResource;
  /** What it runs, for people. */
  command: string;
  nodeIds: readonly string[];
  strategy: RolloutStrategy;
  timeoutSeconds?: number | undefined;
  /** Whether maintenance windows hold nothing of it. Default false. */
  overrideWindow?: boolean | undefined;
  /** As of {@link Beginning}. */
  answer?: BeginningAnswer;
}

/** A rollout that has begun no agent yet, and its list of agents. */
export interface Begun {
  rollout: RolloutDocument;
  targets: Targets;
}

/** What of a rollout is said when it begins. */
type About = Pick<RolloutDocument, "kind" | "trigger" | "strategy" | "modules"> &
  Partial<
    Pick<
      RolloutDocument,
      | "assignment"
      | "command"
      | "timeout_seconds"
      | "hold_removals"
      | "override_window"
      | "plan"
      | "unplanned"
    >
  >;

/** Agents that are named where they are not in the plan that is applied. */
const mostNamed = 20;

interface Parts {
  agents: AgentService;
  assignments: AssignmentService;
  maintenance: MaintenanceService;
  store: RolloutStore;
}

export class RolloutBeginnings {
  readonly #context: Context;
  readonly #parts: Parts;

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
  }

  /**
   * Stores a rollout.
   *
   * @throws {OrchestratorError} `NO_MATCH`; `PLAN_STALE` where the assignment brings something else than the plan; `MAINTENANCE_WINDOW` where somebody asks for it and all agents are frozen; `NOT_FOUND` for a module that is gone; `REVISION_CONFLICT` where one was changed or
   * removed in this moment.
   */
  async store(caller: Caller, beginning: Beginning): Promise<Begun> {
    const { assignment, kind, trigger, strategy = assignment.rollout ?? {}, writes = [] } = beginning;
    const matched = this.#parts.assignments.matchedAgents(assignment);
    const { modules, held } = await this.#parts.assignments.revisionsOf(assignment);
    const { plan } = beginning;
    if (plan) requireSameModules(plan.rollout, modules);
    const candidates = plan ? await this.#planned(plan) : await this.#candidates(matched);
    const about: About = {
      assignment: assignment.name,
      kind,
      trigger: trigger ?? "manual",
      strategy,
      ...(beginning.overrideWindow && { override_window: true as const }),
      ...(trigger === "scheduled" &&
        assignment.unattended_removals !== true && { hold_removals: true as const }),
      modules,
      ...(plan && (await this.#besides(plan, matched))),
    };
    const { answer } = beginning;
    const { params, pins } = assignment;
    const given = { ...(params && { params }), ...(pins && { pins }) };
    return this.#store(caller, { about, candidates, given, writes: [...writes, ...held], answer });
  }

  /**
   * Stores a command on its way through agents.
   *
   * @throws {OrchestratorError} `NO_MATCH` where there is none of the agents; `MAINTENANCE_WINDOW` where all are frozen.
   */
  async storeCommand(caller: Caller, beginning: CommandBeginning): Promise<Begun> {
    const { script, command, nodeIds, strategy, timeoutSeconds, answer } = beginning;
    const candidates = await this.#candidates(nodeIds);
    const about: About = {
      kind: "run",
      command,
      trigger: "manual",
      strategy,
      modules: [],
      ...(beginning.overrideWindow && { override_window: true as const }),
      ...(timeoutSeconds !== undefined && { timeout_seconds: timeoutSeconds }),
    };
    return this.#store(caller, { about, candidates, script, answer });
  }

  async #store(
    caller: Caller,
    {
      about,
      candidates,
      script,
      given,
      writes = [],
      answer,
    }: {
      about: About;
      candidates: readonly Candidate[];
      script?: ResolvedResource;
      given?: Targets["given"];
      writes?: readonly Write[];
      answer: BeginningAnswer | undefined;
    },
  ): Promise<Begun> {
    const nodeIds = candidates.map(({ node_id }) => node_id);
    const { maintenance } = this.#parts;
    if (about.trigger === "manual" && about.kind !== "plan" && !about.override_window)
      maintenance.requireOpen(nodeIds);
    const rolloutId = this.#context.ids.next();
    const planned = planTargets(candidates, about.strategy, hashWith(this.#context, rolloutId));
    const targets = { ...planned, ...(script && { script }), ...(given && { given }) };
    const rollout: RolloutDocument = {
      rollout_id: rolloutId,
      status: "running",
      ...about,
      matched: candidates.length,
      batches: targets.ends.length,
      batch: 0,
      begun: 0,
      counts: { ...noCounts(), waiting: candidates.length },
      targets: await saveTargets(this.#context, targets),
      requested_by: toSubject(caller),
      ...this.#context.epochs.mark,
      created_at: this.#context.timestamp(),
    };
    const { kind, matched } = rollout;
    const what = `${verbs[kind]} ${titleOf(rollout)} on ${matched === 1 ? "1 agent" : `${matched} agents`}`;
    const event: EventInput = {
      type: "rollout.started",
      target: rolloutSubject(rollout),
      summary: `${what} was requested`,
      metadata: {
        ...rolloutFacts(rollout),
        trigger: rollout.trigger,
        ...(rollout.plan !== undefined && { plan_rollout_id: rollout.plan }),
      },
    };
    const more =
      about.override_window && kind !== "plan"
        ? [maintenance.overridden(nodeIds, { kind, target: rolloutSubject(rollout), what })]
        : [];
    const begun = { rollout, targets };
    if (answer) answering(caller, answer(begun));
    await this.#parts.store.write(caller, null, { rollout, event, more, writes });
    return begun;
  }

  /** The agents of a plan. One that was removed since is told of, too. */
  async #planned({ targets }: PlannedRollout): Promise<Candidate[]> {
    const nodeIds = targets.agents.map(({ node_id }) => node_id);
    const there = await readCandidates(nodeIds, (some) => this.#parts.agents.describe(some));
    const known = new Map(there.map((candidate) => [candidate.node_id, candidate]));
    return targets.agents.map((target) => known.get(target.node_id) ?? { ...target, tags: {} });
  }

  /** What a rollout that applies a plan says of it, and of the agents that are not in it. */
  async #besides(
    { rollout, targets }: PlannedRollout,
    matched: readonly string[],
  ): Promise<Pick<RolloutDocument, "plan" | "unplanned">> {
    const planned = new Set(targets.agents.map(({ node_id }) => node_id));
    const others = matched.filter((nodeId) => !planned.has(nodeId));
    const plan = rollout.rollout_id;
    if (others.length === 0) return { plan };
    const named = await this.#parts.agents.describe(others.slice(0, mostNamed));
    const agents = named.map(({ node_id, name }) => ({ node_id, name }));
    return { plan, unplanned: { count: others.length, agents } };
  }

  async #candidates(nodeIds: readonly string[]): Promise<Candidate[]> {
    const candidates = await readCandidates(nodeIds, (some) => this.#parts.agents.describe(some));
    if (candidates.length === 0) throw new OrchestratorError("NO_MATCH");
    return candidates;
  }
}

const verbs = { apply: "Applying", plan: "Planning", run: "Running" } as const;
