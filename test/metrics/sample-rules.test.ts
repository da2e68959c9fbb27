/** The bad-input table of metrics: what an agent that was taken over may send, and what is kept of it. */
import { expect, test } from "vitest";
import { noSamples, takeSamples } from "../../lib/metrics/sample-rules.ts";

const now = Date.parse("2030-01-01T00:00:00.000Z");
const at = { nowMs: now, monotonicMs: 0, intervalMs: 15_000 };
const iso = (offsetMs: number): string => new Date(now + offsetMs).toISOString();
const good = { "cpu.percent": 5 };

type Values = Record<string, number>;

/** Values by name; `make` names each. */
const many = (count: number, make: (n: number) => string): Values =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [make(n), n]));

test.each<[what: string, offsetMs: number, isTaken: boolean]>([
  ["now", 0, true],
  ["five minutes ahead", 300_000, true],
  ["more than five minutes ahead", 300_001, false],
  ["of next year", 366 * 86_400_000, false],
  ["a day old", -86_400_000, true],
  ["older than a day", -86_400_001, false],
  ["of 1970", -now, false],
  ["of before 1970", -now - 1_000_000, false],
])("a sample %s", (_what, offsetMs, isTaken) => {
  const state = noSamples(-Infinity, 0);
  const { rows, leftOut } = takeSamples([{ at: iso(offsetMs), values: good }], state, at);
  expect(rows).toEqual(isTaken ? [{ at: now + offsetMs, values: good }] : []);
  expect(leftOut.samples).toBe(isTaken ? 0 : 1);
  expect(state.lastAt).toBe(isTaken ? now + offsetMs : -Infinity);
});

test.each<[what: string, values: Values, kept: number]>([
  ["nothing", {}, 0],
  ["10,000 series", many(10_000, (n) => `many.of_them_${n}`), 200],
  ["a name of 10 kB", { ...good, [`a${"b".repeat(10_000)}`]: 1 }, 1],
  ["a name of 201 characters", { ...good, [`a${"b".repeat(200)}`]: 1 }, 1],
  [
    "names that are none",
    { ...good, "": 1, "A.b": 2, "a..b": 3, "a b": 4, "1a": 5, ".a": 6, "a.": 7, constructor: 8 },
    2,
  ],
  ["the name of a prototype", JSON.parse('{"__proto__": 1, "cpu.percent": 2}') as Values, 1],
  [
    "a name that acts on a terminal",
    { "a.b{c=\u001b]52;c;aGk=\u0007}": 1, "a.b{c=\u202e}": 2, "a.b{c=\n}": 3, ...good },
    1,
  ],
  ["labels within labels", { "a{b={c=d}}": 1, "a{": 2, "a}": 3, "a{}": 4, "a{b=c}{d=e}": 5, ...good }, 1],
  ["labels of any language", { "mount.used_bytes{path=/srv/größe 2}": 1 }, 1],
])("%s", (_what, values, kept) => {
  const { rows, leftOut } = takeSamples([{ at: iso(0), values }], noSamples(-Infinity, 0), at);
  expect(Object.keys(rows[0]?.values ?? {})).toHaveLength(kept);
  expect(leftOut.values).toBe(Object.keys(values).length - kept);
  expect(Object.getPrototypeOf(rows[0]?.values)).toBe(Object.prototype);
});

test("a flood of samples is thinned to two an interval", () => {
  const samples = Array.from({ length: 1_000 }, (_, n) => ({ at: iso(n * 100 - 200_000), values: good }));
  const { rows, leftOut } = takeSamples(samples, noSamples(-Infinity, 0), at);
  expect(rows).toHaveLength(14);
  expect(leftOut.samples).toBe(986);
});

test("nothing is lost of an agent that was not told of a longer interval, and a flood is thinned then, too", () => {
  const intervalMs = 60_000;
  // As after a start of its own while nobody could be reached, and before the interval was raised.
  const samples = Array.from({ length: 100 }, (_, n) => ({ at: iso((n - 99) * 15_000), values: good }));
  const { rows, leftOut } = takeSamples(samples, noSamples(-Infinity, 0), { ...at, intervalMs });
  expect([rows.length, leftOut.samples]).toEqual([100, 0]);
  const flood = Array.from({ length: 1_000 }, (_, n) => ({ at: iso(n * 100 - 200_000), values: good }));
  expect(takeSamples(flood, noSamples(-Infinity, 0), { ...at, intervalMs }).rows).toHaveLength(14);
});

test("a time is taken once, whatever comes with it, and what is sent again is no fault", () => {
  const state = noSamples(-Infinity, 0);
  const samples = [-45_000, -30_000, -15_000].map((offset) => ({ at: iso(offset), values: good }));
  takeSamples(samples, state, at);
  const again = takeSamples([...samples, { at: iso(0), values: good }], state, at);
  expect(again.rows.map((row) => row.at)).toEqual([now]);
  expect(again).toMatchObject({ through: now, leftOut: { samples: 0, values: 0 } });
});

