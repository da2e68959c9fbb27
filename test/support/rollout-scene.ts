/** A fleet whose agents do what a test tells them, and an assignment for all of them. */
import { systemCaller } from "fleetwright";
import type { OrchestratorOptions } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { MessageOf, OrchestratorMessage } from "../../lib/wire/messages.ts";
import { settle } from "./deferred.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "./scripted-agent.ts";

type Keys = Awaited<ReturnType<typeof connectScriptedAgent>>["keys"];
type Status = ReturnType<typeof emptyResult>["status"];

/** An agent of the scene. */
export interface SceneAgent {
  name: string;
  nodeId: string;
  keys: Keys;
  agent: ScriptedAgent;
}

export const motd = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";

export interface Scene extends AsyncDisposable {
  clock: FakeClock;
  data: MemoryData;
  test: TestOrchestrator;
  agents: SceneAgent[];
  /** Answers the next apply of an agent. */
  finish(agent: SceneAgent | undefined, status?: Status): Promise<MessageOf<OrchestratorMessage, "apply">>;
  /** Names of the agents that were sent an apply so far, in the order of the scene. */
  asked(): string[];
}

/** Starts an orchestrator with agents named a1, a2 and so on; `tags` are those of each, by its place. */
export async function createScene(
  count: number,
  tags: (at: number) => Record<string, string> = () => ({}),
  options: Partial<OrchestratorOptions> = {},
): Promise<Scene> {
  const clock = new FakeClock();
  const data = new MemoryData();
  const test = await createTestOrchestrator({
    clock,
    storage: new MemoryStorage({ clock, data }),
    ...options,
  });
  const agents: SceneAgent[] = [];
  for (let at = 0; at < count; at += 1) {
    const agent = await connectScriptedAgent(test, undefined, clock);
    const { nodeId: node_id, keys } = agent;
    const name = `a${at + 1}`;
    await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name });
    await test.orchestrator.agents.tags.replace(systemCaller, { node_id, tags: tags(at) });
    agents.push({ name, nodeId: node_id, keys, agent });
  }
  await test.orchestrator.modules.upload(systemCaller, { content: motd });
  await test.orchestrator.assignments.create(systemCaller, { name: "all", selector: "*", modules: ["motd"] });
  return {
    clock,
    data,
    test,
    agents,
    async finish(member, status = "succeeded") {
      const command = await member!.agent.next("apply");
      member!.agent.link.send({ ...emptyResult(command.operation_id), status });
      await member!.agent.next("ack");
      await settle();
      await settle();
      return command;
    },
    asked: () =>
      agents
        .filter(({ agent }) => agent.commands.some((command) => command.type === "apply"))
        .map(({ name }) => name),
    async [Symbol.asyncDispose]() {
      for (const { agent } of agents) await agent.link.stop();
      await test[Symbol.asyncDispose]();
    },
  };
}
