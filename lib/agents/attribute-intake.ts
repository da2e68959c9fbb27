/**
 * What agents tell of their machines, written a bounded number of times a minute: what comes meanwhile waits, and of one agent the
 * newest counts.
 */
import type { Timer } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import type { AttributeChange } from "../event-facts.ts";
import { startOf } from "../internal/canonical-json.ts";
import { mayPass } from "../internal/is-lasting.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import type { AgentMessage, Attributes, MessageOf } from "../wire/messages.ts";
import type { AgentDocument, AttributesDocument } from "./documents.ts";
import { agentSubject, type AgentRegistry } from "./registry.ts";

/** Most attributes that are kept of one agent, and most bytes of their names and values together, as UTF-8. */
const mostAttributes = 500;
const mostBytes = 65_536;

/** How often the attributes of one agent are written in a minute, and how long what is left over waits. */
const writesPerMinute = 10;
const waitMs = 6_000;

/** What has not changed is written so often, so that a restart knows about when it was so last. */
const sameAgainMs = 3_600_000;

/** Changes that an event tells, and characters of their values. */
const mostChanges = 50;
const mostValueCharacters = 200;

type Told = MessageOf<AgentMessage, "attributes">;

/** Writes the attributes of agents. */
export class AttributeIntake {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #rate: RateLimiter;
  /** Who waits for an agent to tell again, by agent. */
  readonly #awaited = new Map<string, Set<() => void>>();
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

  /**
   * Begins to wait for an agent to tell again: `told` resolves with true when that is written, with false when it was not in time, the wait
   * was given up, or the server is about to end.
   */
  await(nodeId: string, atMostMs: number): { told: Promise<boolean>; giveUp(): void } {
    const { clock, leaving } = this.#context;
    const awaited = this.#awaited.get(nodeId) ?? new Set();
    this.#awaited.set(nodeId, awaited);
    let resolve: (isTold: boolean) => void = () => {};
    const told = new Promise<boolean>((settle) => (resolve = settle));
    const end = (isTold: boolean): void => {
      timer.cancel();
      leaving.signal.removeEventListener("abort", giveUp);
      awaited.delete(wake);
      if (awaited.size === 0) this.#awaited.delete(nodeId);
      resolve(isTold);
    };
    const wake = (): void => end(true);
    const giveUp = (): void => end(false);
    const timer = clock.setTimer(atMostMs, giveUp);
    leaving.signal.addEventListener("abort", giveUp, { once: true });
    awaited.add(wake);
    if (leaving.signal.aborted) giveUp();
    return { told, giveUp };
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
      this.#writeWaiting(nodeId).catch((error: unknown) => {
        const { logger, leaving } = this.#context;
        logger.warn("Attributes of an agent were not written.", { error, node_id: nodeId });
        // The agent does not tell it again by itself.
        const isNewest = !this.#waiting.has(nodeId) && !leaving.signal.aborted;
        if (mayPass(error) && isNewest) this.#wait(nodeId, newest);
      });
    };
    this.#waiting.set(nodeId, { told, timer: this.#context.clock.setTimer(waitMs, due) });
  }

  async #write(nodeId: string, told: Told): Promise<void> {
    const agent = await this.#registry.read(nodeId);
    const attributes = withinLimits(told.attributes);
    const dropped = Object.keys(told.attributes).length - Object.keys(attributes).length;
    if (dropped > 0)
      this.#context.logger.warn("An agent tells more than is kept.", { node_id: nodeId, dropped });
    const known = await this.#registry.attributes(nodeId);
    const changes = known ? changesOf(known.attributes, attributes) : [];
    const isKnown = known !== null && changes.length === 0 && this.#isFresh(known);
    if (isKnown) this.#registry.confirmAttributes(nodeId, told.collected_at);
    else
      await this.#registry.writeAttributes(agent.value, attributes, {
        collectedAt: told.collected_at,
        ...(changes.length > 0 && { event: changedEvent(agent.value, changes) }),
      });
    for (const wake of this.#awaited.get(nodeId) ?? []) wake();
  }

  /** Whether it is a short while ago that an agent told something, as one does that only comes back. */
  #isFresh({ collected_at }: AttributesDocument): boolean {
    return Math.abs(this.#context.clock.now() - Date.parse(collected_at)) < sameAgainMs;
  }
}

/** What an agent tells that differs from what it told before, by name. */
function changesOf(before: Attributes, after: Attributes): AttributeChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .map((name) => ({ name, before: valueOf(before, name), after: valueOf(after, name) }))
    .filter(({ before: was, after: is }) => was !== is);
}

/** An attribute may be named like something that every object has. */
function valueOf(attributes: Attributes, name: string): Attributes[string] | null {
  return Object.hasOwn(attributes, name) ? attributes[name]! : null;
}

function changedEvent(agent: Readonly<AgentDocument>, changes: AttributeChange[]): EventInput {
  const shown = changes.slice(0, mostChanges).map(({ name, before, after }) => ({
    name,
    before: shortened(before),
    after: shortened(after),
  }));
  const names = shown.slice(0, 3).map(({ name }) => name);
  const others = changes.length - names.length;
  return {
    type: "agent.attributesChanged",
    target: agentSubject(agent),
    summary: `Agent ${agent.name ?? agent.hostname} tells something else of ${names.join(", ")}${others > 0 ? ` and ${others} more` : ""}`,
    metadata: {
      changes: shown,
      ...(changes.length > shown.length && { unrecorded: changes.length - shown.length }),
    },
  };
}

function shortened(value: AttributeChange["before"]): AttributeChange["before"] {
  return typeof value === "string" ? startOf(value, mostValueCharacters) : value;
}

/** What is kept of attributes: the first by name, so that it is the same each time. */
function withinLimits(attributes: Attributes): Attributes {
  const kept: [string, Attributes[string]][] = [];
  let bytes = 0;
  for (const [name, value] of Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(String(value));
    if (kept.length === mostAttributes || bytes > mostBytes) break;
    kept.push([name, value]);
  }
  return Object.fromEntries(kept);
}
