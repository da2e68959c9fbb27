import { afterEach, describe, expect, it, vi } from "vitest";
import { MemoryStorage, systemClock } from "fleetwright";
import type { MetricHistory } from "fleetwright";
import type { SampleRow } from "fleetwright/ports";
import { moment } from "../../../adapters/cli/options.ts";
import { describeMetrics, matches, sparkline, toAmount } from "../../../adapters/cli/show-metrics.ts";
import { startCommandLine, startSocketAgent } from "../../support/command-line.ts";

const begin = Date.parse("2030-01-01T00:00:00Z");

function historyOf(
  points: (number | null)[],
  unit: MetricHistory["series"][number]["unit"] = "count",
): MetricHistory {
  const series = [{ name: "load.1", unit, points: points.map((value, n) => [begin + n * 60_000, value]) }];
  const to = new Date(begin + points.length * 60_000).toISOString();
  return {
    node_id: "0".repeat(32),
    from: "2030-01-01T00:00:00.000Z",
    to,
    step_seconds: 60,
    series,
    next_cursor: null,
  };
}

const draw = (history: MetricHistory): string => sparkline(history.series[0]!, history);

afterEach(() => void vi.restoreAllMocks());

describe("fleetwright metrics", () => {
  it.each([-2, 2])(
    "counts back from now by the server's clock, whose caller is %s hours off",
    async (hours) => {
      const rightNow = Date.now.bind(Date);
      const storage = new MemoryStorage();
      const clock = { ...systemClock, now: rightNow };
      const line = await startCommandLine({ storage, clock });
      await line.print("login", "--key", line.key);
      const { agent } = await startSocketAgent(line);
      const node_id = agent.nodeId ?? "";
      await line.print("agents", "approve", node_id, "--name", "web-1");
      const values = (ago: number): SampleRow => ({
        at: rightNow() - ago * 60_000,
        values: { "load.1": ago },
      });
      await storage.series.append(node_id, [values(70), values(50), values(30), values(10)]);
      vi.spyOn(Date, "now").mockImplementation(() => rightNow() + hours * 3_600_000);
      const valuesOf = async (...args: string[]): Promise<unknown[]> => {
        const told = await line.print("metrics", "web-1", ...args, "--step", "60", "--json");
        const [series] = (JSON.parse(told) as MetricHistory).series;
        return series?.points.flatMap(([, value]) => value ?? []) ?? [];
      };
      expect(await valuesOf()).toEqual([50, 30, 10]);
      expect(await valuesOf("--from", "40m")).toEqual([30, 10]);
      expect(await valuesOf("--from", "80m", "--to", "20m")).toEqual([70, 50, 30]);
      expect(await valuesOf("--to", "20m")).toEqual([70, 50, 30]);
      const at = new Date(rightNow() - 2_400_000).toISOString();
      expect(await valuesOf("--from", at)).toEqual([30, 10]);
    },
  );

  it("shows what was measured, all of it or some, and as the API's JSON", async () => {
    const storage = new MemoryStorage();
    const line = await startCommandLine({ storage });
    await line.print("login", "--key", line.key);
    const { agent } = await startSocketAgent(line);
    const node_id = agent.nodeId ?? "";
    await line.print("agents", "approve", node_id, "--name", "web-1");
    expect(
      await line.run("metrics", "web-1", "--from", "2001-01-01T00:00:00Z", "--to", "2001-01-02T00:00:00Z"),
    ).toMatchObject({
      code: 0,
      stdout: "web-1: nothing was measured between 2001-01-01T00:00:00.000Z and 2001-01-02T00:00:00.000Z.\n",
    });
    const now = Date.now();
    const rows = [3, 2, 1].map((ago) => ({
      at: now - ago * 90_000,
      values: { "load.1": ago, "load.15": 1, "loads.of": 1, "memory.used_bytes": 1_610_612_736 },
    }));
    await storage.series.append(node_id, rows);
    const all = await line.print("metrics", "web-1");
    expect(all).toMatch(
      /^web-1: \S+ to \S+, a point each 90 s\nSERIES +NOW +LEAST +MOST +COURSE\nload\.1 +1 +1 +3 +█▅?▁/,
    );
    expect(all).toMatch(/\nmemory\.used_bytes +1\.5 GiB +1\.5 GiB +1\.5 GiB +▁▁▁/);
    expect((await line.print("metrics", "web-1", "load")).match(/^\w+\.\w+/gm)).toEqual([
      "load.1",
      "load.15",
    ]);
    const json = JSON.parse(
      await line.print("metrics", "web-1", "load.1", "--step", "5", "--json"),
    ) as MetricHistory;
    expect(json).toMatchObject({ node_id, step_seconds: 5, series: [{ name: "load.1", unit: "count" }] });
    // So long ago that a step which suits it is longer than any that may be asked for.
    expect(await line.run("metrics", "web-1", "--from", "1300d")).toMatchObject({ code: 0, stderr: "" });
    expect(await line.run("metrics", "web-1", "--from", "yesterday")).toMatchObject({ code: 2 });
  });

  it("shows the first 1,000 of many series and says that there are more; names find what is beyond them", async () => {
    const storage = new MemoryStorage();
    const line = await startCommandLine({ storage });
    await line.print("login", "--key", line.key);
    const { agent } = await startSocketAgent(line);
    const node_id = agent.nodeId ?? "";
    await line.print("agents", "approve", node_id, "--name", "web-1");
    const at = Date.now() - 60_000;
    const names = Array.from({ length: 1_203 }, (_, n) => `custom.n_${String(n).padStart(4, "0")}`);
    await storage.series.append(node_id, [
      { at, values: Object.fromEntries(names.map((name) => [name, 1])) },
    ]);
    const told = await line.print("metrics", "web-1");
    expect(told.match(/^custom\.n_\d+/gm)).toEqual(names.slice(0, 1_000));
    expect(told).toMatch(/\nThere are more\. Name a series, or the beginning of some, to see it\.\n$/);
    const found = await line.print("metrics", "web-1", "custom.n_1202");
    expect(found.match(/^custom\.n_\d+/gm)).toEqual(["custom.n_1202"]);
    expect(found).not.toContain("There are more");
    // What is not among the first may be among those that are not read.
    const some = await line.run("metrics", "web-1", "custom", "custom.n_1202");
    expect(some).toMatchObject({ code: 0, stderr: "" });
  });

  it("says which names no series has, with what may have been meant, and shows the others", async () => {
    const storage = new MemoryStorage();
    const line = await startCommandLine({ storage });
    await line.print("login", "--key", line.key);
    const { agent } = await startSocketAgent(line);
    const node_id = agent.nodeId ?? "";
    await line.print("agents", "approve", node_id, "--name", "web-1");
    // Nothing was measured yet: no name is wrong.
    expect(await line.run("metrics", "web-1", "lod.5")).toMatchObject({ code: 0, stderr: "" });
    const values = { "load.5": 1, "memory.used_bytes": 2, "mount.used_bytes{path=/}": 3 };
    await storage.series.append(node_id, [{ at: Date.now() - 60_000, values }]);
    for (const [typed, meant] of [
      ["lod.5", "load.5"],
      ["memry", "memory"],
      ["mount.used_byte", "mount.used_bytes"],
    ] as const)
      for (const flags of [[], ["--now"]]) {
        const { code, stdout, stderr } = await line.run("metrics", "web-1", typed, ...flags);
        expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
        expect(stderr).toContain(`No series "${typed}" was measured on web-1 `);
        expect(stderr).toMatch(new RegExp(` Did you mean "${meant}"\\?$`, "m"));
      }
    for (const [flags, when] of [
      [[], /between \S+ and \S+\.$/m],
      [["--now"], /at \S+\.$/m],
    ] as const) {
      const both = await line.run("metrics", "web-1", "load", "zebra", ...flags);
      expect(both).toMatchObject({ code: 1 });
      expect(both.stdout).toMatch(/^load\.5 /m);
      expect(both.stdout).not.toContain("memory");
      expect(both.stderr).toContain('No series "zebra" was measured on web-1 ');
      expect(both.stderr).toMatch(when);
    }
  });

  it("writes out what would act on the terminal", () => {
    const history = historyOf([1]);
    history.series[0]!.name = "custom.x{a=\u001b]52;c;aGk=\u0007}";
    const text = describeMetrics("web\u001b[2J", history);
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(text).toContain("custom.x{a=\\u{1b}]52;c;aGk=\\u{7}}");
  });
});

