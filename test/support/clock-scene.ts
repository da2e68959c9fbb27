/** A server and a real agent, each with clocks of its own, over data and a state folder that outlive both. */
import { once } from "node:events";
import { systemCaller, type Operation } from "fleetwright";
import { createAgent, type AgentProgram, type AgentOptions } from "fleetwright/agent";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import type { OrchestratorOptions } from "../../lib/options.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { FrameSocket } from "../../lib/transport/socket.ts";
import { settle } from "./deferred.ts";
import { SideClock } from "./side-clock.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export const minute = 60_000;
export const hour = 60 * minute;
export const day = 24 * hour;
export const year = 365 * day;

/** How far clocks are set: minutes, days and years, both ways. */
export const jumps = [-10 * minute, 10 * minute, -3 * day, 3 * day, -10 * year, 10 * year];

/** How people call a jump. */
export function nameOf(jumpMs: number): string {
  const ms = Math.abs(jumpMs);
  const text = ms >= year ? `${ms / year} years` : ms >= day ? `${ms / day} days` : `${ms / minute} minutes`;
  return `${text} ${jumpMs < 0 ? "back" : "ahead"}`;
}

const motd = `name: motd
resources:
  - { id: motd, type: file, path: /etc/motd, content: hi }
  - { id: work, type: script, run: [work], run_on: [motd] }
  - { id: done, type: file, path: /etc/done, content: done, requires: [work] }
`;

export class ClockScene implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly serverClock = new SideClock(this.clock);
  readonly agentClock = new SideClock(this.clock);
  data = new MemoryData();
  readonly stateDir: string = temporaryFolder();
  /** How often the script ran. */
  runs = 0;
  /** What the script waits for. */
  work: Promise<unknown> = Promise.resolve();
  /** Whether the script ends when it is told to. */
  canBeEnded = false;
  readonly host: MemoryHost = new MemoryHost({
    programs: {
      work: async (_, signal) => {
        this.runs += 1;
        await (this.canBeEnded ? Promise.race([this.work, once(signal, "abort")]) : this.work);
        if (this.canBeEnded) signal.throwIfAborted();
        return { exitCode: 0 };
      },
    },
  });
  readonly #options: Partial<OrchestratorOptions>;
  /** Whether what the server sends is lost on its way. */
  isDeaf = false;
  server!: TestOrchestrator;
  agent: AgentProgram | null = null;
  nodeId = "";

  constructor(options: Partial<OrchestratorOptions>) {
    this.#options = options;
    this.host.files.makeDirectory("/etc", {});
  }

  async startServer(): Promise<void> {
    const storage = new MemoryStorage({ clock: this.serverClock, data: this.data });
    this.server = await createTestOrchestrator({ ...this.#options, clock: this.serverClock, storage });
  }

  /** A backup of the server as it is now. */
  backup(): MemoryData {
    return (this.server.storage as MemoryStorage).restoredCopy();
  }

  /** Has the server die, and another life of it begin. The agent finds it. */
  async restore(backup: MemoryData): Promise<void> {
    await this.stopServer();
    this.data = backup;
    await this.startServer();
    for (let tries = 0; tries < 30 && !this.server.transport.isConnected(this.nodeId); tries += 1)
      await this.pass(1000);
    await this.pass(100);
  }

  async stopServer(): Promise<void> {
    await this.server.orchestrator.stop();
    await settle();
  }

  async startAgent(stateDir: string = this.stateDir, options: Partial<AgentOptions> = {}): Promise<void> {
    this.agent = createAgent({
      ...options,
      stateDir,
      host: this.host,
      clock: this.agentClock,
      dial: async () => this.#dial(),
    });
    await this.agent.start();
    this.nodeId = this.agent.nodeId!;
    await this.pass(100);
  }

  #dial(): FrameSocket {
    const socket = this.server.transport.connect();
    const listen = socket.listen.bind(socket);
    socket.listen = (handlers) =>
      listen({ ...handlers, frame: (frame) => void (this.isDeaf || handlers.frame(frame)) });
    return socket;
  }

  async stopAgent(): Promise<void> {
    await this.agent?.stop();
    this.agent = null;
    await settle();
  }

  /** Lets time pass on both sides, and what is written to disk be written. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    for (let turn = 0; turn < 10; turn += 1) await settle();
  }

  /** Until both sides have found each other again. */
  async meet(): Promise<void> {
    for (let tries = 0; tries < 150 && this.agent?.status !== "approved"; tries += 1) await this.pass(1000);
    await this.pass(100);
  }

  async apply(options: Record<string, unknown> = {}): Promise<Operation> {
    for (const path of ["/etc/motd", "/etc/done"])
      if (this.host.files.stat(path) !== null) this.host.files.removeFile(path);
    const input = { node_id: this.nodeId, modules: ["motd"], wait_seconds: 0, ...options };
    const operation = await this.server.orchestrator.operations.apply(systemCaller, input);
    await this.pass(100);
    return operation;
  }

  /** Asks for an apply that waits for the one before it, or for the agent. */
  queue(options: Record<string, unknown> = {}): Promise<Operation> {
    const input = {
      node_id: this.nodeId,
      modules: ["motd"],
      wait_seconds: 0,
      when_offline: "queue" as const,
    };
    return this.server.orchestrator.operations.apply(systemCaller, { ...input, ...options });
  }

  async statusOf({ operation_id }: Pick<Operation, "operation_id">): Promise<string> {
    return (await this.server.orchestrator.operations.get(systemCaller, { operation_id })).status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopAgent();
    await this.server.orchestrator.stop();
  }
}

/** Starts both sides, and has the agent approved. */
export async function createClockScene(options: Partial<OrchestratorOptions> = {}): Promise<ClockScene> {
  const scene = new ClockScene({ driftIntervalSeconds: 0, ...options });
  await scene.startServer();
  await scene.startAgent();
  const approval = { node_id: scene.nodeId, status: "approved" } as const;
  await scene.server.orchestrator.agents.setStatus(systemCaller, approval);
  await scene.server.orchestrator.modules.upload(systemCaller, { content: motd });
  await scene.pass(100);
  return scene;
}
