/** What is applied in all, after an apply of some modules. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { Baselines } from "../../lib/operations/baselines.ts";
import type { Snapshots } from "../../lib/operations/snapshots.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resource } from "../support/agent-commands.ts";

let fleet: TestOrchestrator;
let snapshots: Snapshots;
let baselines: Baselines;
beforeEach(async () => {
  fleet = await createTestOrchestrator();
  snapshots = servicesOf(fleet.orchestrator).operations.parts.snapshots;
  baselines = new Baselines(snapshots);
});
afterEach(() => fleet[Symbol.asyncDispose]());

const of = (module: string, ...contents: string[]): ResolvedResource[] =>
  contents.map((content) => ({
    ...resource({ type: "file", id: content, path: `/${module}-${content}`, content }),
    module,
  }));
const save = (...parts: ResolvedResource[][]): Promise<string> => snapshots.save(parts.flat());
const contentOf = async (hash: string): Promise<string[]> =>
  (await snapshots.load(hash)).map(({ module, resource_id }) => `${module}/${resource_id}`);

test("an apply of everything is all there is", async () => {
  const snapshot = await save(of("a", "1"));
  expect(await baselines.after(await save(of("b", "1")), { snapshot })).toBe(snapshot);
});

test("a part takes the place of its modules, in their old places; what it takes away is gone, and what is new comes last", async () => {
  const before = await save(of("a", "1"), of("b", "1", "2"), of("c", "1"), of("d", "1"));
  const snapshot = await save(of("new", "1"), of("b", "3"), of("c", "1", "2"));
  const after = await baselines.after(before, { snapshot, scope: ["new", "b", "c", "d"] });
  expect(await contentOf(after)).toEqual(["a/1", "b/3", "c/1", "c/2", "new/1"]);
});

test("the same part put back makes the same whole, so that what counts by it goes on", async () => {
  const before = await save(of("a", "1"), of("b", "1"), of("c", "1"));
  expect(await baselines.after(before, { snapshot: await save(of("b", "1")), scope: ["b"] })).toBe(before);
});

test("a whole that was worked out before is there to be referred to again", async () => {
  const before = await save(of("a", "1"), of("b", "1"));
  const part = { snapshot: await save(of("b", "2")), scope: ["b"] };
  const after = await baselines.after(before, part);
  expect(await baselines.after(before, { ...part, scope: ["b"] })).toBe(after);
  expect(await contentOf(after)).toEqual(["a/1", "b/2"]);
});

test("a whole that was worked out before is on disk again where its content was removed since", async () => {
  const before = await save(of("a", "1"), of("b", "1"));
  const part = { snapshot: await save(of("b", "2")), scope: ["b"] };
  const after = await baselines.after(before, part);
  await fleet.clock.advance(3 * 3_600_000);
  expect(await fleet.storage.readBlob(`snapshot-${after}`)).toBeNull();
  expect(await baselines.after(before, part)).toBe(after);
  expect(await fleet.storage.readBlob(`snapshot-${after}`)).not.toBeNull();
});

test("where what was applied before is lost, what is applied now is all that is known", async () => {
  const { logger } = servicesOf(fleet.orchestrator).operations.parts.context;
  const warn = vi.spyOn(logger, "warn");
  const snapshot = await save(of("b", "2"));
  expect(await baselines.after("f".repeat(64), { snapshot, scope: ["b"] })).toBe(snapshot);
  const error = expect.objectContaining({ code: "STORAGE_CORRUPT" }) as Error;
  const said = "What was applied to a machine can't be read any more.";
  expect(warn.mock.calls).toEqual([[said, { error }]]);
});

test("modules come behind those that they require, also where each requires the other", async () => {
  const requiring = (module: string, ...requires_modules: string[]): ResolvedResource[] =>
    of(module, "1").map((each) => ({ ...each, requires_modules }));
  const before = await save(of("a", "1"), requiring("b", "c", "gone"), of("c", "1"));
  const snapshot = await save(requiring("c", "b"), requiring("d", "e"), of("e", "1"));
  const after = await baselines.after(before, { snapshot, scope: ["c", "d", "e"] });
  expect(await contentOf(after)).toEqual(["a/1", "c/1", "b/1", "e/1", "d/1"]);
});

describe("an apply repeats what is applied", () => {
  const whole = (): Promise<string> => save(of("a", "1"), of("b", "1", "2"));
  test.each<[string, boolean, ResolvedResource[], string[] | undefined]>([
    ["of everything, where it brings exactly that", true, [...of("a", "1"), ...of("b", "1", "2")], undefined],
    ["of everything, where it brings less", false, of("a", "1"), undefined],
    ["of a module, where it brings its part", true, of("a", "1"), ["a"]],
    ["of a module, where its part is another", false, of("a", "2"), ["a"]],
    ["of a module, where its part is less", false, of("b", "1"), ["b"]],
    ["of two modules, where one part is another", false, [...of("a", "1"), ...of("b", "1")], ["a", "b"]],
    ["of a module that it takes away", false, [], ["a"]],
    ["of a module that is new", false, of("c", "1"), ["c"]],
    ["of a module that it takes away, and that was not there", true, [], ["c"]],
  ])("%s: %s", async (_, isOne, resources, scope) => {
    const operation = { snapshot: await save(resources), ...(scope && { scope }) };
    expect(await baselines.isRepetition(await whole(), operation)).toBe(isOne);
  });

  test("by its word alone where it says what it repeats, and never where nothing or nobody knows what is applied", async () => {
    const before = await whole();
    const operation = { snapshot: await save(of("a", "1")), scope: ["a"] };
    expect(await baselines.isRepetition(before, { ...operation, repeats_snapshot: before })).toBe(true);
    expect(await baselines.isRepetition(before, { ...operation, repeats_snapshot: "other" })).toBe(false);
    expect(await baselines.isRepetition(undefined, operation)).toBe(false);
    expect(await baselines.isRepetition("f".repeat(64), operation)).toBe(false);
  });
});

test("a part of what is applied is what its modules brought, each time it is asked for", async () => {
  const whole = await save(of("a", "1"), of("b", "1"), of("c", "1"));
  const expected = { snapshot: await save(of("a", "1"), of("c", "1")), names: ["a/1", "c/1"] };
  for (const modules of [
    ["a", "c"],
    ["c", "a"],
    ["a", "c", "unknown"],
  ]) {
    const { snapshot, resources } = await baselines.part(whole, modules);
    expect(snapshot).toBe(expected.snapshot);
    expect(resources.map(({ module, resource_id }) => `${module}/${resource_id}`)).toEqual(expected.names);
  }
});
