/** Every list of the router that comes in pages: of whatever size they are, put together they are the whole list, each item once. */
import type { AnyProcedure } from "@trpc/server";
import { expect, test } from "vitest";
import { inputFields } from "../../adapters/rest/parameters.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import { storageSchema } from "../../lib/storage-schema.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { playExampleCalls } from "../support/example-calls.ts";
import { copyOf, Life, type Moment } from "../support/interrupted-call.ts";
import { multiply } from "../support/multiplied.ts";

const lists = Object.entries(appRouter._def.procedures as object as Record<string, AnyProcedure>)
  .filter(([, { _def }]) => _def.type === "query" && _def.inputs.length > 0)
  .filter(([, procedure]) => inputFields(procedure).has("cursor"))
  .map(([name]) => name);

/** Lists of which the examples have too little, and the test that goes over their pages. */
const elsewhere: Readonly<Record<string, string>> = {
  "rollouts.agents": "test/rollouts/rollout-members.test.ts",
  "thresholds.alarms": "test/thresholds/alarms.test.ts",
};

/** Lists whose items are not told apart here, and why. */
const alike: Readonly<Record<string, string>> = {
  "rollouts.changes": "a group has no id",
  "drift.newest": "the newest record of each agent that was added is that of the first",
};

interface Page {
  items?: unknown[];
  /** The items of a course of metrics. */
  series?: unknown[];
  next_cursor: string | null;
}

/** All pages of a size, one after the other. */
async function pagesOf(life: Life, moment: Moment, limit: number): Promise<unknown[][]> {
  const [path = ""] = moment.path.split("?");
  const parameters = new URLSearchParams({ limit: String(limit) });
  const pages: unknown[][] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    if (cursor !== "") parameters.set("cursor", cursor);
    const { status, body } = await life.send({ ...moment, path: `${path}?${parameters}` });
    expect(status, JSON.stringify(body)).toBe(200);
    const { items, series, next_cursor } = body as Page;
    const page = items ?? series ?? [];
    expect(page.length).toBeLessThanOrEqual(limit);
    pages.push(page);
    cursor = next_cursor;
    if (pages.length > 200) throw new Error(`The pages of ${path} do not end.`);
  }
  return pages;
}

test("pages of any size put together are the whole list, each item once", async () => {
  const counts = new Map<string, number>();
  await playExampleCalls(undefined, undefined, async (moment) => {
    const { procedure } = moment;
    if (!lists.includes(procedure) || counts.has(procedure)) return;
    const source = new MemoryStorage({ data: copyOf(moment.storage) });
    await source.open(storageSchema);
    await multiply(source, 6);
    await using life = await Life.start(moment, { data: copyOf(source), hasMachine: false });
    await source.close();
    const whole = (await pagesOf(life, moment, 100)).flat();
    counts.set(procedure, whole.length);
    for (const limit of [
      1,
      2,
      3,
      Math.max(1, whole.length - 1),
      Math.max(1, whole.length),
      whole.length + 1,
    ]) {
      const together = (await pagesOf(life, moment, limit)).flat();
      expect(together, `${procedure} in pages of ${limit}`).toEqual(whole);
    }
    if (!(procedure in alike))
      expect(new Set(whole.map((item) => JSON.stringify(item))).size, procedure).toBe(whole.length);
  });
  expect(lists.filter((name) => !counts.has(name))).toEqual([]);
  const few = [...counts].filter(([, count]) => count < 4);
  expect(few.map(([name]) => name).toSorted()).toEqual(Object.keys(elsewhere).toSorted());
});
