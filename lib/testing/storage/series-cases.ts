import assert from "node:assert/strict";
import type { SeriesStorage } from "../../storage/storage.ts";
import { assertRefused, beforeAndAfterRestart, type StorageCase, type StorageSubject } from "./subject.ts";

function seriesOf({ storage }: Pick<StorageSubject, "storage">): SeriesStorage {
  assert.ok(storage.series, "The storage keeps no series.");
  return storage.series;
}

const all = { from: 0, to: 1_000_000 };
const sample = (at: number, value: number): object => ({ at, mean: value, min: value, max: value });

/** Time series, for storages that keep them. */
export const seriesCases: StorageCase[] = [
  {
    name: "samples are read back by owner, series and time, also after a restart",
    promise: 12,
    needs: "series",
    async run(subject) {
      const series = seriesOf(subject);
      await series.append("a", [
        { at: 1_000, values: { cpu: 0.5, memory: 7 } },
        { at: 2_000, values: { cpu: 0.25 } },
      ]);
      await series.append("b", [{ at: 1_000, values: { cpu: 9 } }]);
      const cpu = [sample(1_000, 0.5), sample(2_000, 0.25)];
      for await (const storage of beforeAndAfterRestart(subject)) {
        const reader = seriesOf({ storage });
        assert.deepEqual(await reader.query("a", all), { cpu, memory: [sample(1_000, 7)] });
        assert.deepEqual(await reader.query("a", { from: 1_001, to: 2_001, series: ["cpu"] }), {
          cpu: cpu.slice(1),
        });
        assert.deepEqual(await reader.query("a", { from: 0, to: 1_000 }), {});
        assert.deepEqual(await reader.query("nobody", all), {});
      }
    },
  },
  {
    name: "a step gives the mean, least and greatest of its samples",
    promise: 12,
    needs: "series",
    async run(subject) {
      const series = seriesOf(subject);
      const rows = [1, 2, 6, 10, 20].map((value, index) => ({
        at: 100 + index * 10,
        values: { cpu: value },
      }));
      await series.append("a", rows);
      assert.deepEqual(await series.query("a", { from: 100, to: 200, stepMs: 30 }), {
        cpu: [
          { at: 100, mean: 3, min: 1, max: 6 },
          { at: 130, mean: 15, min: 10, max: 20 },
        ],
      });
    },
  },
  {
    name: "trim forgets what is before a time, or an owner whole",
    promise: 12,
    needs: "series",
    async run(subject) {
      const series = seriesOf(subject);
      const rows = [1, 2, 3].map((at) => ({ at, values: { cpu: at } }));
      await series.append("a", rows);
      await series.append("b", rows);
      await series.trim("a", 2);
      await series.trim("b");
      assert.deepEqual(await series.query("a", all), { cpu: [sample(2, 2), sample(3, 3)] });
      assert.deepEqual(await series.query("b", all), {});
    },
  },
  {
    name: "samples are the very numbers that were given, in the order of time, also after a restart",
    promise: 12,
    needs: "series",
    async run(subject) {
      const values = [0.1 + 0.2, -0, 5e-324, Number.MAX_VALUE, 2 ** 53 - 1, -1.5, 1e21];
      const rows = values.map((value, index) => ({
        at: 500 - index * 10,
        values: { [`s\n${index % 2}`]: value },
      }));
      await seriesOf(subject).append("a", [...rows, { at: 500, values: { "s\n0": 7 } }]);
      for await (const storage of beforeAndAfterRestart(subject)) {
        assert.deepEqual(await seriesOf({ storage }).query("a", all), {
          "s\n0": [
            sample(440, 1e21),
            sample(460, 2 ** 53 - 1),
            sample(480, 5e-324),
            sample(500, 0.1 + 0.2),
            sample(500, 7),
          ],
          "s\n1": [sample(450, -1.5), sample(470, Number.MAX_VALUE), sample(490, -0)],
        });
      }
    },
  },
  {
    name: "what was taken in before a sync is there after a restart",
    promise: 12,
    needs: "series",
    async run(subject) {
      const series = seriesOf(subject);
      await series.sync();
      for (let owner = 0; owner < 20; owner++)
        await series.append(`o${owner}`, [{ at: 1, values: { cpu: owner } }]);
      await Promise.all([series.sync(), series.sync()]);
      for await (const storage of beforeAndAfterRestart(subject)) {
        for (let owner = 0; owner < 20; owner++)
          assert.deepEqual(await seriesOf({ storage }).query(`o${owner}`, all), { cpu: [sample(1, owner)] });
      }
    },
  },
  {
    name: "a sample that is no finite number is refused, and the rows beside it",
    promise: 12,
    needs: "series",
    async run(subject) {
      const series = seriesOf(subject);
      const good = { at: 1, values: { cpu: 1 } };
      for (const value of [NaN, Infinity, -Infinity]) {
        await assertRefused(
          series.append("a", [good, { at: 2, values: { cpu: value } }]),
          "VALIDATION_FAILED",
        );
        await assertRefused(
          series.append("a", [good, { at: value, values: { cpu: 1 } }]),
          "VALIDATION_FAILED",
        );
      }
      await assertRefused(series.query("a", { ...all, stepMs: 0 }), "VALIDATION_FAILED");
      assert.deepEqual(await series.query("a", all), {});
    },
  },
  {
    name: "a query with a limit has the first series by name of those with a sample in its range, beyond a name if one is given",
    promise: 12,
    needs: "series",
    async run(subject) {
      const series = seriesOf(subject);
      const names = ["d", "b", "e", "a", "c"];
      for (const [index, name] of names.entries())
        await series.append("a", [{ at: 100 + index, values: { [name]: index, b: 10 + index } }]);
      const namesOf = async (query: object): Promise<string[]> =>
        Object.keys(await series.query("a", { ...all, ...query })).sort();
      assert.deepEqual(await namesOf({ limit: 2 }), ["a", "b"]);
      assert.deepEqual(await namesOf({ limit: 2, after: "b" }), ["c", "d"]);
      assert.deepEqual(await namesOf({ after: "c" }), ["d", "e"]);
      assert.deepEqual(await namesOf({ limit: 2, after: "e" }), []);
      assert.deepEqual(await namesOf({ limit: 2, to: 103 }), ["b", "d"]);
      assert.deepEqual(await namesOf({ limit: 1, series: ["e", "c"] }), ["c"]);
      const { b } = await series.query("a", { ...all, limit: 2 });
      assert.deepEqual(
        b,
        names.map((_, index) => sample(100 + index, 10 + index)),
      );
    },
  },
  {
    name: "the newest row of an owner is found, also after a restart and a trim",
    promise: 12,
    needs: "series",
    async run(subject) {
      await seriesOf(subject).append("a", [
        { at: 3_000, values: { cpu: 3, load: 1 } },
        { at: 1_000, values: { cpu: 1, gone: 1 } },
        { at: 4_000, values: {} },
      ]);
      await seriesOf(subject).append("b", [{ at: 1, values: { cpu: 1 } }]);
      await seriesOf(subject).trim("b");
      for await (const storage of beforeAndAfterRestart(subject)) {
        const series = seriesOf({ storage });
        assert.deepEqual(await series.newest("a"), { at: 3_000, values: { cpu: 3, load: 1 } });
        assert.equal((await series.newest("a", 3_000))?.at, 3_000);
        assert.equal(await series.newest("a", 3_001), null);
        assert.equal(await series.newest("b"), null);
        assert.equal(await series.newest("nobody"), null);
      }
    },
  },
];
