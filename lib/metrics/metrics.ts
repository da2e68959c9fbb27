import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import { agentIdInput } from "../agents/schemas.ts";
import type { Caller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { hourMs } from "../internal/durations.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { MetricService } from "./metric-service.ts";
import { stepOf, toPoints, unitOf } from "./points.ts";
import { PrometheusText } from "./prometheus-text.ts";
import {
  metricHistoryInput,
  metricPrometheusInput,
  type LatestMetrics,
  type MetricHistory,
} from "./schemas.ts";

/** How old a value may be that counts as one of now. */
const freshMs = 300_000;
/** Agents that are read in one turn. */
const agentsAtOnce = 16;

/** What agents measure on their machines: load, memory, disks, network, and what their owners add. */
export class Metrics {
  readonly #context: Context;
  readonly #service: MetricService;
  readonly #agents: AgentService;

  constructor(context: Context, service: MetricService, { agents }: { agents: AgentService }) {
    this.#context = context;
    this.#service = service;
    this.#agents = agents;
  }

  /**
   * Reads what an agent measured over some time, as points of equal steps, up to 2,000 of each series.
   *
   * Samples are kept as they were taken for a day or more, then as points of five minutes. An agent that measured nothing in the range
   * has no series in it.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `VALIDATION_FAILED` where the range ends before it begins.
   */
  async history(caller: Caller, input: z.input<typeof metricHistoryInput>): Promise<MetricHistory> {
    await this.#context.authorize(caller, "metrics.history");
    const { node_id, step_seconds, series, ...range } = parseInput(metricHistoryInput, input);
    const nowMs = this.#context.fleetTime.now();
    const to = range.to === undefined ? nowMs + 1 : Date.parse(range.to);
    const begin = range.from === undefined ? to - hourMs : Date.parse(range.from);
    if (begin >= to)
      throw new OrchestratorError("VALIDATION_FAILED", {
        issues: [{ path: ["to"], message: "must be later than from" }],
      });
    await this.#agents.registry.read(node_id);
    const { intervalMs } = this.#service;
    const wanted = step_seconds === undefined ? undefined : step_seconds * 1_000;
    const stepMs = stepOf({ from: begin, to }, { stepMs: wanted, intervalMs, nowMs });
    // At whole steps, so that the points of one call stand where those of the next do.
    const from = begin - (begin % stepMs);
    const query = { from, to, stepMs, ...(series && { series }) };
    const found = Object.entries((await this.#context.storage.series?.query(node_id, query)) ?? {});
    return {
      node_id,
      from: toTimestamp(from),
      to: toTimestamp(to),
      step_seconds: stepMs / 1_000,
      series: found
        .filter(([, points]) => points.length > 0)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, points]) => ({
          name,
          unit: unitOf(name),
          points: toPoints(points, stepMs, intervalMs),
        })),
    };
  }

  /**
   * Reads what an agent measured last.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `NO_METRICS` where it has measured nothing that is still kept.
   */
  async latest(caller: Caller, input: z.input<typeof agentIdInput>): Promise<LatestMetrics> {
    await this.#context.authorize(caller, "metrics.latest");
    const { node_id } = parseInput(agentIdInput, input);
    await this.#agents.registry.read(node_id);
    const newest = await this.#service.latest(node_id);
    if (!newest) throw new OrchestratorError("NO_METRICS");
    return { node_id, collected_at: toTimestamp(newest.at), values: newest.values };
  }

  /**
   * Reads the newest values of many agents, in the text format of Prometheus: of each agent that a selector matches, of those that are
   * approved, whose newest sample is not older than five minutes or three intervals. All lines of a metric stand together, as the format wants.
   *
   * @throws {OrchestratorError} `SELECTOR_INVALID`.
   */
  async prometheus(
    caller: Caller,
    input: z.input<typeof metricPrometheusInput> = {},
  ): Promise<AsyncIterable<string>> {
    await this.#context.authorize(caller, "metrics.prometheus");
    const { selector = "*" } = parseInput(metricPrometheusInput, input);
    return this.#lines(this.#agents.matching(selector));
  }

  async *#lines(nodeIds: readonly string[]): AsyncGenerator<string> {
    const windowMs = Math.max(freshMs, 3 * this.#service.intervalMs);
    const text = new PrometheusText();
    for (let begin = 0; begin < nodeIds.length; begin += agentsAtOnce) {
      for (const agent of await this.#agents.describe(nodeIds.slice(begin, begin + agentsAtOnce))) {
        const newest = await this.#service.within(agent.node_id, windowMs);
        if (newest) text.add(agent, newest);
      }
      // Others have their turn in between: of a large fleet this takes a while.
      await nextTurn();
    }
    for (const piece of text.pieces()) {
      await nextTurn();
      yield piece;
    }
  }
}
