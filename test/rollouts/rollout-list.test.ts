/** Pages of rollouts under filters, over more of them than are read at once. */
import { expect, it } from "vitest";
import { MemoryStorage } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { listRollouts } from "../../lib/rollouts/rollout-list.ts";
import { pagesOf } from "../support/all-pages.ts";
import { OldOperations } from "../support/retention.ts";
import { turnsOf } from "../support/turns-of.ts";

type Query = Parameters<typeof listRollouts>[1];

const all = 450;

/** So many rollouts, oldest first: every hundredth is a plan, every third failed, every second is of another assignment. */
async function scene() {
  const clock = new FakeClock();
  const { context, storage } = await OldOperations.open(new MemoryStorage({ clock }), clock);
  const rollouts = Array.from({ length: all }, (_, n) => ({
    rollout_id: context.ids.next(),
    kind: n % 100 === 0 ? ("plan" as const) : ("apply" as const),
    status: n % 3 === 0 ? ("failed" as const) : ("succeeded" as const),
    assignment: n % 2 === 0 ? "all" : "other",
  }));
  await storage.commit(
    rollouts.map((value) => ({ kind: "put", collection: "rollouts", key: value.rollout_id, value })),
  );
  const listed = async (query: Query): Promise<string[][]> => {
    const pages = await pagesOf((page) => listRollouts(context, { ...query, ...page }));
    return pages.map((items) => items.map(({ rollout_id }) => rollout_id));
  };
  return { rollouts: rollouts.toReversed(), listed };
}

it("serves others while it looks at many that a filter does not pass", async () => {
  const { listed } = await scene();
  expect(await turnsOf(() => listed({ limit: 50, status: "cancelled", kind: "plan" }))).toBe(0);
  expect(await turnsOf(() => listed({ limit: 50, kind: "run" }))).toBeGreaterThanOrEqual(2);
});

it.each<[string, Omit<Query, "limit">]>([
  ["no filter", {}],
  ["a kind that few are of", { kind: "plan" }],
  ["a status", { status: "failed" }],
  ["an assignment", { assignment: "other" }],
  ["an assignment, a kind and a status", { assignment: "all", kind: "apply", status: "failed" }],
])("with %s the newest come first, each once, in pages of any size", async (_, filter) => {
  const { rollouts, listed } = await scene();
  const wanted = rollouts
    .filter((each) => Object.entries(filter).every(([key, value]) => each[key as "kind"] === value))
    .map(({ rollout_id }) => rollout_id);
  expect(wanted.length).toBeGreaterThan(4);
  for (const limit of [1, 5, 50, 200, 500]) {
    const pages = await listed({ ...filter, limit });
    expect(pages.flat()).toEqual(wanted);
    expect(pages.slice(0, -1).every(({ length }) => length === limit)).toBe(true);
  }
});

it("by the beginning of their ids, too, each comes once, in pages of any size", async () => {
  const { rollouts, listed } = await scene();
  const [newest, , , , , , , , , , eleventh] = rollouts;
  for (const length of [4, 8, 13, 23, 36])
    for (const { rollout_id } of [newest!, eleventh!, rollouts.at(-1)!]) {
      const id_prefix = rollout_id.slice(0, length);
      const wanted = rollouts.map((each) => each.rollout_id).filter((id) => id.startsWith(id_prefix));
      for (const limit of [1, 7, 200, 449, 450, 500]) {
        const pages = await listed({ id_prefix, limit });
        expect(pages.flat(), `${id_prefix} by ${limit}`).toEqual(wanted);
      }
      expect((await listed({ id_prefix, kind: "plan", limit: 2 })).flat()).toEqual(
        rollouts
          .filter(({ rollout_id: id, kind }) => id.startsWith(id_prefix) && kind === "plan")
          .map((each) => each.rollout_id),
      );
    }
});
