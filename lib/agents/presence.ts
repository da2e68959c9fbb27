/** Which agents are connected: the one place that asks the transport. */
import type { Context } from "../context.ts";

export class Presence {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Whether an agent has a connection now. */
  isConnected(nodeId: string): boolean {
    return this.#context.transport.isConnected(nodeId);
  }
}
