import { expect, test } from "vitest";
import { ProcCollector } from "../../../lib/agent/metrics/proc-collector.ts";
import { RecordedMachine } from "../../support/recorded-machine.ts";

async function begin() {
  const machine = new RecordedMachine();
  const collector = new ProcCollector(machine);
  const first = await collector.collect(0);
  return { machine, collector, first };
}

test("figures that need one look are there at once, and none that needs two", async () => {
  const { first } = await begin();
  expect(first).toEqual({
    "load.1": 0.52,
    "load.5": 0.58,
    "load.15": 0.59,
    "memory.used_bytes": 5_000_000 * 1_024,
    "memory.total_bytes": 8_000_000 * 1_024,
    "swap.used_bytes": 500_000 * 1_024,
    "swap.total_bytes": 2_000_000 * 1_024,
    "uptime.seconds": 350_735,
    "process.count": 3,
    "agent.memory_bytes": 80_000_000,
    "mount.total_bytes{path=/}": 1_000,
    "mount.used_bytes{path=/}": 400,
    "mount.total_bytes{path=/srv/my data}": 5_000,
    "mount.used_bytes{path=/srv/my data}": 50,
  });
});

test("shares of the processors and rates are those since the look before", async () => {
  const { machine, collector, first } = await begin();
  machine.change("/proc/stat", "cpu  1000 20 300 8000 100 0 30 50", "cpu  1100 20 350 8800 140 0 30 60");
  machine.change("/proc/net/dev", "eth0: 1000000 900 2", "eth0: 1150000 950 5");
  machine.change("/proc/net/dev", "500000 800 1", "530000 850 1");
  machine.change("/proc/diskstats", "sda 100 5 2000 30 200 6 4000", "sda 100 5 2150 30 200 6 4300");
  machine.cpuMicros = 30_000;
  const values = await collector.collect(15_000);
  const rates = Object.fromEntries(Object.entries(values).filter(([name]) => !(name in first)));
  expect(rates).toEqual({
    "cpu.percent": 16,
    "cpu.percent{state=user}": 10,
    "cpu.percent{state=nice}": 0,
    "cpu.percent{state=system}": 5,
    "cpu.percent{state=idle}": 80,
    "cpu.percent{state=iowait}": 4,
    "cpu.percent{state=irq}": 0,
    "cpu.percent{state=softirq}": 0,
    "cpu.percent{state=steal}": 1,
    "agent.cpu_percent": 0.2,
    "network.receive_bytes_per_second{interface=eth0}": 10_000,
    "network.transmit_bytes_per_second{interface=eth0}": 2_000,
    "network.receive_errors_per_second{interface=eth0}": 0.2,
    "network.transmit_errors_per_second{interface=eth0}": 0,
    "disk.read_bytes_per_second{device=sda}": 5_120,
    "disk.write_bytes_per_second{device=sda}": 10_240,
  });
});

test("a counter that went back has no rate, and the next has one again", async () => {
  const { machine, collector } = await begin();
  machine.change("/proc/net/dev", "eth0: 1000000 900 2", "eth0: 400 1 2");
  machine.change("/proc/stat", "8000 100", "8500 90");
  const wrapped = await collector.collect(10_000);
  expect(wrapped).not.toHaveProperty(["network.receive_bytes_per_second{interface=eth0}"]);
  expect(wrapped).toHaveProperty(["network.transmit_bytes_per_second{interface=eth0}"], 0);
  expect(Object.keys(wrapped).filter((name) => name.startsWith("cpu."))).toEqual([]);
  machine.change("/proc/net/dev", "eth0: 400 1 2", "eth0: 1400 1 2");
  machine.change("/proc/stat", "8500 90", "9000 90");
  const after = await collector.collect(20_000);
  expect(after["network.receive_bytes_per_second{interface=eth0}"]).toBe(100);
  expect(after["cpu.percent"]).toBe(0);
});

test("a look at the same time as the one before gives no rate", async () => {
  const { collector } = await begin();
  expect(await collector.collect(0)).not.toHaveProperty(["network.receive_bytes_per_second{interface=eth0}"]);
});

