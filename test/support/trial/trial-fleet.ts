/** Real server and agent processes that are killed, stopped, cut off, restored and given wrong clocks, and come back. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createClient, type Client } from "fleetwright/client";
import { readSigner } from "fleetwright/client/node";
import { fill } from "../mounts.ts";
import { eventually, Program, startAgentProcess, startServerProcess } from "../processes.ts";
import type { AgentProcess, ServerProcess } from "../processes.ts";
import { restoreTo, takeBackup } from "../restored-server.ts";
import { SetClock } from "../set-clock.ts";
import { CuttingProxy } from "./cutting-proxy.ts";

/** Where a trial keeps what it needs, and what its machine allows. */
export interface TrialPlaces {
  /** For all but the server's data. */
  folder: string;
  /** For the server's data: a disk of its own where it is to be filled. */
  disk: string;
  /** Whether there is a libfaketime. */
  hasClocks: boolean;
}

/** How a process is ended. */
export type EndSignal = "SIGKILL" | "SIGTERM";

/** One agent over all of its lives. */
export class TrialAgent {
  readonly folder: string;
  readonly clock: SetClock | null;
  process!: AgentProcess;
  /** Settled when no life of it is on its way. */
  busy: Promise<void> = Promise.resolve();

  constructor(folder: string, hasClocks: boolean) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    this.clock = hasClocks ? new SetClock(join(folder, "clock")) : null;
  }

  get nodeId(): string {
    return this.process.nodeId;
  }

  async start(url: string): Promise<void> {
    this.process = await startAgentProcess(this.folder, url, this.clock?.environment ?? {});
  }

  /** Ends it and starts it again after a while; one after the other where it is asked for twice. */
  restart(url: string, signal: EndSignal, awayMs: number): void {
    this.busy = this.busy.then(async () => {
      await this.process.program.end(signal);
      await pause(awayMs);
      await this.start(url);
    });
  }
}

/** A server over all of its lives, with its agents behind a proxy. */
export class TrialFleet implements AsyncDisposable {
  readonly #places: TrialPlaces;
  readonly #clock: SetClock | null;
  readonly #ballast: string;
  readonly agents: TrialAgent[];
  #lives = 1;
  #dataDir: string;
  #port = 0;
  server!: ServerProcess;
  proxy!: CuttingProxy;
  /** Calls the server whichever life it is in; sends again what was cut off, with one idempotency key. */
  client!: Client;

  constructor(places: TrialPlaces, agents: number) {
    this.#places = places;
    this.#clock = places.hasClocks ? new SetClock(join(places.folder, "server-clock")) : null;
    this.#ballast = join(places.disk, "ballast");
    this.#dataDir = join(places.disk, "data-1");
    this.agents = Array.from(
      { length: agents },
      (_, index) => new TrialAgent(join(places.folder, `agent-${index + 1}`), places.hasClocks),
    );
  }

  async start(): Promise<void> {
    await this.startServer();
    this.#port = Number(new URL(this.server.url).port);
    const signer = readSigner(join(this.#dataDir, "admin-key"));
    const retry = { attempts: 6, firstPauseMs: 200, longestPauseMs: 1_000 };
    this.client = createClient({ url: this.server.url, signer, retry });
    this.proxy = await CuttingProxy.start(this.#port);
    for (const agent of this.agents) {
      await agent.start(this.proxy.url);
      await eventually("the agent is known", async () =>
        (await this.client.agents.list()).items.some(({ node_id }) => node_id === agent.nodeId),
      );
      await this.client.agents.setStatus(agent.nodeId, { status: "approved" });
    }
  }

  async startServer(): Promise<void> {
    this.server = await startServerProcess(this.#dataDir, this.#port, this.#clock?.environment ?? {});
  }

  async restartServer(signal: EndSignal, awayMs: number): Promise<void> {
    await this.server.program.end(signal);
    await pause(awayMs);
    await this.startServer();
  }

  /** Sets the wall clock of the server, or of an agent, to so many seconds from the true time. */
  setClock(whose: TrialAgent | "server", offsetSeconds: number): void {
    (whose === "server" ? this.#clock : whose.clock)?.set(offsetSeconds);
  }

  fillDisk(): void {
    fill(this.#ballast);
  }

  emptyDisk(): void {
    rmSync(this.#ballast, { force: true });
  }

  takeBackup(): Promise<string> {
    return takeBackup({ ...this.server, client: this.client }, join(this.#places.folder, "fleet.backup"));
  }

  /** The server dies with its data; another one starts on a backup, paused. */
  async restore(file: string): Promise<void> {
    await this.server.program.end("SIGKILL");
    this.emptyDisk();
    const from = this.#dataDir;
    this.#lives += 1;
    this.#dataDir = join(this.#places.disk, `data-${this.#lives}`);
    await restoreTo(file, from, this.#dataDir);
    rmSync(from, { recursive: true });
    await this.startServer();
  }

  /** `fleetwright resume --yes`, by the command line. */
  async resume(): Promise<void> {
    const environment = {
      FLEETWRIGHT_HOME: join(this.#places.folder, "home"),
      FLEETWRIGHT_URL: this.server.url,
    };
    for (const args of [
      ["login", "--key", join(this.#dataDir, "admin-key")],
      ["resume", "--yes"],
    ]) {
      const program = new Program(args, environment);
      const code = await program.exited();
      if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${program.stderr}`);
    }
  }

  /** Nothing fails any more: right clocks, space, a network; every process is there. What was cut without a word stays so. */
  async heal(): Promise<void> {
    this.emptyDisk();
    this.proxy.isRefusing = false;
    for (const whose of ["server", ...this.agents] as const) this.setClock(whose, 0);
    await Promise.all(this.agents.map(({ busy }) => busy));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.agents.map(({ busy }) => busy));
    await Promise.allSettled(this.agents.map((agent) => agent.process?.program.end("SIGKILL")));
    await this.server?.program.end("SIGKILL");
    await this.proxy?.[Symbol.asyncDispose]();
  }
}
