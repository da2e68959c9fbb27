/**
 * Figures of a Linux machine, from the texts of /proc.
 *
 * What can't be read, is not of the expected form, or can't be a figure, such as a share of a counter that went back, is left out of the
 * sample: a value is right or it is not there.
 */
import type { MeasuredMachine, Values } from "./measured-machine.ts";
import {
  cpuStates,
  parseCpu,
  parseDisks,
  parseInterfaces,
  parseLoad,
  parseMemory,
  parseMounts,
  parseUptime,
  type CpuTicks,
  type Mount,
} from "./proc-texts.ts";
import { Rates, rounded } from "./rates.ts";
import { labelledName } from "./series-name.ts";

/** Most of each kind of thing that are measured: a machine with a thousand containers must leave room for its own figures. */
const mostMounts = 20;
const mostInterfaces = 16;
const mostDisks = 16;

/** File systems on disks of the machine itself: one of another machine may not answer, and holds up whoever asks. */
const localTypes = /^(ext[234]|xfs|btrfs|zfs|f2fs|bcachefs|jfs|reiserfs|vfat|exfat|ntfs3?|fuseblk)$/;
/** The loop to itself, and the machine's ends of containers. */
const uncounted = /^(lo|veth.*)$/;
const noDisks = /^(loop|ram|zram|sr|fd)\d+$/;

/** Collects the figures of a machine with /proc. */
export class ProcCollector {
  readonly #machine: MeasuredMachine;
  readonly #rates = new Rates();
  #ticks: CpuTicks | null = null;
  #spaces: { mount: Mount; total: string; used: string }[] = [];
  #mountsText: string | null = null;

  constructor(machine: MeasuredMachine) {
    this.#machine = machine;
  }

  /** The figures of now. Those that are rates are since the call before. */
  async collect(monotonicMs: number): Promise<Values> {
    const values: Values = {};
    this.#addCpu(values);
    this.#addLoad(values);
    this.#addMemory(values);
    this.#addRest(values);
    this.#addRates(values, monotonicMs);
    await this.#addSpaces(values);
    return values;
  }

