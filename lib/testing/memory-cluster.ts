/** Several processes of a cluster in one, and a way between them that can be made bad. */
import type { Clock } from "../clock.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { FramedCluster } from "../cluster/framed-cluster.ts";
import type { ClusterFrame } from "../cluster/frames.ts";
import type { ClusterLink, LinkEnds } from "../cluster/link.ts";

/** How {@link MemoryCluster} is made. */
export interface MemoryClusterOptions {
  /** Whose time delays take. */
  clock: Clock;
  /** 0 to 1, for delays and losses: from a seed, a failure repeats. Default 0.5 for ever. */
  random?: () => number;
}

/**
 * A cluster inside one process, for tests: its members talk to each other as processes do, and the way between them can be slow, lose
 * what it carries, and be cut.
 *
 * What one member sends another arrives in the order in which it was sent; without a delay in a later microtask.
 *
 * @example Two members, and a cut
 * ```ts
 * import { nodeCrypto, silentLogger } from "fleetwright";
 * import { FakeClock, MemoryCluster } from "fleetwright/testing";
 *
 * const clock = new FakeClock();
 * const cluster = new MemoryCluster({ clock });
 * const [here, there] = [cluster.member(), cluster.member()];
 * const context = { clock, crypto: nodeCrypto, logger: silentLogger };
 * const none = { calls: new Map(), pipes: new Map() };
 * await here.start(context, none);
 * await there.start(context, { ...none, calls: new Map([["double", async ({ body }) => ({ is: Number(body["of"]) * 2 })]]) });
 * console.log(await here.call(there.name, "double", { body: { of: 21 }, timeoutMs: 1_000 }));
 * cluster.cut(here, there);
 * await Promise.all([here.stop(), there.stop()]);
 * ```
 */
export class MemoryCluster {
  /** Milliseconds that a frame takes, drawn from this range. Default none. */
  delayMs: { least: number; most: number } = { least: 0, most: 0 };
  /** Share of frames and rings that are lost, 0 to 1. Default 0. */
  lossRatio = 0;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #links = new Map<Cluster, MemoryLink>();
  readonly #cuts = new Set<string>();

  constructor({ clock, random = () => 0.5 }: MemoryClusterOptions) {
    this.#clock = clock;
    this.#random = random;
  }

  /** A new member, not started. */
  member(): Cluster {
    const link: MemoryLink = new MemoryLink({
      clock: this.#clock,
      links: () => this.#links.values(),
      loses: (to) => this.#isCut(link, to) || (this.lossRatio > 0 && this.#random() < this.lossRatio),
      isCut: (to) => this.#isCut(link, to),
      drawDelayMs: () => this.delayMs.least + this.#random() * (this.delayMs.most - this.delayMs.least),
    });
    const member = new FramedCluster(link, { isLossy: true });
    this.#links.set(member, link);
    return member;
  }

  /** Loses all that two members send each other, also what is on the way; neither is told. */
  cut(one: Cluster, other: Cluster): void {
    this.#cuts.add(this.#pairOf(one, other));
  }

  /** Ends what {@link cut} began. */
  mend(one: Cluster, other: Cluster): void {
    this.#cuts.delete(this.#pairOf(one, other));
  }

  /** Takes a member off from what joins them all, and tells it so. */
  isolate(member: Cluster): void {
    this.#linkOf(member).setState("down");
  }

  /** Ends what {@link isolate} began. */
  rejoin(member: Cluster): void {
    this.#linkOf(member).setState("up");
  }

  /** Ends a member as `kill -9` ends a process: it says nothing any more, and who asks for it learns that it is gone. */
  kill(member: Cluster): void {
    this.#linkOf(member).kill();
  }

  #isCut(from: MemoryLink, to: MemoryLink): boolean {
    return this.#cuts.has(pairOf(from, to));
  }

  #pairOf(one: Cluster, other: Cluster): string {
    return pairOf(this.#linkOf(one), this.#linkOf(other));
  }

  #linkOf(member: Cluster): MemoryLink {
    const link = this.#links.get(member);
    if (!link) throw new Error("This is no member of the cluster.");
    return link;
  }
}

/** What a link knows of the way to the others. */
interface Way {
  clock: Clock;
  links(): Iterable<MemoryLink>;
  /** Whether something that is sent now is lost. */
  loses(to: MemoryLink): boolean;
  /** Whether all is lost, what is on the way too. */
  isCut(to: MemoryLink): boolean;
  drawDelayMs(): number;
}

let linksMade = 0;

class MemoryLink implements ClusterLink {
  readonly number = linksMade++;
  readonly #way: Way;
  readonly #ways = new Map<MemoryLink, { dueAt: number; waiting: (() => void)[] }>();
  #joined: { name: string; ends: LinkEnds } | null = null;
  #isDown = false;

  constructor(way: Way) {
    this.#way = way;
  }

  async start(name: string, ends: LinkEnds): Promise<void> {
    this.#joined = { name, ends };
  }

  async stop(): Promise<void> {
    const left = this.#joined;
    if (left === null) return;
    this.#joined = null;
    for (const link of this.#way.links()) {
      const { ends } = link.#joined ?? {};
      if (ends && !this.#isDown && !link.#isDown) this.#bring(link, () => ends.gone(left.name));
    }
  }

  send(process: string, frame: ClusterFrame): void {
    const from = this.#joined;
    if (from === null || this.#isDown) return;
    const to = [...this.#way.links()].find((link) => link.#joined?.name === process);
    if (!to) return queueMicrotask(() => from.ends.gone(process));
    const { ends } = to.#joined ?? {};
    if (ends && !to.#isDown) this.#bring(to, () => ends.receive(from.name, frame));
  }

  ring(position: number): void {
    const from = this.#joined;
    if (from === null || this.#isDown) return;
    for (const link of this.#way.links()) {
      const { ends } = link.#joined ?? {};
      if (link !== this && ends && !link.#isDown) this.#bring(link, () => ends.rang(from.name, position));
    }
  }

  setState(state: "up" | "down"): void {
    this.#isDown = state === "down";
    this.#joined?.ends.changed(state);
  }

  kill(): void {
    this.#joined = null;
  }

  /** Brings something to another member after what was sent there before, unless it is lost. */
  #bring(to: MemoryLink, arrive: () => void): void {
    const way = this.#way;
    if (to !== this && way.loses(to)) return;
    const now = way.clock.monotonic();
    const target = to.#joined;
    const ahead = this.#ways.get(to) ?? { dueAt: 0, waiting: [] };
    this.#ways.set(to, ahead);
    ahead.dueAt = Math.max(now + way.drawDelayMs(), ahead.dueAt);
    ahead.waiting.push(() => {
      if (to.#joined === target && !to.#isDown && !way.isCut(to)) arrive();
    });
    // Whichever timer is first, what was sent first comes first.
    const next = (): void => ahead.waiting.shift()?.();
    if (ahead.dueAt <= now) queueMicrotask(next);
    else way.clock.setTimer(ahead.dueAt - now, next);
  }
}

function pairOf(one: MemoryLink, other: MemoryLink): string {
  return [one.number, other.number].toSorted((a, b) => a - b).join();
}
