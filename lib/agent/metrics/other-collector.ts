/** Figures of a machine without /proc, by the package `systeminformation`, which is optional. */
import type { Systeminformation } from "systeminformation";
import type { Logger } from "../../logger.ts";
import type { MeasuredMachine, Values } from "./measured-machine.ts";
import { Rates, rounded } from "./rates.ts";
import { labelledName } from "./series-name.ts";

/** What of the package is used. A test gives figures in its place. */
export interface SystemInformation {
  currentLoad(): Promise<Systeminformation.CurrentLoadData>;
  mem(): Promise<Systeminformation.MemData>;
  fsSize(): Promise<Systeminformation.FsSizeData[]>;
  networkStats(): Promise<Systeminformation.NetworkStatsData[]>;
  time(): Systeminformation.TimeData;
}

const mostThings = 16;

/** Loads the package; null where it is not installed. */
export async function loadSystemInformation(): Promise<SystemInformation | null> {
  try {
    return (await import("systeminformation")).default;
  } catch {
    return null;
  }
}

/** Collects the figures of a machine that has no /proc: without the package, those of the agent itself alone. */
export class OtherCollector {
  readonly #machine: MeasuredMachine;
  readonly #logger: Logger;
  readonly #load: () => Promise<SystemInformation | null>;
  readonly #rates = new Rates();
  #found: Promise<SystemInformation | null> | null = null;

  constructor(machine: MeasuredMachine, logger: Logger, load = loadSystemInformation) {
    this.#machine = machine;
    this.#logger = logger;
    this.#load = load;
  }

  /** The figures of now. Those that are rates are since the call before. */
  async collect(monotonicMs: number): Promise<Values> {
    const values: Values = {};
    const { cpuMicros, memoryBytes } = this.#machine.own();
    values["agent.memory_bytes"] = memoryBytes;
    const counters = new Map<string, number>([["agent", cpuMicros]]);
    const system = await (this.#found ??= this.#begin());
    if (system) await addFigures(system, values, counters);
    for (const [name, rate] of this.#rates.look(counters, monotonicMs)) {
      if (name === "agent") values["agent.cpu_percent"] = rounded(rate / 10_000, 2);
      else values[name] = rounded(rate, name.includes("errors") ? 2 : 0);
    }
    for (const [name, value] of Object.entries(values)) if (!Number.isFinite(value)) delete values[name];
    return values;
  }

  async #begin(): Promise<SystemInformation | null> {
    const found = await this.#load();
    if (!found)
      this.#logger.warn(
        "Only the agent's own figures are measured: the package systeminformation is not installed.",
      );
    return found;
  }
}

/** What fails is left out; the rest is not. */
async function addFigures(
  system: SystemInformation,
  values: Values,
  counters: Map<string, number>,
): Promise<void> {
  const [load, memory, disks, interfaces, time] = await Promise.all([
    orNull(() => system.currentLoad()),
    orNull(() => system.mem()),
    orNull(() => system.fsSize()),
    orNull(() => system.networkStats()),
    orNull(async () => system.time()),
  ]);
  if (load) {
    values["cpu.percent"] = rounded(known(load.currentLoad), 2);
    values["cpu.percent{state=user}"] = rounded(known(load.currentLoadUser), 2);
    values["cpu.percent{state=system}"] = rounded(known(load.currentLoadSystem), 2);
    values["cpu.percent{state=idle}"] = rounded(known(load.currentLoadIdle), 2);
    values["load.1"] = rounded(known(load.avgLoad), 2);
  }
  if (memory) {
    values["memory.total_bytes"] = known(memory.total);
    values["memory.used_bytes"] = known(memory.total) - known(memory.available);
    values["swap.total_bytes"] = known(memory.swaptotal);
    values["swap.used_bytes"] = known(memory.swapused);
  }
  for (const { mount, size, used } of (disks ?? []).slice(0, mostThings)) {
    values[labelledName("mount.total_bytes", "path", mount)] = known(size);
    values[labelledName("mount.used_bytes", "path", mount)] = known(used);
  }
  for (const found of (interfaces ?? []).slice(0, mostThings)) {
    const add = (metric: string, value: number): unknown =>
      counters.set(labelledName(`network.${metric}_per_second`, "interface", found.iface), known(value));
    add("receive_bytes", found.rx_bytes);
    add("transmit_bytes", found.tx_bytes);
    add("receive_errors", found.rx_errors);
    add("transmit_errors", found.tx_errors);
  }
  if (time) values["uptime.seconds"] = Math.floor(known(time.uptime));
}

/** The package tells what it could not find out as null, -1 or NaN, each of which would do for a figure once it is reckoned with. */
function known(value: number | null): number {
  return value !== null && value >= 0 ? value : Number.NaN;
}

async function orNull<Value>(read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read();
  } catch {
    return null;
  }
}