it.each<[string, (number | null)[], string]>([
  ["a rise", [0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"],
  ["a gap", [0, null, null, 7], "▁  █"],
  ["what stays the same", [5, 5, 5], "▁▁▁"],
  ["nothing", [null], " "],
])("draws %s", (_what, points, expected) => expect(draw(historyOf(points))).toBe(expected));

it("draws a share of something as one, and more points than a line has as their means", () => {
  expect(draw(historyOf([0, 50, 100], "percent"))).toBe("▁▅█");
  expect(draw(historyOf(Array.from({ length: 400 }, (_, n) => n)))).toMatch(
    /^▁{5}▂{5}▃{5}▄{5}▅{5}▆{5}▇{5}█{5}$/,
  );
});

it("draws fewer points where a line has less room, and never leaves out the newest", () => {
  const history = historyOf(Array.from({ length: 40 }, (_, n) => n));
  history.series[0]!.name = "network.receive_bytes_per_second{interface=eth0}";
  for (const width of [60, 80, 120]) {
    const [, heading = "", row = ""] = describeMetrics("web-1", history, {
      isWide: false,
      now: 0,
      width,
    }).split("\n");
    expect(Math.max(heading.length, row.length)).toBeLessThanOrEqual(width);
    expect(row).toMatch(/ {2}▁[▁-█]{10,}█$/);
  }
});

it("begins where anything was measured, and keeps the time since a machine fell silent", () => {
  const history = historyOf([...Array.from({ length: 37 }, () => null), 1, 2, null]);
  const [head, , row] = describeMetrics("web-1", history).split("\n");
  expect(head).toBe("web-1: 2030-01-01T00:37:00.000Z to 2030-01-01T00:40:00.000Z, a point each 60 s");
  expect(row).toMatch(/ {2}2 {2,}▁█ $/);
});

it.each<[string[], string, boolean]>([
  [[], "load.1", true],
  [["load"], "load.1", true],
  [["load.1"], "load.15", false],
  [["loa"], "load.1", false],
  [["cpu.percent"], "cpu.percent{state=user}", true],
  [["memory", "cpu.percent{state=user}"], "cpu.percent{state=user}", true],
])("%j asks for %s: %s", (wanted, name, expected) => expect(matches(name, wanted)).toBe(expected));

it.each<[number | undefined, MetricHistory["series"][number]["unit"], string | undefined]>([
  [undefined, "bytes", undefined],
  [0, "bytes", "0 B"],
  [1_536, "bytes", "1.5 KiB"],
  [8_192_000_000, "bytes", "7.63 GiB"],
  [10_240, "bytes_per_second", "10 KiB/s"],
  [12.345, "percent", "12.35 %"],
  [0.2, "per_second", "0.2/s"],
  [90, "seconds", "1.5 min"],
  [350_735, "seconds", "4.06 d"],
  [1e20, "count", "1.00e+20"],
])("%s %s is %s", (value, unit, expected) => expect(toAmount(value, unit)).toBe(expected));

it("reads times with their zone, and how long ago", () => {
  expect(moment("2026-01-31T12:00:00+02:00")).toEqual({ at: "2026-01-31T10:00:00.000Z" });
  expect(moment("2h")).toEqual({ secondsAgo: 7_200 });
  expect(moment("0s")).toEqual({ secondsAgo: 0 });
  expect(moment("36500d")).toEqual({ secondsAgo: 3_153_600_000 });
  for (const text of ["2026-01-31", "2026-01-31T12:00:00", "now", "5", "-1h", "1w", "36501d", "999999999d"])
    expect(() => moment(text)).toThrow();
});
