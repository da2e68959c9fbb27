/** Samples that an agent of a test sends, and what is told of them. */
import { systemCaller, type Alarm, type OrchestratorEvent } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { settleAll } from "./deferred.ts";

/** Sends one sample of now. */
export async function sendSample(
  { clock }: Pick<TestOrchestrator, "clock">,
  agent: TestAgent,
  values: Readonly<Record<string, number>>,
): Promise<void> {
  const at = new Date(clock.now()).toISOString();
  agent.say({ type: "metrics", samples: [{ at, values: { ...values } }], gap: false });
  for (let turn = 0; turn < 5; turn += 1) await settleAll();
}

/** The events of alarms that there were, of one agent or of all, in order. */
export function alarmEvents(
  { events }: Pick<TestOrchestrator, "events">,
  nodeId?: string,
): OrchestratorEvent[] {
  return events.filter(
    ({ event_type, target }) =>
      /^metric\.(thresholdCrossed|thresholdRecovered|alarms)/.test(event_type) &&
      (nodeId === undefined || target?.id === nodeId),
  );
}

/** The alarms that there are. */
export async function alarmsNow({ orchestrator }: Pick<TestOrchestrator, "orchestrator">): Promise<Alarm[]> {
  return (await orchestrator.thresholds.alarms(systemCaller, { limit: 500 })).items;
}
