/** Which agents are connected: the one place that asks the transport. */
import type { Context } from "../context.ts";

export class Presence {
  readonly #context: Context;
  readonly #connected = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Whether an agent has a connection now. */
  isConnected(nodeId: string): boolean {
    return this.#context.transport.isConnected(nodeId);
  }

  /** How many agents are connected here. */
  get count(): number {
    return this.#connected.size;
  }

  /** An agent was admitted. */
  connected(nodeId: string): void {
    this.#connected.add(nodeId);
  }

  /** The connection of an agent is gone. */
  disconnected(nodeId: string): void {
    this.#connected.delete(nodeId);
  }
}
