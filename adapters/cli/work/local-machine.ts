/** This machine without a server: an orchestrator and its one agent in one process, which keep what they must in one folder. */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  FileStorage,
  isOrchestratorError,
  MemoryTransport,
  Orchestrator,
  OrchestratorError,
  systemCaller,
} from "fleetwright";
import type { Agent, Logger } from "fleetwright";
import { createAgent } from "fleetwright/agent";
import type { AgentProgram } from "fleetwright/agent";
import type { CommandContext } from "../context.ts";
import { stopAgent } from "./agent.ts";

/** How a machine is opened. */
export interface LocalMachineOptions {
  /** Where it is kept what was applied and what stood there before. */
  stateDir: string;
  /** Folder that stands for `/` in everything that resources do to files. Default: the whole machine. */
  root?: string;
  logger: Logger;
}

/** How long the two may take to find each other, milliseconds. */
const joinMs = 10_000;

/** Between two looks at whether they have. */
const lookMs = 5;

export class LocalMachine {
  readonly orchestrator: Orchestrator;
  readonly nodeId: string;
  readonly #agent: AgentProgram;

  private constructor(orchestrator: Orchestrator, agent: AgentProgram) {
    this.orchestrator = orchestrator;
    this.nodeId = agent.nodeId!;
    this.#agent = agent;
  }

  /**
   * Brings orchestrator and agent together, with attributes as they are now.
   *
   * @throws {OrchestratorError} `STORAGE_LOCKED` where another process uses the folder; what their starts throw;
   * `AGENT_OFFLINE` where they don't find each other.
   */
  static async open({ stateDir, root, logger }: LocalMachineOptions): Promise<LocalMachine> {
    const transport = new MemoryTransport();
    const storage = new FileStorage({ folder: join(stateDir, "orchestrator"), logger });
    const orchestrator = new Orchestrator({ storage, transport, logger, driftIntervalSeconds: 0 });
    const agent = createAgent({
      dial: () => Promise.resolve(transport.connect()),
      stateDir: join(stateDir, "agent"),
      logger,
      ...(root !== undefined && { root }),
    });
    try {
      await orchestrator.start();
      await agent.start();
      const machine = new LocalMachine(orchestrator, agent);
      await machine.#join();
      return machine;
    } catch (error) {
      await stopBoth(agent, orchestrator);
      throw error;
    }
  }

  /** Ends what runs after the change in progress; at once where another signal comes meanwhile. */
  interrupt(context: CommandContext): Promise<void> {
    return stopAgent(this.#agent, context);
  }

  /** Ends both. */
  async [Symbol.asyncDispose](): Promise<void> {
    await stopBoth(this.#agent, this.orchestrator);
  }

  /** Waits until the agent is there and has told of its machine, and approves it: nobody else can have come. */
  async #join(): Promise<void> {
    const before = await this.#collectedAt();
    for (let waited = 0; waited < joinMs; waited += lookMs) {
      const view = await this.#view();
      if (view?.status === "pending") {
        await this.orchestrator.agents.setStatus(systemCaller, { node_id: this.nodeId, status: "approved" });
      }
      if (view?.connected === true && (await this.#collectedAt()) !== before) return;
      await pause(lookMs);
    }
    throw new OrchestratorError("AGENT_OFFLINE", {
      message: "The agent of this machine did not come; --log-level info tells more.",
    });
  }

  async #collectedAt(): Promise<string | null> {
    const view = await this.#view();
    if (!view) return null;
    return (await this.orchestrator.agents.attributes(systemCaller, { node_id: this.nodeId })).collected_at;
  }

  async #view(): Promise<Agent | null> {
    try {
      return await this.orchestrator.agents.get(systemCaller, { node_id: this.nodeId });
    } catch (error) {
      if (isOrchestratorError(error, "NOT_FOUND")) return null;
      throw error;
    }
  }
}

/** The agent first: it ends what it does while there is somebody to tell. */
async function stopBoth(agent: { stop(): Promise<void> }, orchestrator: Orchestrator): Promise<void> {
  try {
    await agent.stop();
  } finally {
    await orchestrator.stop();
  }
}
