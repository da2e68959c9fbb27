import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SampleBacklog, type BacklogLimits, type Sample } from "../../../lib/agent/metrics/sample-backlog.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const all = { samples: 1_000_000, characters: Infinity };
const sample = (n: number): Sample => ({ at: n * 15_000, values: { "cpu.percent": n, "load.1": n / 2 } });

function open(folder = join(temporaryFolder(), "metrics"), limits?: BacklogLimits) {
  const logger = new RecordingLogger();
  return { folder, logger, backlog: new SampleBacklog(folder, logger, limits) };
}

function fill(backlog: SampleBacklog, from: number, to: number): void {
  for (let n = from; n <= to; n++) backlog.add(sample(n));
}

const numbers = (backlog: SampleBacklog, afterMs = -Infinity): number[] =>
  backlog.after(afterMs, all).map(({ at }) => at / 15_000);

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

test("samples are there after a kill, in order, the very numbers", () => {
  const { folder, backlog } = open();
  fill(backlog, 1, 300);
  backlog.add({ at: 301 * 15_000, values: { other: 0.1 + 0.2, "load.1": -0 } });
  const again = open(folder).backlog;
  expect(numbers(again)).toEqual(range(1, 301));
  expect(again.after(300 * 15_000, all)).toEqual([
    { at: 301 * 15_000, values: { other: 0.1 + 0.2, "load.1": 0 } },
  ]);
  expect(again.newestAt).toBe(301 * 15_000);
  expect(again.after(sample(99).at, { samples: 2, characters: Infinity })).toEqual([
    sample(100),
    sample(101),
  ]);
});

test("what is acknowledged is not kept, and what comes after it is", () => {
  const { folder, backlog } = open();
  fill(backlog, 1, 300);
  backlog.acknowledge(sample(250).at);
  // The segment of the 250th has others, which are told apart by their time.
  expect(numbers(backlog, sample(250).at)).toEqual(range(251, 300));
  expect(numbers(open(folder).backlog)[0]).toBe(241);
  backlog.acknowledge(sample(300).at);
  expect(numbers(backlog)).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  backlog.add(sample(301));
  expect(numbers(open(folder).backlog)).toEqual([301]);
});

test.each<[string, BacklogLimits]>([
  ["older than a day", { ageMs: 200 * 15_000 }],
  ["more bytes than are kept", { bytes: 5_000 }],
  ["more segments than are kept", { segments: 2 }],
])("%s: the oldest go first, and the gap is told once", (_what, limits) => {
  const { backlog } = open(undefined, limits);
  fill(backlog, 1, 100);
  expect(backlog.takeGap()).toBe(false);
  fill(backlog, 101, 1_000);
  const left = numbers(backlog);
  expect(left.at(-1)).toBe(1_000);
  expect(left.length).toBeGreaterThan(50);
  expect(left.length).toBeLessThan(500);
  expect(left).toEqual(range(left[0]!, 1_000));
  expect([backlog.takeGap(), backlog.takeGap()]).toEqual([true, false]);
});

test("past a bound no more goes than has to", () => {
  for (const limits of [{ bytes: 5_000 }, { segments: 2 }]) {
    const { backlog } = open(undefined, limits);
    fill(backlog, 1, 300);
    for (let n = 301; n <= 600; n += 10) {
      fill(backlog, n, n + 9);
      expect(numbers(backlog).length).toBeGreaterThan(50);
    }
  }
});

test("half a line, and lines of nonsense, cost what they hit", () => {
  const { folder, backlog } = open();
  fill(backlog, 1, 3);
  const [file = ""] = readdirSync(folder);
  appendFileSync(
    join(folder, file),
    '[60000,4,\n[75000]\n{"at":1}\nnull\n[]\n["x",1]\n[1e999,1,2]\n[90000,6,3',
  );
  writeFileSync(join(folder, "000000000000001.samples"), Buffer.from([0, 255, 10, 91, 93]));
  writeFileSync(join(folder, "notes.txt"), "mine");
  const again = open(folder).backlog;
  expect(numbers(again)).toEqual([1, 2, 3]);
  again.add(sample(4));
  expect(numbers(open(folder).backlog)).toEqual([1, 2, 3, 4]);
});

test("a write that failed in the middle costs no sample, neither that one nor what comes after it", () => {
  const { folder, backlog } = open();
  fill(backlog, 1, 3);
  const [name = ""] = readdirSync(folder);
  const path = join(folder, name);
  const written = readFileSync(path, "utf8");
  // A folder takes no line.
  rmSync(path);
  mkdirSync(path);
  backlog.add(sample(4));
  rmdirSync(path);
  writeFileSync(path, `${written}[60000,4,`);
  fill(backlog, 5, 7);
  expect(numbers(backlog)).toEqual(range(1, 7));
  expect(numbers(open(folder).backlog)).toEqual(range(1, 7));
});

