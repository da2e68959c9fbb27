/** Figures of a machine of which something could not be read, was away, or did not answer at an earlier look. */
import { describe, expect, test } from "vitest";
import { ProcCollector } from "../../../lib/agent/metrics/proc-collector.ts";
import { labelledName, maxNameLength } from "../../../lib/agent/metrics/series-name.ts";
import { RecordedMachine } from "../../support/recorded-machine.ts";

const swapOf = (total: number, free: number): string => `SwapTotal:  ${total} kB\nSwapFree:  ${free} kB\n`;

describe("memory and swap are measured", () => {
  test.each<[what: string, total: number, free: number, used: number | undefined]>([
    ["where there is none", 0, 0, 0],
    ["where none of it is used", 2_000, 2_000, 0],
    ["where all of it is used", 2_000, 0, 2_000],
    ["not where more is free than there is", 2_000, 2_001, undefined],
  ])("%s", async (_what, total, free, used) => {
    const machine = new RecordedMachine();
    machine.texts.set(
      "/proc/meminfo",
      `MemTotal: ${total} kB\nMemAvailable: ${free} kB\n${swapOf(total, free)}`,
    );
    const values = await new ProcCollector(machine).collect(0);
    for (const family of ["memory", "swap"]) {
      expect(values[`${family}.used_bytes`]).toBe(used === undefined ? undefined : used * 1_024);
      expect(values[`${family}.total_bytes`]).toBe(used === undefined ? undefined : total * 1_024);
    }
  });
});

test("disks are measured again once the machine tells again what is mounted, which is what it was", async () => {
  const machine = new RecordedMachine();
  const collector = new ProcCollector(machine);
  const mounts = machine.texts.get("/proc/self/mountinfo")!;
  const used: (number | undefined)[] = [];
  for (const text of [mounts, null, mounts, mounts, null, null, mounts]) {
    if (text === null) machine.texts.delete("/proc/self/mountinfo");
    else machine.texts.set("/proc/self/mountinfo", text);
    used.push((await collector.collect(used.length * 15_000))["mount.used_bytes{path=/}"]);
  }
  expect(used).toEqual([400, undefined, 400, 400, undefined, undefined, 400]);
});

describe("what was away at a look has no rate at the next one, and one again after that", () => {
  test.each<[what: string, file: string, name: string, line: (count: number) => string]>([
    [
      "a network interface",
      "/proc/net/dev",
      "network.receive_bytes_per_second{interface=tun0}",
      (count) => `  tun0: ${count} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n`,
    ],
    [
      "a disk",
      "/proc/diskstats",
      "disk.read_bytes_per_second{device=sdb}",
      (count) => `   8  16 sdb 0 0 ${count / 512} 0 0 0 0 0 0 0 0\n`,
    ],
  ])("%s", async (_what, file, name, line) => {
    const machine = new RecordedMachine();
    const collector = new ProcCollector(machine);
    const rest = machine.texts.get(file)!.replace(/^.*sdb.*\n/m, "");
    const rates: (number | undefined)[] = [];
    for (const count of [512, 51_200, null, 512_000, 563_200]) {
      machine.texts.set(file, count === null ? rest : rest + line(count));
      rates.push((await collector.collect(rates.length * 1_000))[name]);
    }
    expect(rates).toEqual([undefined, 50_688, undefined, undefined, 51_200]);
  });
});

describe("the name of a series has no more characters than one may have", () => {
  test.each(["a", "ä", "語", "😀", "😀a", "a😀"])("with a path of many %s", (piece) => {
    for (const times of [1, 20, 85, 86, 100, 170, 171, 172, 173, 1_000]) {
      const path = `/${piece.repeat(times)}`;
      const name = labelledName("mount.total_bytes", "path", path);
      expect(name.length).toBeLessThanOrEqual(maxNameLength);
      expect(name).toMatch(/^mount\.total_bytes\{path=\/.+\}$/);
      expect(name).not.toMatch(/\p{Surrogate}/u);
      if (`mount.total_bytes{path=${path}}`.length <= maxNameLength) expect(name).toContain(path);
      else expect(name.length).toBeGreaterThan(maxNameLength / 2);
    }
  });
});
