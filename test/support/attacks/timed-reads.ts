/** Small authenticated reads at a steady rate, on connections that are kept or new ones, each timed from the moment it was due. */
import { setTimeout as pause } from "node:timers/promises";
import { ask, openConnections, writeGet } from "../../bench/http-load.ts";
import { send } from "../http.ts";

const everyMs = 50;

/** How long reads took, milliseconds. */
export interface ReadTimes {
  count: number;
  p50: number;
  p99: number;
  max: number;
}

const path = "/api/v1/agents?limit=1";

/** Reads on a new connection each until the signal aborts. Rejects where an answer is no 200. */
export function timeNewReads(port: number, token: string, signal: AbortSignal): Promise<ReadTimes> {
  const headers = { authorization: `Bearer ${token}` };
  return timed(signal, async () => {
    const { status, text } = await send(port, { path, headers });
    if (status !== 200) throw new Error(`A read was answered with ${status}: ${text}`);
  });
}

/** Reads on connections that stay open, as clients and browsers do, until the signal aborts. */
export async function timeReads(port: number, token: string, signal: AbortSignal): Promise<ReadTimes> {
  const request = writeGet(path, { authorization: `Bearer ${token}` });
  const sockets = await openConnections(port, 40);
  // In turns; an answer that is late keeps those that come after it on the same connection waiting.
  const last: Promise<void>[] = sockets.map(() => Promise.resolve());
  let next = 0;
  try {
    return await timed(signal, () => {
      const at = next++ % sockets.length;
      return (last[at] = last[at]!.then(() => ask(sockets[at]!, request)));
    });
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

async function timed(signal: AbortSignal, ask: () => Promise<void>): Promise<ReadTimes> {
  const tookMs: number[] = [];
  const read = async (dueAt: number): Promise<void> => {
    await ask();
    tookMs.push(performance.now() - dueAt);
  };
  const reads: Promise<void>[] = [];
  for (let dueAt = performance.now(); !signal.aborted; dueAt += everyMs) {
    await pause(Math.max(0, dueAt - performance.now()));
    const reading = read(dueAt);
    // A failure is told at the end, with the others.
    reading.catch(() => {});
    reads.push(reading);
  }
  await Promise.all(reads);
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (share: number): number => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? NaN);
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}
