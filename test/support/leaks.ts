/** What keeps this process alive or holds files open, and what of it is new. */
import { existsSync, readdirSync, readlinkSync, statSync } from "node:fs";

/** Kind of resource, as Node names it -> how many there are. */
export type ResourceCounts = ReadonlyMap<string, number>;

/** Kinds that a test can leave behind. Others (file requests, name look-ups) end by themselves. */
const watched = new Set([
  "TCPSocketWrap",
  "TCPServerWrap",
  "TLSWrap",
  "PipeWrap",
  "PipeServerWrap",
  "UDPWrap",
  "ProcessWrap",
  "FSEventWrap",
  "StatWatcher",
  "MessagePort",
  "Worker",
]);

type StartTimer = typeof globalThis.setTimeout | typeof globalThis.setInterval;

// Timers are counted where they are started: the test runner's own, started with functions it kept from before, would
// otherwise come and go between two counts.
const timers = new Set<NodeJS.Timeout>();
const { setTimeout: startTimer, setImmediate: startImmediate } = globalThis;
globalThis.setTimeout = counting(globalThis.setTimeout);
globalThis.setInterval = counting(globalThis.setInterval);

const descriptors = "/proc/self/fd";
const showsDescriptors = existsSync(descriptors);

/** Counts what keeps the process alive now, and, where the system shows them, the files that are open. */
export function liveResources(): ResourceCounts {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) {
    if (watched.has(kind)) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const running = runningTimers();
  if (running > 0) counts.set("Timeout", running);
  for (const path of openFiles()) counts.set(path, (counts.get(path) ?? 0) + 1);
  return counts;
}

const patienceMs = 2_000;
/** Sockets and processes, which others have to be let run for: on a busy machine that takes longer. */
const slowPatienceMs = 10_000;
// With a mutant in the sources much is left behind, and each test would take its time for it.
const isQuick = process.env["FLEETWRIGHT_MUTANT_TESTS"] !== undefined;
const isSlow = (kind: string): boolean => !isQuick && kind.endsWith("Wrap");

/**
 * Tells what is there now and was not before, as "2 x Timeout". Looks again for a while before it says so, since a socket
 * that was closed takes a few turns to go.
 *
 * @param mostMs - Milliseconds to wait for what is closing, at most. Default 2000, and 10000 for sockets and processes.
 */
export async function leakedSince(before: ResourceCounts, mostMs = Infinity): Promise<string[]> {
  // Rejections are reported at the end of a turn.
  await new Promise<void>((resolve) => void startImmediate(resolve));
  const begun = performance.now();
  let leaked = difference(before, liveResources());
  while (leaked.length > 0) {
    const ownMs = leaked.every(({ kind }) => isSlow(kind)) ? slowPatienceMs : patienceMs;
    if (performance.now() - begun >= Math.min(mostMs, ownMs)) break;
    await new Promise<void>((resolve) => void startTimer(resolve, 10).unref());
    leaked = difference(before, liveResources());
  }
  return leaked.map(({ kind, more }) => `${more} x ${kind}`);
}

/**
 * Paths of the files and folders that are open, without devices and what stands for the system itself. Pipes with a name are none of them: a
 * machine that several tests share gets another one with each boot.
 */
function openFiles(): string[] {
  if (!showsDescriptors) return [];
  return readdirSync(descriptors)
    .map((name) => targetOf(`${descriptors}/${name}`))
    .filter((path) => path.startsWith("/") && !/^\/(dev\/(?!shm\/)|proc\/|sys\/)/.test(path));
}

function targetOf(descriptor: string): string {
  try {
    const stat = statSync(descriptor);
    return stat.isFile() || stat.isDirectory() ? readlinkSync(descriptor) : "";
  } catch {
    // The one that listed them is closed again.
    return "";
  }
}

function runningTimers(): number {
  for (const timer of timers) {
    // Node's own mark of a timer that has fired or was cleared; there is no public one.
    if (Reflect.get(timer, "_destroyed") === true) timers.delete(timer);
  }
  return [...timers].filter((timer) => timer.hasRef()).length;
}

function counting<Start extends StartTimer>(start: Start): Start {
  const started = (...args: Parameters<typeof globalThis.setTimeout>): NodeJS.Timeout => {
    const timer = start(...args);
    timers.add(timer);
    return timer;
  };
  // The promise form hangs on the function itself.
  return Object.defineProperties(started, Object.getOwnPropertyDescriptors(start)) as unknown as Start;
}

function difference(before: ResourceCounts, now: ResourceCounts): { kind: string; more: number }[] {
  return [...now]
    .map(([kind, count]) => ({ kind, more: count - (before.get(kind) ?? 0) }))
    .filter(({ more }) => more > 0);
}
