/**
 * What follows from the status of an agent, whoever decided about it: its connection is told or ended, and those who give it work
 * hear whether they may.
 */
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import type { AgentWatcher } from "./agent-watcher.ts";
import type { Presence } from "./presence.ts";
import type { AgentRegistry, StatusChange } from "./registry.ts";

export class Standing {
  readonly #context: Context;
  readonly #presence: Presence;
  readonly #watchers: readonly AgentWatcher[];

  constructor(
    context: Context,
    parts: { registry: AgentRegistry; presence: Presence; watchers: readonly AgentWatcher[] },
  ) {
    this.#context = context;
    this.#presence = parts.presence;
    this.#watchers = parts.watchers;
    parts.registry.onStatus((change) => this.#follow(change));
  }

  /** An approved agent has a connection. */
  available(nodeId: string): void {
    for (const watcher of this.#watchers) watcher.available(nodeId);
  }

  /** Tells an agent that is connected that it is approved. */
  approve(nodeId: string): void {
    if (!this.#presence.isConnected(nodeId)) return;
    const message = {
      type: "status",
      id: this.#context.ids.next(),
      not_after: toTimestamp(this.#context.fleetTime.now() + 60_000),
      status: "approved",
    } as const;
    this.#context.transport.send(nodeId, message).then(
      () => this.available(nodeId),
      (error: unknown) => {
        // It left in this moment; the decision is on disk, and the agent hears of it when it comes again.
        if (isOrchestratorError(error, "AGENT_OFFLINE")) return;
        this.#context.logger.error("An agent was not told that it is approved.", { error, node_id: nodeId });
      },
    );
  }

  #follow({ nodeId, before, after }: StatusChange): void {
    if (after === "approved") this.approve(nodeId);
    else if (before !== null) this.#dismiss(nodeId, after === null ? "forgotten" : "rejected");
  }

  #dismiss(nodeId: string, reason: string): void {
    this.#context.transport.disconnect(nodeId, reason).catch((error: unknown) => {
      this.#context.logger.error("An agent could not be let go.", { error, node_id: nodeId });
    });
    for (const watcher of this.#watchers) watcher.dismissed(nodeId);
  }
}
