/** One agent, and modules that make files on its machine. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemCaller, type Operation } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent, type TestAgent } from "./fleet.ts";

interface ModuleText {
  files?: Record<string, string>;
  more?: string;
}

export class ScopeScene {
  readonly fleet: TestOrchestrator;
  agent: TestAgent;

  private constructor(fleet: TestOrchestrator, agent: TestAgent) {
    this.fleet = fleet;
    this.agent = agent;
  }

  static async start(): Promise<ScopeScene> {
    const fleet = await createTestOrchestrator();
    return new ScopeScene(fleet, await startApprovedAgent(fleet));
  }

  async end(): Promise<void> {
    await this.agent[Symbol.asyncDispose]();
    await this.fleet[Symbol.asyncDispose]();
  }

  /** Uploads a module with a file for each name. */
  async upload(name: string, { files = { [name]: "1" }, more = "" }: ModuleText = {}): Promise<void> {
    const lines = Object.entries(files).map(
      ([file, content]) =>
        `  - { id: ${file}, type: file, path: /${file}, content: ${JSON.stringify(content)} }\n`,
    );
    const content = `name: ${name}\n${more}resources:\n${lines.join("")}`;
    await this.fleet.orchestrator.modules.upload(systemCaller, { content });
  }

  assign(name: string, modules: string[], more: object = {}): Promise<unknown> {
    const assignment = { name, selector: "*", modules, ...more };
    return this.fleet.orchestrator.assignments.create(systemCaller, assignment);
  }

  unassign(name: string): Promise<unknown> {
    return this.fleet.orchestrator.assignments.remove(systemCaller, { name });
  }

  apply(input: object = {}): Promise<Operation> {
    const { nodeId: node_id } = this.agent;
    return this.fleet.orchestrator.operations.apply(systemCaller, { node_id, ...input });
  }

  plan(input: object = {}): Promise<Operation> {
    const { nodeId: node_id } = this.agent;
    return this.fleet.orchestrator.operations.plan(systemCaller, { node_id, ...input });
  }

  /** Applies an assignment; throws where the agent got no operation. */
  async rollOut(name: string): Promise<Operation> {
    const { operations } = await this.fleet.orchestrator.rollouts.apply(systemCaller, { name });
    const { operation_id, error } = operations[0]!;
    if (operation_id === undefined) throw Object.assign(new Error(error?.message), error);
    return this.fleet.orchestrator.operations.get(systemCaller, { operation_id });
  }

  /** The content of a file of the machine; null where there is none. */
  read(name: string): string | null {
    const path = join(this.agent.root, name);
    return existsSync(path) ? readFileSync(path, "utf8") : null;
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.agent.root, name), text);
  }
}
