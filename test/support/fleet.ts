import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { systemCaller } from "fleetwright";
import { createAgent, type AgentProgram, type AgentOptions } from "fleetwright/agent";
import type { TestOrchestrator } from "fleetwright/testing";
import { temporaryFolder } from "./temporary-folder.ts";

/** A real agent in this process, over the memory transport, with a folder that stands for its machine. */
export interface TestAgent extends AsyncDisposable {
  agent: AgentProgram;
  nodeId: string;
  /** What stands for `/`. */
  root: string;
  stateDir: string;
}

/** The folders of an agent, and what else is not as ever. */
type MachineOptions = Pick<TestAgent, "root" | "stateDir"> &
  Pick<AgentOptions, "types" | "clock" | "measured" | "commands" | "terminals">;

/** Starts an agent and waits until the orchestrator knows it. */
export async function startAgent(
  test: TestOrchestrator,
  { root, stateDir, ...options }: MachineOptions = newFolders(),
): Promise<TestAgent> {
  const seen = test.events.length;
  const agent = createAgent({
    ...options,
    root,
    stateDir,
    dial: () => Promise.resolve(test.transport.connect()),
  });
  await agent.start();
  const nodeId = agent.nodeId!;
  await eventOf(test, "agent.connected", nodeId, seen);
  return { agent, nodeId, root, stateDir, [Symbol.asyncDispose]: () => agent.stop() };
}

/** Starts an agent and approves it. */
export async function startApprovedAgent(
  test: TestOrchestrator,
  options?: MachineOptions,
): Promise<TestAgent> {
  const started = await startAgent(test, options);
  await test.orchestrator.agents.setStatus(systemCaller, { node_id: started.nodeId, status: "approved" });
  return started;
}

/** Waits for an event about an agent; those before `from` do not count. */
export async function eventOf(test: TestOrchestrator, type: string, nodeId: string, from = 0): Promise<void> {
  const isIt = (): boolean =>
    test.events.slice(from).some((event) => event.event_type === type && event.target?.id === nodeId);
  if (isIt()) return;
  await new Promise<void>((resolve) => {
    const end = test.orchestrator.listen(() => {
      if (!isIt()) return;
      end();
      resolve();
    });
  });
}

export function newFolders(): { root: string; stateDir: string } {
  const folder = temporaryFolder();
  const root = join(folder, "root");
  mkdirSync(join(root, "etc"), { recursive: true });
  return { root, stateDir: join(folder, "state") };
}
