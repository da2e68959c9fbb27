import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { OperationService } from "../operations/operation-service.ts";
import type { RefusalDocument, RolloutDocument } from "../rollouts/documents.ts";
import type { Begun } from "../rollouts/rollout-beginnings.ts";
import type { RolloutService } from "../rollouts/rollout-service.ts";
import { groupRun, type Refused } from "./run-groups.ts";
import { toScript } from "./run-script.ts";
import { runIdInput, startRunInput, type RunDetail } from "./schemas.ts";

/** Commands on many agents: each a rollout that carries one script out on every agent of it, and keeps nothing of it as applied. */
export class Runs {
  readonly #context: Context;
  readonly #rollouts: RolloutService;
  readonly #operations: OperationService;
  readonly #agents: AgentService;

  constructor(
    context: Context,
    features: { rollouts: RolloutService; operations: OperationService; agents: AgentService },
  ) {
    this.#context = context;
    this.#rollouts = features.rollouts;
    this.#operations = features.operations;
    this.#agents = features.agents;
  }

  /**
   * Runs a command or script on agents, once on each: an operation of kind `run` for every one of them, in batches where `rollout`
   * says so. It may be paused and gone on with as any rollout.
   *
   * @returns How it stands when all have ended, or after `wait_seconds`.
   * @throws {OrchestratorError} `VALIDATION_FAILED`; `SELECTOR_INVALID`; `NO_MATCH`; `MAINTENANCE_WINDOW` where every
   * agent is frozen; `FORBIDDEN` for `override_window` of who is no Admin; `NOT_FOUND` where one of `node_ids` is no agent.
   */
  async start(caller: Caller, input: z.input<typeof startRunInput>): Promise<RunDetail> {
    await this.#context.authorize(caller, "runs.start");
    const parsed = parseInput(startRunInput, input);
    const { selector, node_ids, rollout = {}, timeout_seconds, wait_seconds = 30 } = parsed;
    if (parsed.override_window) await this.#context.authorize(caller, "maintenanceWindows.update");
    const asked = toScript(parsed);
    const nodeIds = selector === undefined ? [...new Set(node_ids)] : this.#agents.matching(selector);
    await this.#requireAll(node_ids ?? []);
    const how = {
      nodeIds,
      strategy: rollout,
      timeoutSeconds: timeout_seconds,
      overrideWindow: parsed.override_window,
      answer: (begun: Begun) => this.#asBegun(begun),
    };
    const begun = await this.#rollouts.beginCommand(caller, { ...asked, ...how });
    const { rollout_id } = begun.rollout;
    const newest = async (): Promise<RunDetail> => {
      await this.#rollouts.wait(rollout_id, wait_seconds * 1000);
      return this.#detail(rollout_id);
    };
    return this.#context.readBack(newest, this.#asBegun(begun));
  }

  /**
   * Reads a run: how far it is, and what came of it, agents on which it ended in the same way together.
   *
   * @throws {OrchestratorError} `NOT_FOUND`, also for a rollout of an assignment.
   */
  async get(caller: Caller, input: z.input<typeof runIdInput>): Promise<RunDetail> {
    await this.#context.authorize(caller, "runs.get");
    return this.#detail(parseInput(runIdInput, input).rollout_id);
  }

  /**
   * Ends a run: no further agent begins, and where the command runs it is ended (SIGTERM, after 5 s SIGKILL). One that is stopping
   * already, because too many failed, is ended where it still runs. Once this has succeeded it is done on every agent, whatever
   * becomes of the process.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `INVALID_TRANSITION` where it has ended.
   */
  async cancel(caller: Caller, input: z.input<typeof runIdInput>): Promise<RunDetail> {
    await this.#context.authorize(caller, "runs.cancel");
    const { rollout_id } = parseInput(runIdInput, input);
    const { groups, ungrouped } = await this.#detail(rollout_id);
    const answer = (rollout: Readonly<RolloutDocument>): RunDetail => {
      return { ...this.#rollouts.toView(rollout), groups, ungrouped };
    };
    const rollout = await this.#rollouts.cancelRun(caller, rollout_id, answer);
    return this.#context.readBack(() => this.#detail(rollout_id), answer(rollout));
  }

  /** A run as it was written, before any agent began. */
  #asBegun({ rollout }: Begun): RunDetail {
    return { ...this.#rollouts.asWritten(rollout), groups: [], ungrouped: 0 };
  }

  async #requireAll(nodeIds: readonly string[]): Promise<void> {
    const found = new Set((await this.#agents.describe(nodeIds)).map(({ node_id }) => node_id));
    const missing = nodeIds.filter((nodeId) => !found.has(nodeId));
    if (missing.length === 0) return;
    const more = missing.length > 3 ? ` and ${missing.length - 3} more` : "";
    throw new OrchestratorError("NOT_FOUND", {
      message: `There is no agent ${missing.slice(0, 3).join(", ")}${more}.`,
      details: { node_ids: missing.slice(0, 100) },
    });
  }

  async #read(rolloutId: string): ReturnType<RolloutService["view"]> {
    const rollout = await this.#rollouts.view(rolloutId);
    if (rollout.kind === "run") return rollout;
    throw new OrchestratorError("NOT_FOUND", { message: `There is no run ${rolloutId}.` });
  }

  async #detail(rolloutId: string): Promise<RunDetail> {
    const rollout = await this.#read(rolloutId);
    const ended = this.#operations.store.ofRollout(rolloutId);
    const refused = await this.#refusedOf(rolloutId);
    return { ...rollout, ...(await groupRun(this.#operations, { ended, refused })) };
  }

  async #refusedOf(rolloutId: string): Promise<Refused[]> {
    const refusals: Readonly<RefusalDocument>[] = [];
    for await (const refusal of this.#rollouts.store.refusals(rolloutId)) refusals.push(refusal);
    const names = new Map(
      (await this.#agents.describe(refusals.map(({ node_id }) => node_id))).map(({ node_id, name }) => [
        node_id,
        name,
      ]),
    );
    return refusals.map(({ node_id, error }) => ({ node_id, error, name: names.get(node_id) ?? node_id }));
  }
}
