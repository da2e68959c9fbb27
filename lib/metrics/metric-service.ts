import type { AgentService } from "../agents/agent-service.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { dayMs } from "../internal/durations.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { SampleRow } from "../storage/storage.ts";
import { MetricIntake } from "./metric-intake.ts";
import { defaultIntervalSeconds } from "./sample-rules.ts";

/** How far back removals are made sure of at the start. */
const removedMs = dayMs;

/** How long what an agent is told of its interval counts. */
const noticeMs = 300_000;

/** What other features, and the surface, need of metrics. */
export class MetricService {
  readonly intake: MetricIntake;
  readonly #context: Context;
  /** Removals of series that are under way. */
  readonly #removing = new Set<Promise<void>>();

  constructor(context: Context, { agents }: { agents: AgentService }) {
    this.#context = context;
    this.intake = new MetricIntake(context);
    agents.watch({
      available: (nodeId) => void this.#configure(nodeId),
      dismissed: () => {},
      forget: () => [],
    });
    context.feed.follow("agents", ({ key, document }) => {
      if (!document) this.#remove(key);
    });
  }

  /** Makes sure that nothing is left of agents that were removed just before the process ended. */
  async start(): Promise<void> {
    const { storage, clock } = this.#context;
    if (!storage.series) return;
    for await (const { key, value } of eachDocument<{ removed_at: string }>(storage, "removed_agents")) {
      if (Math.abs(clock.now() - Date.parse(value.removed_at)) > removedMs) continue;
      if ((await storage.get("agents", key)) === null) this.#remove(key);
    }
  }

  /** Takes nothing in any more, and resolves when nothing is under way. */
  async stop(): Promise<void> {
    await this.intake.stop();
    await Promise.all(this.#removing);
  }

  /** How often agents take samples, milliseconds. */
  get intervalMs(): number {
    return this.#context.options.metricsIntervalSeconds * 1_000;
  }

  /**
   * The newest sample of an agent; null where there is none.
   *
   * @param since - The oldest that is looked for, in milliseconds since 1970. Default: any.
   */
  async latest(nodeId: string, since?: number): Promise<SampleRow | null> {
    return (await this.#context.storage.series?.newest(nodeId, since)) ?? null;
  }

  async #configure(nodeId: string): Promise<void> {
    const { options, transport, ids, fleetTime, logger } = this.#context;
    const seconds = options.metricsIntervalSeconds;
    // What an agent takes for granted needs no command, which costs a signature for each that connects.
    if (seconds === defaultIntervalSeconds) return;
    const not_after = toTimestamp(fleetTime.now() + noticeMs);
    try {
      const command = {
        type: "config",
        id: ids.next(),
        not_after,
        metrics_interval_seconds: seconds,
      } as const;
      await transport.send(nodeId, command);
    } catch (error) {
      if (!isOrchestratorError(error))
        logger.error("An agent was not configured.", { node_id: nodeId, error });
    }
  }

  #remove(nodeId: string): void {
    const { storage, logger } = this.#context;
    if (!storage.series) return;
    this.intake.remove(nodeId);
    const removal: Promise<void> = storage.series
      .trim(nodeId)
      .catch((error: unknown) => logger.error("Metrics were not removed.", { node_id: nodeId, error }))
      .finally(() => this.#removing.delete(removal));
    this.#removing.add(removal);
  }
}