  #read<Parsed>(path: string, parse: (text: string) => Parsed | null): Parsed | null {
    const text = this.#machine.read(path);
    return text === null ? null : parse(text);
  }

  #addCpu(values: Values): void {
    const now = this.#read("/proc/stat", parseCpu);
    const before = this.#ticks;
    this.#ticks = now;
    if (!now || !before) return;
    const spent = cpuStates.map((state) => now[state] - before[state]);
    const all = spent.reduce((sum, ticks) => sum + ticks, 0);
    // Counters that went back say nothing about the shares of the others either.
    if (all <= 0 || spent.some((ticks) => ticks < 0)) return;
    const share = (ticks: number): number => rounded((100 * ticks) / all, 2);
    const idle = now.idle - before.idle + (now.iowait - before.iowait);
    values["cpu.percent"] = share(all - idle);
    cpuStates.forEach((state, index) => (values[`cpu.percent{state=${state}}`] = share(spent[index] ?? 0)));
  }

  #addLoad(values: Values): void {
    const load = this.#read("/proc/loadavg", parseLoad);
    if (load) [values["load.1"], values["load.5"], values["load.15"]] = load;
  }

  #addMemory(values: Values): void {
    const found = this.#read("/proc/meminfo", parseMemory);
    const [total, available] = [found?.get("MemTotal"), found?.get("MemAvailable")];
    const [swap, swapFree] = [found?.get("SwapTotal"), found?.get("SwapFree")];
    addPair(values, "memory", { total, free: available });
    addPair(values, "swap", { total: swap, free: swapFree });
  }

  #addRest(values: Values): void {
    const uptime = this.#read("/proc/uptime", parseUptime);
    if (uptime !== null) values["uptime.seconds"] = Math.floor(uptime);
    const entries = this.#machine.list("/proc");
    const processes = entries?.reduce((count, name) => (isNumber(name) ? count + 1 : count), 0);
    if (processes !== undefined && processes > 0) values["process.count"] = processes;
    values["agent.memory_bytes"] = this.#machine.own().memoryBytes;
  }

  #addRates(values: Values, monotonicMs: number): void {
    const counters = new Map<string, number>([["agent", this.#machine.own().cpuMicros]]);
    const interfaces = [...(this.#read("/proc/net/dev", parseInterfaces) ?? [])];
    for (const [name, counted] of interfaces
      .filter(([each]) => !uncounted.test(each))
      .slice(0, mostInterfaces)) {
      const add = (metric: string, value: number): unknown =>
        counters.set(labelledName(`network.${metric}_per_second`, "interface", name), value);
      add("receive_bytes", counted.receivedBytes);
      add("transmit_bytes", counted.sentBytes);
      add("receive_errors", counted.receiveErrors);
      add("transmit_errors", counted.sendErrors);
    }
    for (const [name, counted] of this.#disks()) {
      counters.set(labelledName("disk.read_bytes_per_second", "device", name), counted.readBytes);
      counters.set(labelledName("disk.write_bytes_per_second", "device", name), counted.writtenBytes);
    }
    for (const [name, rate] of this.#rates.look(counters, monotonicMs)) {
      // Microseconds a second, as a share of one processor.
      if (name === "agent") values["agent.cpu_percent"] = rounded(rate / 10_000, 2);
      else values[name] = rounded(rate, name.includes("errors") ? 2 : 0);
    }
  }

  #disks(): [string, { readBytes: number; writtenBytes: number }][] {
    const found = [...(this.#read("/proc/diskstats", parseDisks) ?? [])];
    // What stands here is whole disks; partitions stand below theirs.
    const whole = new Set(this.#machine.list("/sys/block") ?? []);
    const isDisk = (name: string): boolean => whole.has(name) && !noDisks.test(name);
    const used = found.filter(
      ([name, { readBytes, writtenBytes }]) => isDisk(name) && readBytes + writtenBytes > 0,
    );
    return used.slice(0, mostDisks);
  }

  async #addSpaces(values: Values): Promise<void> {
    const text = this.#machine.read("/proc/self/mountinfo");
    // Parsed again only where something was mounted: the text of a machine with containers is long.
    if (text !== this.#mountsText)
      this.#spaces = text === null ? [] : measuredMounts(parseMounts(text)).map(toNames);
    this.#mountsText = text;
    const found = await Promise.all(this.#spaces.map(({ mount }) => this.#machine.space(mount.path)));
    this.#spaces.forEach(({ total, used }, index) => {
      const space = found[index];
      if (!space || !(space.totalBytes > 0) || !(space.usedBytes >= 0)) return;
      values[total] = space.totalBytes;
      values[used] = space.usedBytes;
    });
  }
}

function toNames(mount: Mount): { mount: Mount; total: string; used: string } {
  const name = (metric: string): string => labelledName(`mount.${metric}`, "path", mount.path);
  return { mount, total: name("total_bytes"), used: name("used_bytes") };
}

/** File systems of the machine's own disks, each once, where all of it stands and its path is shortest; what stands at `/` whatever it is. */
function measuredMounts(mounts: readonly Mount[]): Mount[] {
  const byDevice = new Map<string, Mount>();
  for (const mount of mounts) {
    if (mount.path !== "/" && !localTypes.test(mount.type)) continue;
    const known = byDevice.get(mount.device);
    if (!known || rankOf(mount) < rankOf(known)) byDevice.set(mount.device, mount);
  }
  return [...byDevice.values()].sort((a, b) => (a.path < b.path ? -1 : 1)).slice(0, mostMounts);
}

function rankOf({ path, root }: Mount): number {
  return path.length + (root === "/" ? 0 : 10_000);
}

function addPair(
  values: Values,
  family: string,
  { total, free }: { total: number | undefined; free: number | undefined },
): void {
  if (total === undefined || free === undefined || free > total) return;
  values[`${family}.used_bytes`] = total - free;
  values[`${family}.total_bytes`] = total;
}

function isNumber(name: string): boolean {
  const code = name.charCodeAt(0);
  return code >= 0x30 && code <= 0x39;
}
