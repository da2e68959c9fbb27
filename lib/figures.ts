/** Figures of the orchestrator itself, for whoever watches the service: counts, and how long commits take. */
import type { AgentService } from "./agents/agent-service.ts";
import { auditLog, type Context } from "./context.ts";
import type { OperationService } from "./operations/operation-service.ts";

/** Counts of one moment. */
export interface FigureCounts {
  /** Agents by their status. */
  agents: Record<"pending" | "approved" | "rejected", number>;
  /** Agents that are connected to this process. */
  connected_agents: number;
  /** Operations of which more is to come, by their status: `queued`, `running`, and `unknown`. */
  open_operations: Record<string, number>;
  /** Sequence of the newest entry of the audit log; 0 where there is none. */
  audit_head: number;
}

/** What is told of each operation that ended. */
export interface EndedOperation {
  kind: string;
  status: string;
}

/** Figures of the orchestrator itself. */
export class Figures {
  readonly #context: Context;
  readonly #features: { agents: AgentService; operations: OperationService };

  readonly #endListeners = new Set<(operation: EndedOperation) => void>();

  constructor(context: Context, features: { agents: AgentService; operations: OperationService }) {
    this.#context = context;
    this.#features = features;
    features.operations.store.watch(({ kind, status }) => {
      if (status === "queued" || status === "running") return;
      for (const listener of this.#endListeners) listener({ kind, status });
    });
  }

  /**
   * Counts what there is.
   *
   * @throws {OrchestratorError} What the storage throws, e.g. `STORAGE_CLOSED`; `UNAVAILABLE` before the start.
   */
  async count(): Promise<FigureCounts> {
    this.#context.requireStarted();
    const { agents, operations } = this.#features;
    const { head } = await this.#context.storage.readLog(auditLog, { reverse: true, limit: 1 });
    return {
      agents: agents.registry.counts(),
      connected_agents: agents.presence.count,
      open_operations: operations.store.unsettledCounts(),
      audit_head: head.sequence,
    };
  }

  /** Has a listener hear how long each commit took until it was on disk, in seconds, also those that failed. The function returned ends it. */
  onCommit(listener: (seconds: number) => void): () => void {
    return this.#context.onCommit(listener);
  }

  /**
   * Has a listener hear of each operation that ends from now on; of one that becomes `unknown` again when more is heard. The function
   * returned ends it.
   */
  onEnded(listener: (operation: EndedOperation) => void): () => void {
    this.#endListeners.add(listener);
    return () => void this.#endListeners.delete(listener);
  }
}
