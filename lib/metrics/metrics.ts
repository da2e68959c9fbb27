import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import { agentIdInput } from "../agents/schemas.ts";
import type { Caller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { parseInput } from "../internal/parse-input.ts";
import { readPlace, writePlace } from "./history-cursor.ts";
import type { MetricService } from "./metric-service.ts";
import { rangeOf, toPoints, unitOf } from "./points.ts";
import { PrometheusText } from "./prometheus-text.ts";
import { mostSeries } from "./sample-rules.ts";
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
   * Reads what an agent measured over some time, as points of equal steps, up to 2,000 of each series and up to 200 series, by name: as many
   * as one sample may have. Where names came and went there may be more: `next_cursor` has the next of them, in the same range.
   *
   * Samples are kept as they were taken for a day or more, then as points of five minutes. An agent that measured nothing in the range
   * has no series in it.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `VALIDATION_FAILED` where the range ends before it begins, or an end is given both as a time and as seconds ago; `CURSOR_INVALID`.
   */
  async history(caller: Caller, input: z.input<typeof metricHistoryInput>): Promise<MetricHistory> {
    await this.#context.authorize(caller, "metrics.history");
    const { limit = mostSeries, cursor, ...asked } = parseInput(metricHistoryInput, input);
    const { node_id, series } = asked;
    const { intervalMs } = this.#service;
    const place = cursor === undefined ? null : readPlace(asked, cursor);
    const range = place?.range ?? rangeOf(asked, { nowMs: this.#context.fleetTime.now(), intervalMs });
    await this.#agents.registry.read(node_id);
    // One more than is told, which tells whether there are more.
    const query = {
      ...range,
      limit: limit + 1,
      ...(place && { after: place.after }),
      ...(series && { series }),
    };
    const stored = Object.entries((await this.#context.storage.series?.query(node_id, query)) ?? {});
    const found = stored.filter(([, points]) => points.length > 0).sort(([a], [b]) => (a < b ? -1 : 1));
    const shown = found.slice(0, limit);
    return {
      node_id,
      from: toTimestamp(range.from),
      to: toTimestamp(range.to),
      step_seconds: range.stepMs / 1_000,
      series: shown.map(([name, points]) => ({
        name,
        unit: unitOf(name),
        points: toPoints(points, range.stepMs, intervalMs),
      })),
      next_cursor: found.length > limit ? writePlace(asked, { range, after: shown.at(-1)![0] }) : null,
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
    const oldest = this.#context.fleetTime.now() - Math.max(freshMs, 3 * this.#service.intervalMs);
    const text = new PrometheusText();
    for (let begin = 0; begin < nodeIds.length; begin += agentsAtOnce) {
      for (const agent of await this.#agents.describe(nodeIds.slice(begin, begin + agentsAtOnce))) {
        const newest = await this.#service.latest(agent.node_id, oldest);
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
