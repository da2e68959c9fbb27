import { isOrchestratorError } from "../../lib/errors.ts";
import { Orchestrator } from "../../lib/orchestrator.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { SocketTransport } from "../../lib/transport/socket-transport.ts";
import { Life, ProcessEnded } from "./life.ts";
import { MortalStorage } from "./mortal-storage.ts";
import type { World } from "./world.ts";

/** Orchestrators that live one after another over the same data. */
export class SimulatedOrchestrator {
  readonly data = new MemoryData();
  /** How far the wall clock of its machine is off, milliseconds. */
  clockOffsetMs = 0;
  /** How many have started. */
  starts = 0;
  readonly #world: World;
  #life: Life | null = null;
  #current: Orchestrator | null = null;

  constructor(world: World) {
    this.#world = world;
  }

  /** The one that runs; null while there is none. */
  get current(): Orchestrator | null {
    return this.#life?.isOver === false ? this.#current : null;
  }

  /** The life of the one that runs. */
  get life(): Life | null {
    return this.#life;
  }

  async start(): Promise<void> {
    const { clock, random, crypto, network } = this.#world;
    const life = new Life(clock, () => this.clockOffsetMs);
    this.starts += 1;
    const storage = new MortalStorage(new MemoryStorage({ clock, data: this.data }), life, random);
    const transport = new SocketTransport();
    const logger = this.#world.loggerOf("the orchestrator", life);
    const orchestrator = new Orchestrator({
      storage,
      transport,
      clock: life.clock,
      crypto,
      logger,
      driftIntervalSeconds: 900,
    });
    this.#life = life;
    this.#current = null;
    life.onEnd(() => {
      this.#world.note("the orchestrator is killed");
      network.listener = null;
      for (const connection of network.connections()) connection.cut();
      this.#world.remains.push(orchestrator.stop());
    });
    try {
      await this.#world.drive("the start of the orchestrator", orchestrator.start());
    } catch (error) {
      if (!life.isOver) this.#startFailed(life, error);
      return;
    }
    if (life.isOver) return;
    this.#current = orchestrator;
    network.listener = (end) => transport.accept(end);
  }

  /** Kills it, at once or where it touches something for the n-th time. */
  kill(atTouch = 0): void {
    if (atTouch > 0) this.#life?.endAtTouch(atTouch);
    else this.#life?.end();
  }

  /** Stops it in order. */
  async stop(): Promise<void> {
    const { current } = this;
    if (!current) return;
    this.#life?.endAtTouch(Infinity);
    this.#current = null;
    this.#world.network.listener = null;
    await this.#world.drive("the stop of the orchestrator", current.stop());
    this.#life = null;
  }

  /** A full disk may keep it from starting; nothing else may. */
  #startFailed(life: Life, error: unknown): void {
    if (!isOrchestratorError(error, "STORAGE_FULL") && !(error instanceof ProcessEnded))
      this.#world.faults.push(`the orchestrator did not start: ${String(error)}`);
    life.end();
  }
}
