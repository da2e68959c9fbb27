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

test("what the package can't find out is left out, and all else is there", async () => {
  const { collector } = begin(() =>
    figures({
      currentLoad: new Error("no"),
      mem: { total: 1_000, available: null, swaptotal: -1, swapused: Number.NaN },
      networkStats: [{ iface: "en0", rx_bytes: null, tx_bytes: 5, rx_errors: -1, tx_errors: 0 }],
    }),
  );
  await collector.collect(0);
  const names = Object.keys(await collector.collect(1_000));
  expect(names.filter((name) => /^(cpu|load|swap|network\.receive_bytes)/.test(name))).toEqual([]);
  expect(names).toContain("mount.used_bytes{path=/}");
});

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
