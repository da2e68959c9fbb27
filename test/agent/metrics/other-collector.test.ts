import { expect, test } from "vitest";
import {
  OtherCollector,
  loadSystemInformation,
  type SystemInformation,
} from "../../../lib/agent/metrics/other-collector.ts";
import { RecordedMachine } from "../../support/recorded-machine.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";

/** What the package says of a machine, as far as it is looked at. */
function figures(change: Partial<Record<keyof SystemInformation, unknown>> = {}): SystemInformation {
  const found = {
    currentLoad: {
      avgLoad: 1.25,
      currentLoad: 12.345,
      currentLoadUser: 10,
      currentLoadSystem: 2.345,
      currentLoadIdle: 87.655,
    },
    mem: { total: 1_000, available: 400, swaptotal: 100, swapused: 25 },
    fsSize: [{ mount: "/", size: 5_000, used: 1_000 }],
    networkStats: [{ iface: "en0", rx_bytes: 1_000, tx_bytes: 500, rx_errors: 1, tx_errors: 0 }],
    time: { uptime: 99.9 },
    ...change,
  };
  const answer = (name: keyof typeof found) => () => {
    const value = found[name];
    if (value instanceof Error) throw value;
    return value;
  };
  const later = (name: keyof typeof found) => async () => answer(name)();
  return {
    currentLoad: later("currentLoad"),
    mem: later("mem"),
    fsSize: later("fsSize"),
    networkStats: later("networkStats"),
    time: answer("time"),
  } as SystemInformation;
}

function begin(system: () => SystemInformation | null) {
  const logger = new RecordingLogger();
  return { logger, collector: new OtherCollector(new RecordedMachine(), logger, async () => system()) };
}

test("a machine without /proc is measured by what the package finds", async () => {
  const { collector } = begin(() => figures());
  expect(await collector.collect(0)).toEqual({
    "agent.memory_bytes": 80_000_000,
    "cpu.percent": 12.35,
    "cpu.percent{state=user}": 10,
    "cpu.percent{state=system}": 2.35,
    "cpu.percent{state=idle}": 87.66,
    "load.1": 1.25,
    "memory.total_bytes": 1_000,
    "memory.used_bytes": 600,
    "swap.total_bytes": 100,
    "swap.used_bytes": 25,
    "mount.total_bytes{path=/}": 5_000,
    "mount.used_bytes{path=/}": 1_000,
    "uptime.seconds": 99,
  });
  expect(await collector.collect(10_000)).toMatchObject({
    "agent.cpu_percent": 0,
    "network.receive_bytes_per_second{interface=en0}": 0,
  });
});

/** What each answer of the package is measured as: of two looks, whose counters rise from one to the other. */
const measuredAs: [answer: keyof SystemInformation, field: string, names: readonly string[]][] = [
  ["currentLoad", "currentLoad", ["cpu.percent"]],
  ["currentLoad", "currentLoadUser", ["cpu.percent{state=user}"]],
  ["currentLoad", "currentLoadSystem", ["cpu.percent{state=system}"]],
  ["currentLoad", "currentLoadIdle", ["cpu.percent{state=idle}"]],
  ["currentLoad", "avgLoad", ["load.1"]],
  ["mem", "total", ["memory.total_bytes", "memory.used_bytes"]],
  ["mem", "available", ["memory.used_bytes"]],
  ["mem", "swaptotal", ["swap.total_bytes"]],
  ["mem", "swapused", ["swap.used_bytes"]],
  ["fsSize", "size", ["mount.total_bytes{path=/}"]],
  ["fsSize", "used", ["mount.used_bytes{path=/}"]],
  ["networkStats", "rx_bytes", ["network.receive_bytes_per_second{interface=en0}"]],
  ["networkStats", "tx_bytes", ["network.transmit_bytes_per_second{interface=en0}"]],
  ["networkStats", "rx_errors", ["network.receive_errors_per_second{interface=en0}"]],
  ["networkStats", "tx_errors", ["network.transmit_errors_per_second{interface=en0}"]],
  ["time", "uptime", ["uptime.seconds"]],
];

async function namesOf(system: () => SystemInformation | null): Promise<string[]> {
  const { collector } = begin(system);
  await collector.collect(0);
  return Object.keys(await collector.collect(1_000)).sort();
}

test.each(measuredAs.flatMap((row) => [null, -1, Number.NaN].map((value) => [...row, value] as const)))(
  "%s: where its %s can't be found out, %j alone are left out: %s",
  async (answer, field, names, value) => {
    const all = await namesOf(figures);
    const answered = (await figures()[answer]()) as object | object[];
    const change = Array.isArray(answered)
      ? answered.map((each: object) => ({ ...each, [field]: value }))
      : { ...answered, [field]: value };
    expect(all).toEqual(expect.arrayContaining([...names]));
    expect(await namesOf(() => figures({ [answer]: change }))).toEqual(
      all.filter((name) => !names.includes(name)),
    );
  },
);

test.each(["currentLoad", "mem", "fsSize", "networkStats", "time"] as const)(
  "where the package fails at %s, what rests on that alone is left out",
  async (answer) => {
    const gone = new Set(measuredAs.filter(([of]) => of === answer).flatMap(([, , names]) => names));
    expect(await namesOf(() => figures({ [answer]: new Error("no") }))).toEqual(
      (await namesOf(figures)).filter((name) => !gone.has(name)),
    );
  },
);

test("without the package the agent measures itself, and says so once", async () => {
  const { collector, logger } = begin(() => null);
  for (let look = 0; look < 3; look++)
    expect(
      Object.keys(await collector.collect(look * 1_000)).filter((name) => !name.startsWith("agent.")),
    ).toEqual([]);
  expect(logger.of("warn")).toEqual([expect.stringContaining("systeminformation")]);
});

test("the package that is installed has what is used of it", async () => {
  const system = await loadSystemInformation();
  const values = await new OtherCollector(
    new RecordedMachine(),
    new RecordingLogger(),
    async () => system,
  ).collect(0);
  expect(values["memory.total_bytes"]).toBeGreaterThan(1e6);
  expect(values["uptime.seconds"]).toBeGreaterThan(0);
});
