/** What the transport hears, brought to the feature that it concerns. */
import { systemCaller } from "./access/caller.ts";
import { RateLimiter } from "./access/rate-limiter.ts";
import type { Agents } from "./agents/agents.ts";
import type { Context } from "./context.ts";
import type { Operations } from "./operations/operations.ts";
import type { TransportHandlers } from "./transport/transport.ts";
import type { AgentMessage } from "./wire/messages.ts";

/** Refusals of one address a minute that are audited; the rest is only logged, so that a flood does not fill the disk. */
const auditedRefusalsPerMinute = 10;

/** What hears the transport. */
export interface AgentTraffic extends TransportHandlers {
  /** Resolves when everything that was heard of agents that left is written. */
  settled(): Promise<void>;
}

export function createAgentTraffic(
  context: Context,
  features: { agents: Agents; operations: Operations },
): AgentTraffic {
  const { agents, operations } = features;
  const refusals = new RateLimiter(context.clock, auditedRefusalsPerMinute);
  const leaving = new Set<Promise<void>>();

  async function hear(nodeId: string, message: AgentMessage): Promise<void> {
    switch (message.type) {
      case "reply":
        return operations.dispatcher.reply(nodeId, message);
      case "result":
        return operations.dispatcher.result(nodeId, message);
      case "attributes":
        return agents.enrolment.attributes(nodeId, message);
      case "log":
        return context.logger.info("An agent reports.", {
          node_id: nodeId,
          level: message.level,
          text: message.message,
        });
      case "progress":
      case "output":
        return operations.dispatcher.progress(nodeId, message);
      case "metrics":
      case "terminal.closed":
        // Nobody here asked for these: they are of features that this version does not have.
        return;
    }
  }

  return {
    admit: (introduction) => agents.enrolment.admit(introduction),
    connected: ({ node_id }, admission) => agents.connected(node_id, admission),
    message: hear,
    // Streams are of terminals, which this version does not open.
    stream: () => Promise.resolve(),
    disconnected(nodeId, reason) {
      const written = agents.enrolment.disconnected(nodeId, reason).catch((error: unknown) => {
        context.logger.warn("An agent's leaving was not written.", { error, node_id: nodeId });
      });
      leaving.add(written);
      void written.then(() => leaving.delete(written));
    },
    settled: async () => void (await Promise.all(leaving)),
    refused(refusal) {
      const { node_id, remote_address, code, message } = refusal;
      context.logger.warn("An agent was refused.", { ...refusal });
      try {
        refusals.take(remote_address ?? "");
      } catch {
        return;
      }
      const written = context.commit(systemCaller, [], {
        type: "agent.refused",
        ...(node_id !== null && { target: { type: "agent", id: node_id, name: node_id } }),
        summary: `A connection of an agent was refused: ${code}`,
        metadata: { code, message, remote_address },
      });
      written.catch((error: unknown) => context.logger.warn("A refusal was not written.", { error }));
    },
  };
}
