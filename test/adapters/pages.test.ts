/**
 * Every list of the router that comes in pages: of whatever size they are, put together they are the whole list, each item once, and by a filter
 * what the whole list has of it.
 */
import type { AnyProcedure } from "@trpc/server";
import { expect, test } from "vitest";
import { inputFields } from "../../adapters/rest/parameters.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
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

/** What is of one item alone, so that those which were added don't have it. */
const ofOne: Readonly<Record<string, string>> = { "agents.list": "name" };

interface Page {
  items?: unknown[];
  /** The items of a course of metrics. */
  series?: unknown[];
  next_cursor: string | null;
}

type Filter = Readonly<Record<string, string>>;

/** All pages of a size, one after the other. */
async function pagesOf(
  life: Life,
  moment: Moment,
  { limit, filter = {} }: { limit: number; filter?: Filter },
): Promise<unknown[][]> {
  const [path = ""] = moment.path.split("?");
  const parameters = new URLSearchParams({ ...filter, limit: String(limit) });
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
    const whole = (await pagesOf(life, moment, { limit: 100 })).flat();
    counts.set(procedure, whole.length);
    for (const limit of [
      1,
      2,
      3,
      Math.max(1, whole.length - 1),
      Math.max(1, whole.length),
      whole.length + 1,
    ]) {
      const together = (await pagesOf(life, moment, { limit })).flat();
      expect(together, `${procedure} in pages of ${limit}`).toEqual(whole);
    }
    if (!(procedure in alike))
      expect(new Set(whole.map((item) => JSON.stringify(item))).size, procedure).toBe(whole.length);
  });
  expect(lists.filter((name) => !counts.has(name))).toEqual([]);
  const few = [...counts].filter(([, count]) => count < 4);
  expect(few.map(([name]) => name).toSorted()).toEqual(Object.keys(elsewhere).toSorted());
});

test("a list by any of its filters, alone and by two, is what the whole list has of it, in pages of any size", async () => {
  const tried = new Map<string, Set<string>>();
  await playExampleCalls(undefined, undefined, async (moment) => {
    const { procedure } = moment;
    if (!lists.includes(procedure) || tried.has(procedure)) return;
    const names = new Set<string>();
    tried.set(procedure, names);
    const source = new MemoryStorage({ data: copyOf(moment.storage) });
    await source.open(storageSchema);
    await multiply(source, 6);
    await using life = await Life.start(moment, { data: copyOf(source), hasMachine: false });
    await source.close();
    const whole = (await pagesOf(life, moment, { limit: 100 })).flat() as Record<string, unknown>[];
    const fields = fieldsOf(procedure);
    for (const filter of filtersOf(fields, whole)) {
      for (const name of Object.keys(filter)) names.add(name);
      const wanted = whole.filter((item) =>
        Object.entries(filter).every(([name, value]) => has(item, name, value)),
      );
      for (const limit of [1, 2, Math.max(1, wanted.length), 100]) {
        const together = (await pagesOf(life, moment, { limit, filter })).flat();
        expect(together, `${procedure} ${JSON.stringify(filter)} in pages of ${limit}`).toEqual(wanted);
      }
    }
  });
  const byId = [...tried].flatMap(([procedure, names]) => (names.has("id_prefix") ? procedure : []));
  expect(byId.toSorted()).toEqual(["agents.list", "operations.list", "rollouts.list", "terminals.list"]);
});

/** What a list takes beside what its path says. */
function fieldsOf(procedure: string): ReadonlySet<string> {
  const [, taken] = restProcedures(appRouter).find(([name]) => name === procedure)!;
  const { path } = (taken._def.meta as ProcedureMeta).openapi!;
  return new Set(
    [...inputFields(taken).keys()].filter((name) => !path.includes(`{${name}}`) && name !== ofOne[procedure]),
  );
}

/** What the items can be chosen by, with the values of some of them: each by itself, and each two of one item. */
function filtersOf(fields: ReadonlySet<string>, items: readonly Record<string, unknown>[]): Filter[] {
  const filters = new Map<string, Filter>();
  for (const item of [items[0], items[items.length >> 1], items.at(-1)]) {
    if (item === undefined) continue;
    const own = Object.entries({ ...item, id_prefix: idOf(item)?.slice(0, 13) }).filter(
      ([name, value]) => fields.has(name) && ["string", "number", "boolean"].includes(typeof value),
    );
    for (const [one, value] of own)
      for (const [other, otherValue] of own) {
        const filter = { [one]: String(value), [other]: String(otherValue) };
        filters.set(JSON.stringify(filter), filter);
      }
  }
  return [...filters.values()];
}

function has(item: Record<string, unknown>, name: string, value: string): boolean {
  return name === "id_prefix" ? idOf(item)!.startsWith(value) : String(item[name]) === value;
}

/** The id of an item, which is its first. */
function idOf(item: Record<string, unknown>): string | undefined {
  const [, id] = Object.entries(item).find(([name]) => name === "id" || name.endsWith("_id")) ?? [];
  return typeof id === "string" ? id : undefined;
}
