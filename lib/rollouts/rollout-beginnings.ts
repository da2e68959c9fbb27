/** How a rollout comes to be: which agents and revisions it gets is settled here and stays. */
import type { AgentService } from "../agents/agent-service.ts";
import type { AssignmentService } from "../assignments/assignment-service.ts";
import type { AssignmentDocument } from "../assignments/documents.ts";
import type { RolloutStrategy } from "../assignments/schemas.ts";
import { toSubject, type Caller } from "../callers/caller.ts";
import type { Context, EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Write } from "../storage/storage.ts";
import type { RolloutDocument } from "./documents.ts";
import { noCounts } from "./progress.ts";
import { rolloutFacts, rolloutSubject, type RolloutStore } from "./rollout-store.ts";
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
  /** What else is written in the step that makes it. */
  writes?: readonly Write[];
}

/** A rollout that has begun no agent yet, and its list of agents. */
export interface Begun {
  rollout: RolloutDocument;
  targets: Targets;
}

interface Parts {
  agents: AgentService;
  assignments: AssignmentService;
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
   * @throws {OrchestratorError} `NO_MATCH`; `NOT_FOUND` for a module that is gone; `REVISION_CONFLICT` where one was changed or
   * removed in this moment.
   */
  async store(caller: Caller, beginning: Beginning): Promise<Begun> {
    const { assignment, kind, trigger, strategy = assignment.rollout ?? {}, writes = [] } = beginning;
    const rolloutId = this.#context.ids.next();
    const candidates = await this.#candidates(assignment);
    const targets = planTargets(candidates, strategy, hashWith(this.#context, rolloutId));
    const { modules, held } = await this.#parts.assignments.revisionsOf(assignment);
    const rollout: RolloutDocument = {
      rollout_id: rolloutId,
      assignment: assignment.name,
      kind,
      trigger: trigger ?? "manual",
      status: "running",
      strategy,
      ...(trigger === "scheduled" && assignment.unattended_removals !== true && { hold_removals: true }),
      modules,
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
    const event: EventInput = {
      type: "rollout.started",
      target: rolloutSubject(rollout),
      summary: `${kind === "apply" ? "Applying" : "Planning"} ${assignment.name} on ${rollout.matched} agents was requested`,
      metadata: { ...rolloutFacts(rollout), trigger: rollout.trigger },
    };
    await this.#parts.store.write(caller, null, { rollout, event, writes: [...writes, ...held] });
    return { rollout, targets };
  }

  async #candidates(assignment: Readonly<AssignmentDocument>): Promise<Candidate[]> {
    const { agents, assignments } = this.#parts;
    const nodeIds = assignments.matchedAgents(assignment);
    const candidates = await readCandidates(nodeIds, (some) => agents.describe(some));
    if (candidates.length === 0) throw new OrchestratorError("NO_MATCH");
    return candidates;
  }
}
