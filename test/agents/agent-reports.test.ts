import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { settle } from "../support/deferred.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

it("an agent writes 60 lines a minute into the log, 1,000 characters each, whose level stays ours", async () => {
  const logger = new RecordingLogger();
  await using test = await createTestOrchestrator({ logger });
  await using agent = await connectScriptedAgent(test);
  await test.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  await settle();
  const report = (message: string): void => agent.link.send({ type: "log", level: "error", message });
  const reports = () => logger.lines.filter(({ message }) => message === "An agent reports.");
  for (let n = 0; n < 1000; n += 1) report("x".repeat(4096));
  await settle();
  expect(reports()).toHaveLength(60);
  const told = { node_id: agent.nodeId, agent_level: "error", text: "x".repeat(1000) };
  for (const line of reports())
    expect(line).toEqual({ level: "info", message: "An agent reports.", fields: told });
  await test.clock.advance(1000);
  report("after");
  await settle();
  expect(reports()).toHaveLength(61);
  expect(reports().at(-1)?.fields).toEqual({ ...told, text: "after", left_out: 940 });
});
