import type { SampleRow } from "../../lib/storage/storage.ts";
import { seededRandom } from "../support/random.ts";

/** Time between two rows of an agent. */
export const rowMs = 15_000;

const startMs = 1_893_456_000_000;
const memoryBytes = 16 * 2 ** 30;
const diskBytes = 200 * 1e9;

/** Rows of one agent as a busy server would send them, 20 series every 15 seconds, the same for the same agent. */
export function* agentRows(agent: number): Generator<SampleRow, never> {
  const random = seededRandom(agent + 1);
  const noise = (): number => (random() + random() + random() + random() - 2) * 1.7;
  const load = { now: 0.5, one: 0.5, five: 0.5, fifteen: 0.5 };
  let memory = memoryBytes * (0.3 + random() * 0.3);
  let cache = memoryBytes * 0.2;
  let disk = diskBytes * (0.2 + random() * 0.5);
  let processes = 180 + Math.floor(random() * 80);
  const counters = { received: 0, sent: 0, packetsIn: 0, packetsOut: 0, read: 0, written: 0, switches: 0 };
  const bootMs = startMs - Math.floor(random() * 30 * 86_400_000);
  const decimals = (value: number, digits: number): number => Number(value.toFixed(digits));
  for (let row = 0; ; row++) {
    const at = startMs + row * rowMs + Math.floor(agent * 7.3) + Math.max(0, Math.round(noise() * 2));
    const busy = Math.max(0.02, 0.25 + 0.2 * Math.sin((row / 5_760) * 2 * Math.PI) + noise() * 0.06);
    load.now = Math.max(0, busy * 4 + noise() * 0.3);
    load.one += (load.now - load.one) * 0.22;
    load.five += (load.now - load.five) * 0.05;
    load.fifteen += (load.now - load.fifteen) * 0.017;
    memory = Math.min(memoryBytes * 0.95, Math.max(1e9, memory + noise() * 2e6));
    if (random() < 0.3) cache = Math.max(1e8, cache + noise() * 1e6);
    if (random() < 0.4) disk += Math.floor(random() * 40) * 4_096;
    if (random() < 0.15) processes += Math.round(noise());
    const idle = random() < 0.35;
    counters.received += Math.floor((idle ? 600 : 40_000 * busy) * (1 + 0.4 * Math.abs(noise())));
    counters.sent += Math.floor((idle ? 500 : 25_000 * busy) * (1 + 0.4 * Math.abs(noise())));
    counters.packetsIn += Math.floor((idle ? 6 : 80 * busy) * (1 + 0.4 * Math.abs(noise())));
    counters.packetsOut += Math.floor((idle ? 5 : 60 * busy) * (1 + 0.4 * Math.abs(noise())));
    if (random() < 0.1) counters.read += Math.floor(random() * 30) * 4_096;
    if (random() < 0.7) counters.written += Math.floor(random() * 60) * 4_096;
    counters.switches += Math.floor(3_000 + 4_000 * busy + noise() * 200);
    yield {
      at,
      values: {
        "cpu.user": decimals(busy * 70, 1),
        "cpu.system": decimals(busy * 22 + Math.abs(noise()) * 0.4, 1),
        "cpu.wait": random() < 0.8 ? 0 : decimals(random() * 2, 1),
        "load.1": decimals(load.one, 2),
        "load.5": decimals(load.five, 2),
        "load.15": decimals(load.fifteen, 2),
        "memory.total": memoryBytes,
        "memory.used": Math.round(memory / 4_096) * 4_096,
        "memory.cached": Math.round(cache / 4_096) * 4_096,
        "swap.used": 0,
        "disk.total": diskBytes,
        "disk.used": Math.round(disk / 4_096) * 4_096,
        "disk.read": counters.read,
        "disk.written": counters.written,
        "net.received": counters.received,
        "net.sent": counters.sent,
        "net.packets_in": counters.packetsIn,
        "net.packets_out": counters.packetsOut,
        processes,
        uptime: Math.floor((at - bootMs) / 1_000),
      },
    };
  }
}

/** The first rows of an agent. */
export function firstRows(agent: number, count: number): SampleRow[] {
  const rows = agentRows(agent);
  return Array.from({ length: count }, () => rows.next().value);
}
