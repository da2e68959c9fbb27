import type { AgentService } from "../agents/agent-service.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { dayMs, hourMs } from "../internal/durations.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { SamplePoint, SampleRow } from "../storage/storage.ts";
import { MetricIntake } from "./metric-intake.ts";

/**
 * How old the newest sample may be, in turn: it is nearly always in the first stretch. What is older than a day may be there as points of five
 * minutes, so that a stretch of a day holds few; all that an agent which is away has measured in a month would take 70 MB.
 */
const agesMs: readonly number[] = [
  300_000,
  ...Array.from({ length: 13 }, (_, n) => (n + 1) * 2 * hourMs),
  ...Array.from({ length: 400 }, (_, n) => (n + 2) * dayMs),
];

/** How far back removals are made sure of at the start. */
const removedMs = dayMs;

/** How long what an agent is told of its interval counts. */
const noticeMs = 300_000;

/** What agents that are told nothing take for their interval. */
const defaultIntervalSeconds = 15;

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

  /** The newest sample of an agent; null where there is none. */
  async latest(nodeId: string): Promise<SampleRow | null> {
    const now = this.#context.fleetTime.now();
    let to = Infinity;
    for (const ageMs of agesMs) {
      const found = await this.#newest(nodeId, { from: now - ageMs, to });
      if (found) return found;
      to = now - ageMs;
    }
    return null;
  }

  /** The newest sample of an agent that is not older than so many milliseconds. */
  within(nodeId: string, windowMs: number): Promise<SampleRow | null> {
    return this.#newest(nodeId, { from: this.#context.fleetTime.now() - windowMs, to: Infinity });
  }

  async #newest(nodeId: string, range: { from: number; to: number }): Promise<SampleRow | null> {
    return newestRow((await this.#context.storage.series?.query(nodeId, range)) ?? {});
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

/** The values of the newest time of which there are any. */
function newestRow(stored: Record<string, SamplePoint[]>): SampleRow | null {
  let at = -Infinity;
  for (const points of Object.values(stored)) at = Math.max(at, points.at(-1)?.at ?? -Infinity);
  if (at === -Infinity) return null;
  const values: Record<string, number> = {};
  for (const [name, points] of Object.entries(stored)) {
    const last = points.at(-1);
    if (last?.at === at) values[name] = last.mean;
  }
  return { at, values };
}