test("what is refused for good is acknowledged, but for a time that has not come", () => {
  const state = noSamples(-Infinity, 0);
  const old = takeSamples([{ at: iso(-90_000_000), values: good }], state, at);
  expect(old.through).toBe(now - 90_000_000);
  expect(takeSamples([{ at: iso(400_000), values: good }], state, at).through).toBe(null);
});

test("names that change all the time are counted: 1,000 new ones an hour", () => {
  const state = noSamples(-Infinity, 0);
  const taken: number[] = [];
  for (let turn = 0; turn < 10; turn++) {
    const values = many(200, (n) => `turn_${turn}.n_${n}`);
    const { rows } = takeSamples([{ at: iso(-300_000 + turn * 15_000), values }], state, at);
    taken.push(Object.keys(rows[0]?.values ?? {}).length);
  }
  expect(taken).toEqual([200, 200, 200, 200, 200, 0, 0, 0, 0, 0]);
  const later = takeSamples([{ at: iso(0), values: many(200, (n) => `later.n_${n}`) }], state, {
    ...at,
    monotonicMs: 3_600_000,
  });
  expect(Object.keys(later.rows[0]?.values ?? {})).toHaveLength(200);
});

test("names that come and go are no new ones: a disk that seldom answers costs no other series its place", () => {
  const state = noSamples(-Infinity, 0);
  const steady = many(100, (n) => `steady.n_${n}`);
  const disks = many(100, (n) => `disk.n_${n}`);
  const counts = Array.from({ length: 200 }, (_, turn) => {
    const nowMs = now + turn * 15_000;
    const values = turn % 2 === 0 ? { ...steady, ...disks } : steady;
    const given = { ...at, nowMs, monotonicMs: turn * 15_000 };
    const { rows } = takeSamples([{ at: iso(turn * 15_000), values }], state, given);
    return Object.keys(rows[0]?.values ?? {}).length;
  });
  expect(new Set(counts.filter((_, turn) => turn % 2 === 0))).toEqual(new Set([200]));
});

test("the same names as before cost no search: the values are those that came", () => {
  const state = noSamples(-Infinity, 0);
  takeSamples([{ at: iso(-15_000), values: good }], state, at);
  const values = { "cpu.percent": 7 };
  expect(takeSamples([{ at: iso(0), values }], state, at).rows[0]?.values).toBe(values);
});

test("names of an hour that is over are new ones again, however many came and went in it", () => {
  const state = noSamples(-Infinity, 0);
  let count = 0;
  const take = (monotonicMs: number, prefix: string): number => {
    count += 1;
    const values = many(200, (n) => `${prefix}.n_${n}`);
    const offset = -86_000_000 + count * 15_000;
    const { rows } = takeSamples([{ at: iso(offset), values }], state, { ...at, monotonicMs });
    return Object.keys(rows[0]?.values ?? {}).length;
  };
  const turns = ["a", "b", "c", "d", "e"];
  expect(turns.map((turn) => take(0, turn))).toEqual([200, 200, 200, 200, 200]);
  expect(take(3_599_999, "a")).toBe(200);
  expect(["f", "g", "h", "i", "j"].map((turn) => take(3_600_000, turn))).toEqual([200, 200, 200, 200, 200]);
  // Of the hour before: they would be new, and all that may be new were.
  expect(take(3_600_000, "b")).toBe(0);
  expect(take(3_600_000, "f")).toBe(200);
  expect(state.missing.size).toBeLessThanOrEqual(1_000);
});

test("bounds are as they are said: half an interval, 200 characters, 200 series", () => {
  const taken = (offsets: number[], intervalMs = 15_000): number => {
    const samples = offsets.map((offset) => ({ at: iso(offset), values: good }));
    return takeSamples(samples, noSamples(-Infinity, 0), { ...at, intervalMs }).rows.length;
  };
  expect(taken([-20_000, -12_500])).toBe(2);
  expect(taken([-20_000, -12_501])).toBe(1);
  expect(taken([-20_000, -15_000], 10_000)).toBe(2);
  expect(taken([-20_000, -15_001], 10_000)).toBe(1);
  const kept = (values: Values): number =>
    Object.keys(takeSamples([{ at: iso(0), values }], noSamples(-Infinity, 0), at).rows[0]?.values ?? {})
      .length;
  expect(kept({ [`a${"b".repeat(199)}`]: 1 })).toBe(1);
  expect(kept({ [`a{${"b".repeat(190)}}`]: 1, [`a{${"b".repeat(191)}}`]: 1 })).toBe(1);
  expect(kept(many(200, (n) => `a.n_${n}`))).toBe(200);
});