test.each<[what: string, path: string, text: string | null, missing: RegExp]>([
  ["no /proc/stat", "/proc/stat", null, /^cpu/],
  ["no line of all processors", "/proc/stat", "intr 1\n", /^cpu/],
  ["processors that count in words", "/proc/stat", "cpu  many ticks of work\n", /^cpu/],
  ["no /proc/loadavg", "/proc/loadavg", null, /^load/],
  ["half a line of load", "/proc/loadavg", "0.52 0.", /^load/],
  ["load that is no number", "/proc/loadavg", "NaN Infinity -1 1/1 1", /^load/],
  ["no /proc/meminfo", "/proc/meminfo", null, /^(memory|swap)/],
  [
    "a kernel that does not say what is available",
    "/proc/meminfo",
    "MemTotal: 5 kB\nMemFree: 1 kB\n",
    /^memory/,
  ],
  ["more available than there is", "/proc/meminfo", "MemTotal: 5 kB\nMemAvailable: 6 kB\n", /^memory/],
  ["no /proc/uptime", "/proc/uptime", null, /^uptime/],
  ["no /proc/net/dev", "/proc/net/dev", null, /^network/],
  ["half a line of an interface", "/proc/net/dev", "  eth0: 1 2 3 4 5 6 7 8 9\n", /^network/],
  ["a counter below zero", "/proc/net/dev", "  eth0: -5 2 3 4 5 6 7 8 9 1 1 1 1 1 1 1\n", /^network/],
  ["no /proc/diskstats", "/proc/diskstats", null, /^disk/],
  ["half a line of a disk", "/proc/diskstats", "8 0 sda 1 2 3\n", /^disk/],
  ["no mounts", "/proc/self/mountinfo", null, /^mount/],
  ["mounts of another form", "/proc/self/mountinfo", "what is this\n - \n", /^mount/],
])("%s leaves its values out, and all others in", async (_what, path, text, missing) => {
  const machine = new RecordedMachine();
  if (text === null) machine.texts.delete(path);
  else machine.texts.set(path, text);
  const collector = new ProcCollector(machine);
  await collector.collect(0);
  machine.texts.set("/proc/stat", (machine.texts.get("/proc/stat") ?? "").replace("8000", "9000"));
  const names = Object.keys(await collector.collect(1_000));
  expect(names.filter((name) => missing.test(name))).toEqual([]);
  const others = ["cpu", "load", "memory", "uptime", "network", "disk", "mount"].filter(
    (family) => !missing.test(family),
  );
  expect(others.filter((family) => !names.some((name) => name.startsWith(family)))).toEqual([]);
});

test("a file system that does not answer, or says nonsense, is left out", async () => {
  const machine = new RecordedMachine();
  machine.spaces.delete("/");
  machine.spaces.set("/srv/my data", { totalBytes: 0, usedBytes: -5 });
  const values = await new ProcCollector(machine).collect(0);
  expect(Object.keys(values).filter((name) => name.startsWith("mount"))).toEqual([]);
});

test("a thousand interfaces, disks and mounts leave room for all else, and their names are safe", async () => {
  const machine = new RecordedMachine();
  const many = Array.from({ length: 1_000 }, (_, index) => index);
  const interfaces = many.map((n) => `  e\u001b[2J${n}: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1`);
  machine.texts.set("/proc/net/dev", interfaces.join("\n"));
  const mounts = many.map((n) => `30 22 9:${n} / /m/{${n}}=,\\033${"x".repeat(300)} rw - ext4 /dev/x rw`);
  machine.texts.set("/proc/self/mountinfo", mounts.join("\n"));
  machine.space = async () => ({ totalBytes: 2, usedBytes: 1 });
  const collector = new ProcCollector(machine);
  await collector.collect(0);
  machine.change("/proc/stat", "8000", "9000");
  const names = Object.keys(await collector.collect(1_000));
  expect(names.length).toBeLessThanOrEqual(160);
  expect(names).toContain("cpu.percent");
  expect(names.filter((name) => name.length > 200 || /\p{Cc}|\{.*[{}].*\}/u.test(name))).toEqual([]);
});

test("of many interfaces the first 16 are told, of which none is the machine's end of a container", async () => {
  const { machine, collector } = await begin();
  const line = (name: string, bytes: number): string =>
    `  ${name}: ${bytes} 900 2 0 0 0 0 0 500000 800 1 0 0 0 0 0\n`;
  const containers = Array.from({ length: 40 }, (_, n) => line(`veth${n}`, 1)).join("");
  const others = (bytes: number): string =>
    Array.from({ length: 20 }, (_, n) => line(`eno${n}`, bytes)).join("");
  machine.change(
    "/proc/net/dev",
    "  eth0: 1000000 900 2 0 0 0 0 0 500000 800 1 0 0 0 0 0\n",
    containers + others(1_000),
  );
  await collector.collect(10_000);
  machine.change("/proc/net/dev", others(1_000), others(21_000));
  const received = Object.entries(await collector.collect(20_000)).filter(([name]) =>
    name.startsWith("network.receive_bytes"),
  );
  expect(received).toEqual(
    Array.from({ length: 16 }, (_, n) => [`network.receive_bytes_per_second{interface=eno${n}}`, 2_000]),
  );
});

test("of many disks the first 16 are told that are whole, no loop, and were used", async () => {
  const { machine, collector } = await begin();
  const names = (head: string): string[] => Array.from({ length: 20 }, (_, n) => `${head}${n}`);
  const line = (name: string, sectors: number): string =>
    `   8 0 ${name} 100 5 ${sectors} 30 200 6 ${sectors} 40 0 50 70\n`;
  const unlike = [...names("loop"), ...names("nvme0n1p")].map((name) => line(name, 50)).join("");
  const unused = names("fresh")
    .map((name) => line(name, 0))
    .join("");
  const used = (sectors: number): string =>
    names("nvme")
      .map((name) => line(name, sectors))
      .join("");
  machine.list = (path) => (path === "/sys/block" ? ["loop", "fresh", "nvme"].flatMap(names) : null);
  machine.texts.set("/proc/diskstats", unlike + unused + used(10));
  await collector.collect(10_000);
  machine.change("/proc/diskstats", used(10), used(210));
  const read = Object.entries(await collector.collect(20_000)).filter(([name]) =>
    name.startsWith("disk.read"),
  );
  expect(read).toEqual(
    names("nvme")
      .slice(0, 16)
      .map((name) => [`disk.read_bytes_per_second{device=${name}}`, 10_240]),
  );
});
