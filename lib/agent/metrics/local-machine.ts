import { readFileSync, readdirSync, type StatsFs } from "node:fs";
import { statfs } from "node:fs/promises";
import { platform } from "node:os";
import type { Clock } from "../../clock.ts";
import type { MeasuredMachine, Space } from "./measured-machine.ts";

/** How long a file system may take to say how full it is. */
const spaceMs = 2_000;

/** The machine that the agent runs on. */
export class LocalMachine implements MeasuredMachine {
  readonly kind: "proc" | "other" = platform() === "linux" ? "proc" : "other";
  readonly #clock: Clock;
  /** File systems that were asked and have not answered: they are not asked again meanwhile, for each takes a thread. */
  readonly #asked = new Set<string>();
  readonly #ask: (path: string) => Promise<StatsFs>;

  /** @param ask - Asks a file system how full it is. Default: by statfs(2). */
  constructor(clock: Clock, ask: (path: string) => Promise<StatsFs> = statfs) {
    this.#clock = clock;
    this.#ask = ask;
  }

  read(path: string): string | null {
    try {
      return readFileSync(path, "utf8");
    } catch {
      return null;
    }
  }

  list(path: string): readonly string[] | null {
    try {
      return readdirSync(path);
    } catch {
      return null;
    }
  }

  async space(path: string): Promise<Space | null> {
    if (this.#asked.has(path)) return null;
    this.#asked.add(path);
    const answer = this.#ask(path)
      .then(({ bsize, blocks, bfree, bavail }): Space => {
        const usedBytes = (blocks - bfree) * bsize;
        // Blocks kept for root are neither used nor to be had, as `df` counts.
        return { usedBytes, totalBytes: usedBytes + bavail * bsize };
      })
      .catch(() => null)
      .finally(() => this.#asked.delete(path));
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(spaceMs, () => resolve(null));
      void answer.then((space) => {
        timer.cancel();
        resolve(space);
      });
    });
  }

  own(): { cpuMicros: number; memoryBytes: number } {
    const { user, system } = process.cpuUsage();
    return { cpuMicros: user + system, memoryBytes: process.memoryUsage.rss() };
  }
}
