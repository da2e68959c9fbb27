/** Which agents are connected: the one place that asks the transport. */
import type { Context } from "../context.ts";

/** A connection of an agent. */
export interface AgentConnection {
  /** Names it among all that there ever were. */
  connection: string;
  /** When the agent was admitted, milliseconds since 1970. */
  since: number;
  /** Where it came from; null where that has no address. */
  remote_address: string | null;
}

export class Presence {
  readonly #context: Context;
  readonly #connections = new Map<string, AgentConnection>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Whether an agent has a connection now. */
  isConnected(nodeId: string): boolean {
    return this.#context.transport.isConnected(nodeId);
  }

  /** How many agents are connected here. */
  get count(): number {
    return this.#connections.size;
  }

  /** The connection that an agent has now; null where it has none, or is just being admitted. */
  of(nodeId: string): AgentConnection | null {
    return this.isConnected(nodeId) ? (this.#connections.get(nodeId) ?? null) : null;
  }

  /** An agent was admitted. */
  connected(nodeId: string, remoteAddress: string | null): void {
    const { ids, clock } = this.#context;
    const connection = { connection: ids.next(), since: clock.now(), remote_address: remoteAddress };
    this.#connections.set(nodeId, connection);
  }

  /** The connection of an agent is gone. */
  disconnected(nodeId: string): void {
    this.#connections.delete(nodeId);
  }
}
