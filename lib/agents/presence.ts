/** Which agents are connected, and since when: the one place that asks the transport. */
import type { Context } from "../context.ts";

export class Presence {
  readonly #context: Context;
  /** Since when, by the wall clock. */
  readonly #connected = new Map<string, string>();

  constructor(context: Context) {
    this.#context = context;
  }

  /** Whether an agent has a connection now. */
  isConnected(nodeId: string): boolean {
    return this.#context.transport.isConnected(nodeId);
  }

  /** Since when an agent has had its connection; null where it has none. */
  since(nodeId: string): string | null {
    return this.isConnected(nodeId) ? (this.#connected.get(nodeId) ?? null) : null;
  }

  /** How many agents are connected here. */
  get count(): number {
    return this.#connected.size;
  }

  /** An agent was admitted. */
  connected(nodeId: string): void {
    this.#connected.set(nodeId, this.#context.timestamp());
  }

  /** The connection of an agent is gone. */
  disconnected(nodeId: string): void {
    this.#connected.delete(nodeId);
  }
}
