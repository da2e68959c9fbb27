/** The texts of /proc, parsed. What is not of the expected form is left out, never guessed. */

/** Ticks of all processors since the boot, by what they did. */
export type CpuTicks = Record<(typeof cpuStates)[number], number>;

/** In the order of `/proc/stat`. Guests, which follow there, are in `user` and `nice` already. */
export const cpuStates = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"] as const;

/** Reads `/proc/stat`. */
export function parseCpu(text: string): CpuTicks | null {
  const fields = /^cpu +(.+)$/m.exec(text)?.[1]?.split(/ +/).slice(0, cpuStates.length).map(wholeOf) ?? [];
  if (fields.length < 4 || fields.some((field) => field === null)) return null;
  // Kernels before 2.6.11 have fewer: what they do not count is 0.
  return Object.fromEntries(cpuStates.map((state, index) => [state, fields[index] ?? 0])) as CpuTicks;
}

/** Reads `/proc/loadavg`: of 1, 5 and 15 minutes. */
export function parseLoad(text: string): [number, number, number] | null {
  const [one, five, fifteen] = text.split(" ").map(numberOf);
  if (typeof one !== "number" || typeof five !== "number" || typeof fifteen !== "number") return null;
  return [one, five, fifteen];
}

/** Reads `/proc/uptime`, seconds. */
export function parseUptime(text: string): number | null {
  return numberOf(text.split(" ")[0] ?? "");
}

/** Reads `/proc/meminfo`: bytes, by the kernel's names. */
export function parseMemory(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const [, name = "", kib = ""] of text.matchAll(/^(\w+): +(\d+) kB$/gm))
    found.set(name, Number(kib) * 1_024);
  return found;
}

/** What an interface has carried since it is there. */
export interface InterfaceCounters {
  receivedBytes: number;
  receiveErrors: number;
  sentBytes: number;
  sendErrors: number;
}

/** Reads `/proc/net/dev`. */
export function parseInterfaces(text: string): Map<string, InterfaceCounters> {
  const found = new Map<string, InterfaceCounters>();
  for (const [, name = "", rest = ""] of text.matchAll(/^ *([^\s:|]+):(.+)$/gm)) {
    const fields = rest.trim().split(/ +/).map(wholeOf);
    const [receivedBytes, , receiveErrors] = fields;
    const [sentBytes, , sendErrors] = fields.slice(8);
    if (typeof receivedBytes !== "number" || typeof receiveErrors !== "number") continue;
    if (typeof sentBytes !== "number" || typeof sendErrors !== "number") continue;
    found.set(name, { receivedBytes, receiveErrors, sentBytes, sendErrors });
  }
  return found;
}

/** What a disk has read and written since the boot. */
export interface DiskCounters {
  readBytes: number;
  writtenBytes: number;
}

/** A sector of `/proc/diskstats`, whatever the disk's own are. */
const sectorBytes = 512;

/** Reads `/proc/diskstats`, partitions included. */
export function parseDisks(text: string): Map<string, DiskCounters> {
  const found = new Map<string, DiskCounters>();
  for (const line of text.split("\n")) {
    const [, , name, , , sectorsRead = "", , , , sectorsWritten = ""] = line.trim().split(/ +/);
    const [read, written] = [wholeOf(sectorsRead), wholeOf(sectorsWritten)];
    if (name === undefined || read === null || written === null) continue;
    found.set(name, { readBytes: read * sectorBytes, writtenBytes: written * sectorBytes });
  }
  return found;
}

/** A file system, where it is mounted. */
export interface Mount {
  path: string;
  /** What the kernel calls its device: mounted twice it is the same one. */
  device: string;
  /** What of the device stands there: "/" where it is all of it. */
  root: string;
  type: string;
}

/** Reads `/proc/self/mountinfo`. */
export function parseMounts(text: string): Mount[] {
  const found: Mount[] = [];
  for (const line of text.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const [, , device, root, path] = before.split(" ");
    const [type] = after.split(" ");
    if (device === undefined || root === undefined || path === undefined || type === undefined || type === "")
      continue;
    found.push({ path: unescaped(path), device, root, type });
  }
  return found;
}

/** Spaces and the like are written as octal numbers. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}

function numberOf(text: string): number | null {
  return /^\d+(\.\d+)?$/.test(text) ? Number(text) : null;
}

/** A counter of the kernel; those that a double can't tell from their neighbours are good enough for a rate. */
function wholeOf(text: string): number | null {
  return /^\d{1,20}$/.test(text) ? Number(text) : null;
}
