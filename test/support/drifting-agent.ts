/** A machine that is looked at for drift when a test says so. */
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { newFolders, startApprovedAgent, type TestAgent } from "./fleet.ts";

export interface DriftingAgent {
  readonly fleet: TestOrchestrator;
  readonly agent: TestAgent;
  /** Where a path of a module is on this machine. */
  at(name: string): string;
}

/** Starts an orchestrator and its agent before each test of the file, and ends them after it. */
export function driftingAgent(): DriftingAgent {
  const scene = { at: (name: string) => join(scene.agent.root, name) } as {
    fleet: TestOrchestrator;
    agent: TestAgent;
    at(name: string): string;
  };
  beforeEach(async () => {
    scene.fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
    scene.agent = await startApprovedAgent(scene.fleet, { ...newFolders(), clock: scene.fleet.clock });
  });
  afterEach(async () => {
    await scene.agent[Symbol.asyncDispose]();
    await scene.fleet[Symbol.asyncDispose]();
  });
  return scene;
}
