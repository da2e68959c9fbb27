import type { z } from "zod";
import type { Caller } from "../access/caller.ts";
import type { Agents } from "../agents/agents.ts";
import type { Assignments } from "../assignments/assignments.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { Operations } from "../operations/operations.ts";
import { operationStatusSchema, type Operation, type OperationStatus } from "../operations/schemas.ts";
import { rolloutInput, type Rollout } from "./schemas.ts";

type Member = Rollout["operations"][number];

/** How many agents are worked out between two turns of the event loop, so that other calls are answered meanwhile. */
const atOnce = 50;

/** An assignment carried out on every agent that it matches at the time of the call. */
export class Rollouts {
  readonly #context: Context;
  readonly #agents: Agents;
  readonly #assignments: Assignments;
  readonly #operations: Operations;

  constructor(
    context: Context,
    features: { agents: Agents; assignments: Assignments; operations: Operations },
  ) {
    this.#context = context;
    this.#agents = features.agents;
    this.#assignments = features.assignments;
    this.#operations = features.operations;
  }

  /**
   * Applies, on every agent that an assignment matches, all that is desired of that agent.
   *
   * @returns The operations, ended, or as they are after `wait_seconds`. An agent for which no operation could be made has
   * an error in its place; it keeps nobody else from theirs.
   * @throws {OrchestratorError} `NOT_FOUND`; `NO_MATCH`.
   */
  async apply(caller: Caller, input: z.input<typeof rolloutInput>): Promise<Rollout> {
    await this.#context.authorize(caller, "assignments.applyNow");
    return this.#run(caller, "apply", parseInput(rolloutInput, input));
  }

  /** Tells what {@link apply} with the same input would do. */
  async plan(caller: Caller, input: z.input<typeof rolloutInput>): Promise<Rollout> {
    await this.#context.authorize(caller, "assignments.plan");
    return this.#run(caller, "plan", parseInput(rolloutInput, input));
  }

  async #run(caller: Caller, kind: Rollout["kind"], input: z.output<typeof rolloutInput>): Promise<Rollout> {
    const assignment = await this.#assignments.read(input.name);
    const nodeIds = this.#assignments.matchedAgents(assignment.value);
    if (nodeIds.length === 0) throw new OrchestratorError("NO_MATCH");
    const rollout = { rollout_id: this.#context.ids.next(), assignment: input.name, kind };
    await this.#context.commit(caller, [], {
      type: "rollout.started",
      target: { type: "rollout", id: rollout.rollout_id, name: input.name },
      summary: `${kind === "apply" ? "Applying" : "Planning"} ${input.name} on ${nodeIds.length} agents was requested`,
      metadata: { assignment: input.name, kind, matched: nodeIds.length },
    });
    const deadline = this.#context.clock.monotonic() + (input.wait_seconds ?? 30) * 1000;
    const members: Member[] = [];
    for (let at = 0; at < nodeIds.length; at += atOnce) {
      const batch = nodeIds.slice(at, at + atOnce).map((nodeId) => this.#request(caller, nodeId, rollout));
      members.push(...(await Promise.all(batch)));
    }
    const ended = await Promise.all(members.map((member) => this.#wait(member, deadline)));
    return toRollout(rollout, ended);
  }

  async #request(
    caller: Caller,
    nodeId: string,
    rollout: Pick<Rollout, "rollout_id" | "assignment" | "kind">,
  ): Promise<Member> {
    const name = await this.#agents.nameOf(nodeId);
    try {
      const operation = await this.#operations.request(caller, {
        kind: rollout.kind,
        nodeId,
        agentName: name,
        desired: await this.#operations.desiredReader().of(nodeId),
        assignment: rollout.assignment,
        rolloutId: rollout.rollout_id,
      });
      return {
        node_id: nodeId,
        name,
        operation_id: operation.operation_id,
        status: operation.status,
        summary: "",
      };
    } catch (error) {
      if (!isOrchestratorError(error)) throw error;
      const { code, message } = error;
      return { node_id: nodeId, name, status: "failed", summary: message, error: { code, message } };
    }
  }

  async #wait(member: Member, deadline: number): Promise<Member> {
    if (member.operation_id === undefined) return member;
    const waitMs = Math.max(0, deadline - this.#context.clock.monotonic());
    const operation = await this.#operations.wait(member.operation_id, waitMs / 1000);
    const { status, error } = operation;
    return { ...member, status, summary: summarize(operation), ...(error && { error }) };
  }
}

function summarize({ error, counts }: Operation): string {
  if (error) return error.message;
  const told = (["changed", "would_change", "unchanged", "failed", "skipped"] as const)
    .filter((outcome) => counts[outcome] > 0)
    .map((outcome) => `${counts[outcome]} ${outcome.replace("_", " ")}`);
  return told.join(", ");
}

function toRollout(
  rollout: Pick<Rollout, "rollout_id" | "assignment" | "kind">,
  operations: Member[],
): Rollout {
  const counts = Object.fromEntries(
    operationStatusSchema.options.map((status) => [status, 0]),
  ) as Rollout["counts"];
  for (const { status } of operations) counts[status] += 1;
  return {
    ...rollout,
    status: statusOf(counts, operations.length),
    matched: operations.length,
    counts,
    operations,
  };
}

function statusOf(counts: Record<OperationStatus, number>, total: number): Rollout["status"] {
  if (counts.queued + counts.running > 0) return "running";
  if (counts.succeeded === total) return "succeeded";
  return counts.succeeded + counts.partial > 0 ? "partial" : "failed";
}
