/**
 * Two members write and read at random, over a way that is slow, loses frames and is cut, by seed: what arrives is whole and in order, or
 * both sides hear of the end.
 */
import { describe, expect, it } from "vitest";
import type { Cluster, Pipe } from "../../lib/cluster/cluster.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { MemoryCluster } from "../../lib/testing/memory-cluster.ts";
import { seededRandom } from "../support/random.ts";
import { seedsFor } from "../support/soak.ts";

const seeds = seedsFor({ usual: 20, soak: 2_000 });
const windowBytes = 1_048_576;

/** What became of one direction. */
interface Way {
  written: number;
  read: number;
  /** The most that was written and not read at a time. */
  mostUnread: number;
  /** Null while it is not over. */
  writer: "ended" | "failed" | null;
  reader: "whole" | "failed" | null;
}

type Fault = "none" | "loss" | "cut" | "kill" | "stop";

const byteAt = (place: number): number => (place * 31 + (place >> 8)) % 256;

class Trial {
  readonly clock = new FakeClock();
  readonly #random: () => number;
  readonly #cluster: MemoryCluster;
  readonly #fault: Fault;
  #members: [Cluster, Cluster] | null = null;

  constructor(seed: number, fault: Fault) {
    this.#random = seededRandom(seed);
    this.#fault = fault;
    this.#cluster = new MemoryCluster({ clock: this.clock, random: this.#random });
    this.#cluster.delayMs = { least: 0, most: this.#below(3) * 40 };
  }

  async run(): Promise<{ there: Way; back: Way }> {
    const [here, there] = [this.#cluster.member(), this.#cluster.member()];
    this.#members = [here, there];
    const ways = { there: newWay(), back: newWay() };
    const serve = async ({ pipe }: { pipe: Pipe }): Promise<void> => {
      await Promise.all([this.#read(pipe, ways.there), this.#write(pipe, ways.back)]);
    };
    const context = { clock: this.clock, crypto: nodeCrypto, logger: silentLogger };
    for (const member of [here, there])
      await member.start(context, { calls: new Map(), pipes: new Map([["both", serve]]) });
    const opening = here.open(there.name, "both", { body: {} });
    await this.clock.advance(500);
    const pipe = await opening;
    const work = Promise.all([this.#write(pipe, ways.there), this.#read(pipe, ways.back)]);
    this.clock.setTimer(this.#below(3_000), () => this.#break());
    await this.#settle(Object.values(ways));
    await work;
    this.#cluster.lossRatio = 0;
    await Promise.all([here.stop(), there.stop()]);
    return ways;
  }

  #break(): void {
    const [here, there] = this.#members!;
    if (this.#fault === "loss") this.#cluster.lossRatio = 0.02;
    if (this.#fault === "cut") this.#cluster.cut(here, there);
    if (this.#fault === "kill") this.#cluster.kill(this.#below(2) === 0 ? here : there);
    if (this.#fault === "stop") void here.stop();
  }

  async #settle(ways: Way[]): Promise<void> {
    const isOver = (): boolean => ways.every(({ reader, writer }) => reader !== null && writer !== null);
    for (let passed = 0; !isOver() && passed < 120_000; passed += 100) await this.clock.advance(100);
    if (!isOver()) throw new Error(`Nothing more was heard: ${JSON.stringify(ways)}.`);
  }

  async #write(pipe: Pipe, way: Way): Promise<void> {
    try {
      for (let left = this.#below(40); left > 0; left -= 1) {
        await this.#pause();
        const size = this.#below(4) === 0 ? this.#below(300_000) : this.#below(2_000);
        const from = way.written;
        way.written += size;
        await pipe.write(Uint8Array.from({ length: size }, (_, index) => byteAt(from + index)));
        way.mostUnread = Math.max(way.mostUnread, way.written - way.read);
      }
      await pipe.end();
      way.writer = "ended";
    } catch (error) {
      way.writer = failed(error);
    }
  }

  async #read(pipe: Pipe, way: Way): Promise<void> {
    try {
      for (let bytes = await pipe.read(); bytes !== null; bytes = await pipe.read()) {
        const from = way.read;
        if (!bytes.every((byte, index) => byte === byteAt(from + index)))
          throw new Error(`What was read differs from ${from} on.`);
        way.read += bytes.length;
        await this.#pause();
      }
      way.reader = "whole";
    } catch (error) {
      way.reader = failed(error);
    }
  }

  #pause(): Promise<void> | null {
    if (this.#below(3) > 0) return null;
    return new Promise((resolve) => this.clock.setTimer(this.#below(300), resolve));
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound);
  }
}

const newWay = (): Way => ({ written: 0, read: 0, mostUnread: 0, writer: null, reader: null });

function failed(error: unknown): "failed" {
  if (!isOrchestratorError(error, "UNAVAILABLE")) throw error;
  return "failed";
}

describe.each<Fault>(["none", "loss", "cut", "kill", "stop"])("a pipe over a way with fault: %s", (fault) => {
  it("brings all, in order, or ends on both sides", { timeout: 600_000 }, async () => {
    const ends = new Set<string>();
    for (const seed of seeds) {
      const { there, back } = await new Trial(seed, fault).run();
      for (const way of [there, back]) {
        const what = `seed ${seed}: ${JSON.stringify(way)}`;
        expect(way.mostUnread, what).toBeLessThanOrEqual(windowBytes);
        ends.add(`${way.reader} ${way.writer}`);
        if (way.reader === "whole") expect(way.read, what).toBe(way.written);
        // Only who wrote may be left in doubt: what it was told with is lost on the way back.
        if (way.writer === "ended") expect(way.reader, what).toBe("whole");
      }
    }
    if (fault === "none") expect([...ends]).toEqual(["whole ended"]);
    else expect(ends).toContain("failed failed");
  });
});
