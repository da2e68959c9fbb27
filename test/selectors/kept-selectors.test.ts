/**
 * Selectors near their limits, as they are kept.
 *
 * Symptom: a server did not start any more, with SELECTOR_INVALID, and no call could remove the window, threshold or channel that it
 * was about. Cause: the canonical form was stored, which is longer and nested deeper than what was written, and was read with the limits
 * that apply to callers.
 */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { toCanonical } from "../../lib/fleet-folder/canonical.ts";
import { parseKeptSelector, parseSelector } from "../../lib/selectors/parse.ts";
import { printSelector, toKeptSelector } from "../../lib/selectors/print.ts";
import { SelectorCache } from "../../lib/selectors/selector-cache.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { newFolders, startApprovedAgent } from "../support/fleet.ts";

const groups = Array.from({ length: 200 }, (_, at) => `k${at},vvvvvvvvvvv`).join(" or ");
const asLongAsCanBe = `${groups} or x=${"y".repeat(4096 - groups.length - " or x=".length)}`;
const asDeepAsCanBe = `${"!".repeat(99)}(a,b or c)`;
const atTheLimits: [string, string][] = [
  ["as long as can be", asLongAsCanBe],
  ["as deep as can be", asDeepAsCanBe],
];

const start = (data: MemoryData): Promise<TestOrchestrator> =>
  createTestOrchestrator({ secretsKey: new Uint8Array(32).fill(1), storage: new MemoryStorage({ data }) });

/** Each thing that has a selector: how it is made, what is shown of it, and how it is removed. */
const things: [
  string,
  (test: TestOrchestrator, selector: string) => Promise<string>,
  (test: TestOrchestrator, id: string) => Promise<{ selector?: string | undefined }>,
  (test: TestOrchestrator, id: string) => Promise<unknown>,
][] = [
  [
    "an assignment",
    async ({ orchestrator: { modules, assignments } }, selector) => {
      await modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
      return (await assignments.create(systemCaller, { name: "web", modules: ["web"], selector })).name;
    },
    ({ orchestrator }, name) => orchestrator.assignments.get(systemCaller, { name }),
    ({ orchestrator }, name) => orchestrator.assignments.remove(systemCaller, { name }),
  ],
  [
    "a maintenance window",
    async ({ orchestrator, clock }, selector) => {
      const ends_at = new Date(clock.now() + 3_600_000).toISOString();
      const input = { reason: "A move", mode: "freeze" as const, ends_at, selector };
      return (await orchestrator.maintenanceWindows.create(systemCaller, input)).id;
    },
    ({ orchestrator }, id) => orchestrator.maintenanceWindows.get(systemCaller, { id }),
    ({ orchestrator }, id) => orchestrator.maintenanceWindows.remove(systemCaller, { id }),
  ],
  [
    "a threshold",
    async ({ orchestrator }, selector) => {
      const input = { name: "Load", metric: "load.1", condition: "above" as const, value: 1, selector };
      return (await orchestrator.thresholds.create(systemCaller, input)).id;
    },
    ({ orchestrator }, id) => orchestrator.thresholds.get(systemCaller, { id }),
    ({ orchestrator }, id) => orchestrator.thresholds.remove(systemCaller, { id }),
  ],
  [
    "a channel",
    async ({ orchestrator }, selector) => {
      const input = { name: "Ops", type: "webhook", config: { url: "https://ops.example/" }, selector };
      return (await orchestrator.channels.create(systemCaller, input)).id;
    },
    ({ orchestrator }, id) => orchestrator.channels.get(systemCaller, { id }),
    ({ orchestrator }, id) => orchestrator.channels.remove(systemCaller, { id }),
  ],
  [
    "the restriction of a secret",
    async ({ orchestrator }, selector) => {
      const input = { name: "db", value: "correct horse", restriction: { selector } };
      return (await orchestrator.secrets.create(systemCaller, input)).name;
    },
    async ({ orchestrator }, name) =>
      (await orchestrator.secrets.get(systemCaller, { name })).restriction ?? {},
    ({ orchestrator }, name) => orchestrator.secrets.remove(systemCaller, { name }),
  ],
];

