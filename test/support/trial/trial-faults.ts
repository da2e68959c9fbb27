/** The faults of a trial: which comes next, what it does, and how often each came. */
import { setTimeout as pause } from "node:timers/promises";
import type { EndSignal, TrialFleet } from "./trial-fleet.ts";
import type { TrialLoad } from "./trial-load.ts";
import { answered } from "./trial-verdict.ts";

/** What a trial may do to its fleet. */
export interface TrialMeans {
  hasClocks: boolean;
  /** Whether the server's data has a disk of its own, which may be filled. */
  hasDisk: boolean;
  /** Whether connections are left half-open until a side notices by itself, which takes up to two minutes. */
  isLong: boolean;
}

const minute = 60;
const day = 86_400;
const offsets = [-10 * minute, 10 * minute, -3 * day, 3 * day, -3 * 365 * day, 3 * 365 * day, 0];

export class TrialFaults {
  readonly #fleet: TrialFleet;
  readonly #load: TrialLoad;
  readonly #random: () => number;
  readonly #means: TrialMeans;
  readonly #laters: Promise<void>[] = [];
  #backup: string | null = null;
  #sinceCalm = 0;
  readonly counts = {
    server_kills: 0,
    server_stops: 0,
    agent_kills: 0,
    agent_stops: 0,
    cuts: 0,
    half_opens: 0,
    stalls: 0,
    refusals: 0,
    jumps: 0,
    full_disks: 0,
    restores: 0,
  };

  constructor(
    fleet: TrialFleet,
    load: TrialLoad,
    { random, means }: { random: () => number; means: TrialMeans },
  ) {
    this.#fleet = fleet;
    this.#load = load;
    this.#random = random;
    this.#means = means;
  }

  /** One fault, by chance. */
  async any(): Promise<void> {
    const dice = this.#random();
    if (dice < 0.17) await this.endServer("SIGKILL");
    else if (dice < 0.19) await this.endServer("SIGTERM");
    else if (dice < 0.38) this.endAgent("SIGKILL");
    else if (dice < 0.41) this.endAgent("SIGTERM");
    else if (dice < 0.66) this.cut();
    else if (dice < 0.76) this.halfOpen();
    else if (dice < 0.81) this.stall();
    else if (dice < 0.84) this.refuse();
    else if (dice < 0.93) this.jump();
    else if (dice < 0.96) this.fillDisk();
    else if (this.#backup === null) await this.backUp();
    // Soon after: what comes after the backup is forgotten.
    if (this.#backup !== null && this.#random() < 0.2) await this.restore();
    this.#sinceCalm += 1;
    if (this.#sinceCalm === 10) await this.#calm();
  }

  /** Agents wait longer with each connection that fails: now and then they get the time to connect, and do what waits. */
  async #calm(): Promise<void> {
    this.#sinceCalm = 0;
    const { client, agents } = this.#fleet;
    const until = performance.now() + 15_000;
    const allConnected = async (): Promise<boolean> => {
      const { items } = await answered(() => client.agents.list());
      return items.filter(({ connected }) => connected).length === agents.length;
    };
    while (performance.now() < until && !(await allConnected())) await pause(250);
    await pause(1_000);
  }

  /** In the middle of calls. */
  async endServer(signal: EndSignal): Promise<void> {
    this.counts[signal === "SIGKILL" ? "server_kills" : "server_stops"] += 1;
    for (let calls = 0; calls < 3; calls += 1) this.#load.step();
    await pause(this.#upTo(60));
    await this.#fleet.restartServer(signal, this.#upTo(300));
  }

  endAgent(signal: EndSignal): void {
    this.counts[signal === "SIGKILL" ? "agent_kills" : "agent_stops"] += 1;
    const agent = this.#fleet.agents[Math.floor(this.#random() * this.#fleet.agents.length)]!;
    agent.restart(this.#fleet.proxy.url, signal, this.#upTo(1_000));
  }

  cut(): void {
    this.counts.cuts += 1;
    this.#fleet.proxy.cut(this.#some());
  }

  /** Some are noticed after a moment; in a long trial others are left to the two sides. */
  halfOpen(): void {
    this.counts.half_opens += 1;
    const { proxy } = this.#fleet;
    const dice = this.#random();
    if (dice < 0.5) proxy.swallow(this.#some());
    else proxy.halfOpen(this.#some(), dice < 0.75 ? "near" : "far");
    if (!this.#means.isLong || this.#random() < 0.75)
      this.#later(500 + this.#upTo(2_000), () => proxy.cut(() => true));
  }

  stall(): void {
    this.counts.stalls += 1;
    this.#later(this.#upTo(3_000), this.#fleet.proxy.stall());
  }

  refuse(): void {
    this.counts.refusals += 1;
    const { proxy } = this.#fleet;
    proxy.isRefusing = true;
    proxy.cut(this.#some());
    this.#later(this.#upTo(3_000), () => (proxy.isRefusing = false));
  }

  jump(): void {
    if (!this.#means.hasClocks) return;
    this.counts.jumps += 1;
    const all = ["server", ...this.#fleet.agents] as const;
    const whose = all[Math.floor(this.#random() * all.length)]!;
    this.#fleet.setClock(whose, offsets[Math.floor(this.#random() * offsets.length)]!);
  }

  fillDisk(): void {
    if (!this.#means.hasDisk) return;
    this.counts.full_disks += 1;
    this.#fleet.fillDisk();
    this.#later(500 + this.#upTo(3_000), () => this.#fleet.emptyDisk());
  }

  /** Makes the backup that the next restore takes. */
  async backUp(): Promise<void> {
    await this.#load.settled();
    this.#load.backupBegins();
    for (let calls = 0; calls < 4; calls += 1) this.#load.step();
    this.#backup = await answered(() => this.#fleet.takeBackup());
  }

  /** Goes back to the backup; operators go on while the server is paused. */
  async restore(): Promise<void> {
    if (this.#backup === null) throw new Error("There is no backup.");
    this.counts.restores += 1;
    // A call that is sent again to the new server would be another one there.
    await this.#load.settled();
    await this.#fleet.restore(this.#backup);
    this.#load.restored();
    this.#backup = null;
    for (let calls = 0; calls < 3; calls += 1) this.#load.step();
    await pause(this.#upTo(2_000));
    await this.#load.settled();
    await this.#fleet.resume();
  }

  /** Resolves when no fault is at work any more. */
  async over(): Promise<void> {
    await Promise.all(this.#laters);
  }

  #some(): () => boolean {
    return () => this.#random() < 0.6;
  }

  #upTo(ms: number): number {
    return Math.floor(this.#random() * ms);
  }

  #later(ms: number, then: () => void): void {
    this.#laters.push(pause(ms).then(then));
  }
}
