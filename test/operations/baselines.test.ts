/** What is applied in all, after an apply of some modules. */
import { afterEach, beforeEach, expect, test } from "vitest";
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
  const snapshot = await save(of("b", "2"));
  expect(await baselines.after("f".repeat(64), { snapshot, scope: ["b"] })).toBe(snapshot);
});