test("where nothing can be written samples wait in memory, as many as go, and are written when it works again", () => {
  const parent = temporaryFolder();
  const folder = join(parent, "metrics");
  // A file in place of the folder: not even root writes into that.
  writeFileSync(folder, "");
  const { backlog, logger } = open(folder);
  fill(backlog, 1, 300);
  expect(numbers(backlog)).toEqual(range(61, 300));
  expect(backlog.takeGap()).toBe(true);
  expect(logger.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
});

test("what waited in memory is written as soon as that works, and each time that it does not is told of once", () => {
  const folder = join(temporaryFolder(), "metrics");
  const block = (): void => writeFileSync(folder, "");
  const warnings = (): number => logger.lines.filter(({ level }) => level === "warn").length;
  block();
  const { backlog, logger } = open(folder);
  fill(backlog, 1, 3);
  expect([warnings(), numbers(backlog)]).toEqual([1, [1, 2, 3]]);
  rmSync(folder);
  fill(backlog, 4, 4);
  expect([warnings(), numbers(open(folder).backlog)]).toEqual([1, [1, 2, 3, 4]]);
  backlog.acknowledge(sample(4).at);
  rmSync(folder, { recursive: true });
  block();
  fill(backlog, 5, 7);
  expect([warnings(), numbers(backlog)]).toEqual([2, [5, 6, 7]]);
  // What the orchestrator has need not be written any more.
  backlog.acknowledge(sample(6).at);
  rmSync(folder);
  fill(backlog, 8, 8);
  expect(numbers(open(folder).backlog)).toEqual([7, 8]);
});

test("what a write that failed left of a segment spoils none of what is written there next", () => {
  const { folder, backlog } = open();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${String(sample(1).at).padStart(15, "0")}.samples`), '["cpu.perc');
  fill(backlog, 1, 2);
  expect(numbers(open(folder).backlog)).toEqual([1, 2]);
});

test("samples of a time that has not come are dropped where they wait in memory, too", () => {
  const folder = join(temporaryFolder(), "metrics");
  const { backlog } = open(folder);
  fill(backlog, 1, 2);
  // What stands on the disk is older than what waits.
  const away = `${folder}-away`;
  renameSync(folder, away);
  writeFileSync(folder, "");
  for (const n of [3, 4, 900, 901]) backlog.add(sample(n));
  backlog.dropAfter(sample(100).at);
  expect([backlog.newestAt, backlog.takeGap()]).toEqual([sample(4).at, true]);
  expect(() => backlog.add(sample(4))).toThrow();
  rmSync(folder);
  renameSync(away, folder);
  backlog.add(sample(5));
  expect(numbers(backlog)).toEqual([1, 2, 3, 4, 5]);
  expect(numbers(open(folder).backlog)).toEqual([1, 2, 3, 4, 5]);
});

test("samples of a time that has not come are dropped, and those before them kept", () => {
  const { folder, backlog } = open();
  fill(backlog, 1, 300);
  backlog.dropAfter(sample(200).at + 1);
  expect(numbers(backlog)).toEqual(range(1, 200));
  expect(backlog.newestAt).toBe(sample(200).at);
  expect(backlog.takeGap()).toBe(true);
  fill(backlog, 201, 203);
  expect(numbers(open(folder).backlog)).toEqual(range(1, 203));
});

test("what comes after samples of a wrong clock has a segment and series of its own, whatever a process before it wrote", () => {
  const { folder, backlog } = open();
  fill(backlog, 1, 3);
  const later = open(folder).backlog;
  const measured = (n: number): Sample => ({ at: n * 15_000, values: { "disk.percent": n, "net.rx": n } });
  later.add(measured(900));
  later.dropAfter(sample(100).at);
  later.add(measured(4));
  later.add(measured(5));
  const expected = [sample(1), sample(2), sample(3), measured(4), measured(5)];
  expect(later.after(-Infinity, all)).toEqual(expected);
  expect(open(folder).backlog.after(-Infinity, all)).toEqual(expected);
});

test.each(["a", "ä", "語", "😀"])("names of %s count by the bytes that they take on the disk", (letter) => {
  const bytes = 20_000;
  const values = { [`custom.${letter.repeat(50)}`]: 1 };
  const { folder, backlog } = open(undefined, { bytes });
  const used = (): number =>
    readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  for (let at = 1; at <= 4_000; at += 1) backlog.add({ at, values });
  expect(used()).toBeLessThanOrEqual(bytes);
  expect(used()).toBeGreaterThan(bytes / 2);
  // What an earlier process has written counts for as much.
  const again = open(folder, { bytes }).backlog;
  for (let at = 4_001; at <= 4_200; at += 1) again.add({ at, values });
  expect(used()).toBeLessThanOrEqual(bytes);
});

test("a sample that is as old as may be is kept, and goes as soon as it is older", () => {
  const { backlog } = open(undefined, { ageMs: sample(150).at });
  // The first segment ends with the 120th.
  fill(backlog, 1, 270);
  expect([numbers(backlog)[0], backlog.takeGap()]).toEqual([1, false]);
  fill(backlog, 271, 271);
  expect([numbers(backlog)[0], backlog.takeGap()]).toEqual([121, true]);
});

test("what is dropped at once for want of room is a small part of what is kept, however large the samples are", () => {
  const values = Object.fromEntries(
    Array.from({ length: 200 }, (_, at) => [`custom.${String(at).padStart(4, "0")}${"x".repeat(180)}`, 0.1]),
  );
  const bytes = 2 * 1_024 * 1_024;
  const { folder, backlog } = open(undefined, { bytes });
  const used = (): number =>
    readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  for (let at = 1; at <= 300; at += 1) {
    // The names of series are written anew with each sample whose series are others.
    backlog.add({ at, values: { ...values, [`custom.${at % 2 === 0 ? "even" : "odd"}`]: at } });
    if (at >= 100) expect(used()).toBeGreaterThan(bytes / 2);
  }
  expect(used()).toBeLessThanOrEqual(bytes);
});
