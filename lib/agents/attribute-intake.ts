/**
 * What agents tell of their machines, written a bounded number of times a minute: what comes meanwhile waits, and of one agent the
 * newest counts.
 */
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import { isSameJson } from "../json.ts";
import type { AgentMessage, Attributes, MessageOf } from "../wire/messages.ts";
import type { AgentRegistry } from "./registry.ts";

/** Most attributes that are kept of one agent, and most characters of their names and values together. */
const mostAttributes = 500;
const mostCharacters = 65_536;

/** How often the attributes of one agent are written in a minute, and how long what is left over waits. */
const writesPerMinute = 10;
const waitMs = 6_000;

/** What has not changed is written so often, so that a restart knows about when it was so last. */
const sameAgainMs = 3_600_000;

type Told = MessageOf<AgentMessage, "attributes">;

/** Writes the attributes of agents. */
export class AttributeIntake {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #rate: RateLimiter;
  /** The newest of what was not written yet, by agent. */
  readonly #waiting = new Map<string, { told: Told; timer: Timer }>();

  constructor(context: Context, registry: AgentRegistry) {
    this.#context = context;
    this.#registry = registry;
    this.#rate = new RateLimiter(context.clock, writesPerMinute);
  }

  /** An agent tells of its machine: resolves when it is written, or waits for its turn. */
  async take(nodeId: string, told: Told): Promise<void> {
    const waiting = this.#waiting.get(nodeId);
    if (waiting) waiting.told = told;
    else if (this.#rate.tryTake(nodeId)) await this.#write(nodeId, told);
    else this.#wait(nodeId, told);
  }

  /** Writes what waits, whoever told it: nobody tells more. */
  async flush(): Promise<void> {
    await Promise.all([...this.#waiting.keys()].map((nodeId) => this.#writeWaiting(nodeId)));
    await this.#registry.writeConfirmed().catch((error: unknown) => {
      // The next start knows within the hour, as after a kill.
      this.#context.logger.warn("When agents told the same again was not written.", { error });
    });
  }

  async #writeWaiting(nodeId: string): Promise<void> {
    const waiting = this.#waiting.get(nodeId);
    if (!waiting) return;
    waiting.timer.cancel();
    this.#waiting.delete(nodeId);
    await this.#write(nodeId, waiting.told).catch((error: unknown) => {
      // It is gone, and what it told with it.
      if (!isOrchestratorError(error, "NOT_FOUND")) throw error;
    });
  }

  #wait(nodeId: string, told: Told): void {
    const due = (): void => {
      const { told: newest } = this.#waiting.get(nodeId)!;
      if (!this.#rate.tryTake(nodeId)) return this.#wait(nodeId, newest);
      this.#writeWaiting(nodeId).catch((error: unknown) =>
        this.#context.logger.warn("Attributes of an agent were not written.", { error, node_id: nodeId }),
      );
    };
    this.#waiting.set(nodeId, { told, timer: this.#context.clock.setTimer(waitMs, due) });
  }

  async #write(nodeId: string, told: Told): Promise<void> {
    const agent = await this.#registry.read(nodeId);
    const attributes = withinLimits(told.attributes);
    const dropped = Object.keys(told.attributes).length - Object.keys(attributes).length;
    if (dropped > 0)
      this.#context.logger.warn("An agent tells more than is kept.", { node_id: nodeId, dropped });
    if (await this.#isKnown(nodeId, attributes))
      return this.#registry.confirmAttributes(nodeId, told.collected_at);
    await this.#registry.writeAttributes(agent.value, attributes, told.collected_at);
  }

  /** Whether an agent told the same a short while ago, as one does that only comes back. */
  async #isKnown(nodeId: string, attributes: Attributes): Promise<boolean> {
    const known = await this.#registry.attributes(nodeId);
    if (!known || !isSameJson(known.attributes, attributes)) return false;
    return Math.abs(this.#context.clock.now() - Date.parse(known.collected_at)) < sameAgainMs;
  }
}

/** What is kept of attributes: the first by name, so that it is the same each time. */
function withinLimits(attributes: Attributes): Attributes {
  const kept: [string, Attributes[string]][] = [];
  let characters = 0;
  for (const [name, value] of Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    characters += name.length + String(value).length;
    if (kept.length === mostAttributes || characters > mostCharacters) break;
    kept.push([name, value]);
  }
  return Object.fromEntries(kept);
}