it.each(atTheLimits)(
  "the selector of every kind of thing may be %s, also after a restart",
  async (_name, selector) => {
    const data = new MemoryData();
    const first = await start(data);
    const ids: string[] = [];
    for (const [, create] of things) ids.push(await create(first, selector));
    await first.orchestrator.stop();
    await using test = await start(data);
    for (const [at, [name, , get, remove]] of things.entries()) {
      const shown = (await get(test, ids[at]!)).selector!;
      // What is shown can be given again, and says the same.
      expect(parseSelector(shown), name).toEqual(parseSelector(selector));
      await remove(test, ids[at]!);
    }
  },
);

it.each(atTheLimits)("work goes on with a selector that is %s", async (_name, selector) => {
  await using test = await start(new MemoryData());
  const { modules, assignments, operations, secrets } = test.orchestrator;
  // One that matches an agent without tags.
  const matching = selector === asDeepAsCanBe ? selector : selector.replace("k0,vvvvvvvvvvv", "*");
  await secrets.create(systemCaller, {
    name: "db",
    value: "correct horse",
    restriction: { selector: matching },
  });
  for (const name of ["web", "also"]) {
    const fields = `type: file, path: /conf, when: "${matching}"`;
    const secret = `{ id: key, type: file, path: /key-of-${name}, content: "{{ secrets.db }}" }`;
    await modules.upload(systemCaller, {
      content: `name: ${name}\nresources:\n  - { id: conf, content: of ${name}, ${fields} }\n  - ${secret}\n`,
    });
  }
  await using agent = await startApprovedAgent(test, { ...newFolders(), clock: test.clock });
  await assignments.create(systemCaller, { name: "all", modules: ["web"], selector: matching });
  // The same file for the same agents: which those are, is read out of conditions, too.
  const other = assignments.create(systemCaller, { name: "more", modules: ["also"], selector: matching });
  await expect(other).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
  const done = await operations.apply(systemCaller, { node_id: agent.nodeId });
  expect(done.error?.code).not.toBe("SELECTOR_INVALID");
});

it.each(atTheLimits)(
  "a selector past its limits that an earlier version stored is read: %s",
  async (_name, selector) => {
    const stored = printSelector(parseSelector(selector));
    expect(() => parseSelector(stored)).toThrow();
    const data = new MemoryData();
    const first = await start(data);
    const ids: string[] = [];
    for (const [, create] of things) ids.push(await create(first, "role=web"));
    for (const collection of ["assignments", "maintenance_windows", "thresholds", "channels", "secrets"]) {
      for (const { key, value } of (await first.storage.list<Record<string, unknown>>(collection)).items) {
        const changed =
          collection === "secrets" ? { restriction: { selector: stored } } : { selector: stored };
        await first.storage.commit([
          { kind: "put", collection, key, value: { ...value, ...changed } as never },
        ]);
      }
    }
    await first.orchestrator.stop();
    await using test = await start(data);
    for (const [at, [name, , get, remove]] of things.entries()) {
      expect((await get(test, ids[at]!)).selector, name).toBe(stored);
      await remove(test, ids[at]!);
    }
  },
);

it("a selector is kept in its canonical form, or as it was written where that form is past the limits", () => {
  expect(toKeptSelector(" role == web and a ")).toBe("role=web,a");
  for (const [, selector] of atTheLimits) {
    expect(toKeptSelector(selector)).toBe(selector);
    expect(parseKeptSelector(printSelector(parseSelector(selector)))).toEqual(parseSelector(selector));
    expect(toCanonical({ selector })).toEqual({ values: { selector }, faults: [] });
  }
});

it("nobody is taken at a selector past the limits because it is kept somewhere", () => {
  const cache = new SelectorCache();
  const text = printSelector(parseSelector(asLongAsCanBe));
  expect(cache.kept(text)).toBe(cache.kept(text));
  expect(() => cache.parse(text)).toThrow("longer than 4096 characters");
  expect(() => cache.toKept("a=")).toThrow("column 3");
});
