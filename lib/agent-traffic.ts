/** What the transport hears, brought to the feature that it concerns. */
import { AgentRefusals } from "./agents/agent-refusals.ts";
import { AgentReports } from "./agents/agent-reports.ts";
import type { AgentService } from "./agents/agent-service.ts";
import type { Context } from "./context.ts";
import { OrchestratorError } from "./errors.ts";
import type { MetricService } from "./metrics/metric-service.ts";
import type { OperationService } from "./operations/operation-service.ts";
import type { TerminalService } from "./terminals/terminal-service.ts";
import type { ThresholdService } from "./thresholds/threshold-service.ts";
import type { Admission, AgentIntroduction, TransportHandlers } from "./transport/transport.ts";
import type { MessageHead } from "./wire/message-head.ts";
import type { AgentMessage } from "./wire/messages.ts";

/** What hears the transport. */
export interface AgentTraffic extends TransportHandlers {
  /** Resolves when everything that was heard of agents that left is written. */
  settled(): Promise<void>;
}

/** The features that agents speak to. */
interface HearingFeatures {
  agents: AgentService;
  metrics: MetricService;
  operations: OperationService;
  terminals: TerminalService;
  thresholds: ThresholdService;
}

export function createAgentTraffic(context: Context, features: HearingFeatures): AgentTraffic {
  const { agents, metrics, terminals, thresholds } = features;
  const refusals = new AgentRefusals(context, agents.registry);
  const reports = new AgentReports(context);
  const leaving = new Set<Promise<void>>();
  watchFollowers(context, agents);

  return {
    isWanted: (nodeId, head) => isWanted(features, nodeId, head),
    admit: (introduction) => admit(context, agents, introduction),
    connected: (introduction, admission) => agents.connected(introduction, admission),
    message: (nodeId, message) => hear({ ...features, reports }, nodeId, message),
    stream: async (nodeId, streamId, data) => terminals.stream(nodeId, streamId, data),
    disconnected(nodeId, reason) {
      reports.forget(nodeId);
      metrics.intake.forget(nodeId);
      thresholds.left(nodeId);
      const both = [agents.disconnected(nodeId, reason), terminals.disconnected(nodeId)];
      const written = Promise.all(both).then(() => {});
      leaving.add(written);
      void written.then(() => leaving.delete(written));
    },
    async settled() {
      await Promise.all(leaving);
      await agents.enrolment.settle();
    },
    refused: (refusal) => refusals.refused(refusal),
  };
}

/** Hands a message of an agent to the feature that it is for. */
async function hear(
  {
    agents,
    metrics,
    operations,
    terminals,
    thresholds,
    reports,
  }: HearingFeatures & { reports: AgentReports },
  nodeId: string,
  message: AgentMessage,
): Promise<void> {
  const { answers } = operations.dispatcher;
  switch (message.type) {
    case "reply":
      return terminals.reply(nodeId, message) ? undefined : answers.reply(nodeId, message);
    case "result":
      return answers.result(nodeId, message);
    case "attributes":
      return agents.enrolment.attributes(nodeId, message);
    case "log":
      return reports.take(nodeId, message);
    case "progress":
    case "output":
      return answers.progress(nodeId, message);
    case "metrics":
      return thresholds.look(nodeId, await metrics.intake.take(nodeId, message));
    case "terminal.closed":
    case "terminal.taken":
      return terminals.hear(nodeId, message);
  }
}

/** Who is here follows this server, and who is dismissed is none of the fleet. */
function watchFollowers({ epochs }: Context, agents: AgentService): void {
  const forget = (nodeId: string): void => epochs.forgetSuperseded(nodeId);
  agents.watch({ available: forget, dismissed: forget, forget: () => [] });
}

/** An agent that follows a newer server of the same key would obey nothing: it is not taken in, so that nothing is begun on it. */
async function admit(
  { epochs }: Context,
  agents: AgentService,
  introduction: AgentIntroduction,
): Promise<Admission> {
  const { node_id, epoch } = introduction;
  if (!epochs.isSuperseded(epoch)) return agents.enrolment.admit(introduction);
  // What a stranger says of itself is no news of the fleet.
  const approved = await agents.requireApproved(node_id).catch(() => null);
  if (approved) epochs.noteSuperseded(node_id, epoch);
  const own = epochs.current?.number ?? 0;
  throw new OrchestratorError("ORCHESTRATOR_SUPERSEDED", {
    message: `The agent follows a newer server of this key, of epoch ${epoch.number}; this one is of epoch ${own}.`,
  });
}

/** Whether anybody is interested in what a message of an agent is about. */
async function isWanted(
  { metrics, operations }: { metrics: MetricService; operations: OperationService },
  nodeId: string,
  head: MessageHead,
): Promise<boolean> {
  const { answers } = operations.dispatcher;
  switch (head.type) {
    case "metrics":
      return metrics.intake.isWanted(nodeId);
    case "progress":
    case "output":
      return answers.isRunning(nodeId, head.operationId);
    case "result":
      // Without an operation it is no result, which reading it says.
      return head.operationId === null || answers.awaitsResult(nodeId, head.operationId);
    default:
      return true;
  }
}
