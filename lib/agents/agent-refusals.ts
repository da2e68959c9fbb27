/** Tells that connections of agents are refused, a bounded number of times a minute: each is an audited commit, and strangers make them without end. */
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import type { EventSubject } from "../events.ts";
import { sourceOfAddress } from "../internal/network.ts";
import { RateLimiter } from "../internal/rate-limiter.ts";
import type { TransportHandlers } from "../transport/transport.ts";
import { agentSubject, type AgentRegistry } from "./registry.ts";

/** How many a minute are told of one address, and of one approved agent; the rest is only logged. */
const perMinute = 10;
/** The same of all addresses together, and of all approved agents. */
const allPerMinute = 60;

type Refusal = Parameters<TransportHandlers["refused"]>[0];

export class AgentRefusals {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #ofStrangers: MinuteLimits;
  /** By themselves: no stranger may have it go untold that the key of an agent was copied. */
  readonly #ofAgents: MinuteLimits;

  constructor(context: Context, registry: AgentRegistry) {
    this.#context = context;
    this.#registry = registry;
    this.#ofStrangers = new MinuteLimits(context);
    this.#ofAgents = new MinuteLimits(context);
  }

  /** A connection was refused, or ended for breaking the protocol. */
  refused({ node_id, ...metadata }: Refusal): void {
    this.#context.logger.warn("An agent was refused.", { node_id, ...metadata });
    if (!this.#mayTell(node_id, metadata.remote_address)) return;
    void this.#context.tell("agent.refused", async () => {
      // Where that can't be read it is told all the same.
      const agent = node_id === null ? null : await this.#registry.find(node_id).catch(() => null);
      const target = agent ? agentSubject(agent.value) : strangerOf(node_id);
      await this.#context.commit(systemCaller, [], {
        type: "agent.refused",
        ...(target && { target }),
        summary: `A connection of ${agent ? `agent ${target?.name}` : "an agent"} was refused: ${metadata.code}`,
        metadata,
      });
    });
  }

  #mayTell(nodeId: string | null, address: string | null): boolean {
    return nodeId !== null && this.#registry.isApproved(nodeId)
      ? this.#ofAgents.tryTake(nodeId)
      : this.#ofStrangers.tryTake(sourceOfAddress(address ?? ""));
  }
}

/** Who has no record here has no name either. */
function strangerOf(nodeId: string | null): EventSubject | null {
  return nodeId === null ? null : { type: "agent", id: nodeId, name: nodeId };
}

class MinuteLimits {
  readonly #each: RateLimiter;
  readonly #all: RateLimiter;

  constructor({ clock }: Context) {
    this.#each = new RateLimiter(clock, perMinute);
    this.#all = new RateLimiter(clock, allPerMinute);
  }

  tryTake(key: string): boolean {
    return this.#each.tryTake(key) && this.#all.tryTake("");
  }
}
