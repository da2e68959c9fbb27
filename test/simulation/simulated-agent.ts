import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { createAgent, type AgentProgram } from "../../lib/agent/agent.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import type { Host } from "../../lib/host/host.ts";
import { recordCalls } from "../../lib/testing/recording-host.ts";
import type { FrameSocket } from "../../lib/transport/socket.ts";
import { Life } from "./life.ts";
import { Machine } from "./machine.ts";
import type { World } from "./world.ts";

/** The files of an agent that a full disk keeps from being replaced. */
const refusable = ["applied.json", "acknowledged.json"];

/** A machine, and the agents that live on it one after another. Each finds what the one before left when it was killed. */
export class SimulatedAgent {
  readonly name: string;
  readonly machine: Machine;
  /** How far the wall clock of the machine is off, milliseconds. */
  clockOffsetMs = 0;
  nodeId = "";
  readonly #world: World;
  readonly #folder: string;
  #lives = 0;
  #life: Life | null = null;
  #agent: AgentProgram | null = null;

  constructor(world: World, folder: string, name: string) {
    this.#world = world;
    this.#folder = folder;
    this.name = name;
    this.machine = new Machine(world.clock, world.random);
  }

  get isUp(): boolean {
    return this.#life?.isOver === false;
  }

  get stateDir(): string {
    return join(this.#folder, `${this.name}-${this.#lives}`);
  }

  async start(): Promise<void> {
    const world = this.#world;
    const life = new Life(world.clock, () => this.clockOffsetMs);
    const { stateDir } = this;
    this.#life = life;
    life.onEnd(() => this.#leave(stateDir));
    const agent = createAgent({
      stateDir,
      // What was acknowledged must not be needed again: nothing here is restored.
      keptResults: { count: 0 },
      host: this.#hostOf(life),
      dial: async () => this.#dial(life),
      clock: life.clock,
      crypto: world.crypto,
      logger: world.loggerOf(this.name, life),
    });
    this.#agent = agent;
    try {
      await agent.start();
    } catch (error) {
      this.#startFailed(error);
      return;
    }
    this.nodeId = agent.nodeId!;
    if (life.isOver) world.remains.push(agent.stop());
  }

  /** A full disk may keep it from starting; nothing else may. */
  #startFailed(error: unknown): void {
    if (!isOrchestratorError(error, "STORAGE_FAILED"))
      this.#world.faults.push(`${this.name} did not start: ${String(error)}`);
    this.#world.note(`${this.name} can't start`);
    this.#agent = null;
    this.#life?.end();
  }

  /** Kills it, at once or where it touches something for the n-th time. */
  kill(atTouch = 0): void {
    if (atTouch > 0) this.#life?.endAtTouch(atTouch);
    else this.#life?.end();
  }

  /** Stops it in order. */
  async stop(): Promise<void> {
    const life = this.#life;
    if (!life || life.isOver || !this.#agent) return;
    life.endAtTouch(Infinity);
    await this.#world.drive(`the stop of ${this.name}`, this.#agent.stop());
    this.#life = null;
  }

  /** What lists of the agent can't be written: their disk is full, or not any more. */
  setDiskFull(isFull: boolean): void {
    for (const file of refusable) {
      const path = join(this.stateDir, `${file}.new`);
      if (isFull) mkdirSync(path, { recursive: true });
      else rmSync(path, { recursive: true, force: true });
    }
  }

  /** Operations whose results the orchestrator has not acknowledged. */
  undelivered(): string[] {
    const folder = join(this.stateDir, "operations");
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  /** The state folder as it is at this moment becomes the next agent's; the machine stays. */
  #leave(stateDir: string): void {
    this.#world.note(`${this.name} is killed`);
    this.#lives += 1;
    if (existsSync(stateDir)) {
      const isKept = (path: string): boolean => !basename(path).startsWith("agent.lock");
      cpSync(stateDir, this.stateDir, { recursive: true, filter: isKept });
    }
    // One that dies while it starts is stopped where it was started.
    const agent = this.#agent;
    if (agent && agent.nodeId !== null) this.#world.remains.push(agent.stop());
  }

  #dial(life: Life): FrameSocket {
    life.pass();
    const socket = this.#world.network.dial(life);
    // Half of the time the orchestrator learns of it only by silence, as when a machine loses its power.
    const isSilent = this.#world.random() < 0.5;
    life.onEnd(() => (isSilent ? socket.vanish() : socket.destroy()));
    return socket;
  }

  #hostOf(life: Life): Host {
    const { host } = this.machine;
    const watched = recordCalls(host, () => life.pass());
    return {
      ...watched,
      run: async (command, signal) => {
        const result = await life.outlive(watched.run(command, signal));
        life.pass();
        return result;
      },
      barrier: async () => {
        life.pass();
        await host.barrier();
        life.pass();
      },
    };
  }
}
