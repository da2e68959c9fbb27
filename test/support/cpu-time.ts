import { readFileSync } from "node:fs";

/**
 * Time of the processor that this thread has taken, milliseconds, to some of them: neither what else the machine does is counted nor what
 * the engine does beside the thread, which takes many times as long on a machine that is busy.
 */
export function cpuMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1_000_000;
  } catch {
    // Only Linux tells it of a thread.
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}

/** Time of the processor that synchronous work takes in this thread, milliseconds. */
export function cpuMsOf(work: () => unknown): number {
  const before = cpuMs();
  work();
  return cpuMs() - before;
}
