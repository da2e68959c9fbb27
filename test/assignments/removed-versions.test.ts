/** Versions of assignments that come and go: none that is made under any name has a version that one of its name had before. */
import { expect, test } from "vitest";
import { systemCaller, type Orchestrator } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";

type Assignments = Orchestrator["assignments"];

/** Makes one, changes it so many times, and removes it; the last version that it had. */
async function comeAndGo(assignments: Assignments, name: string, changes = 0): Promise<number> {
  let { version } = await assignments.create(systemCaller, { name, selector: "*", modules: ["web"] });
  for (let change = 0; change < changes; change += 1)
    ({ version } = await assignments.update(systemCaller, { name, selector: `role=r${change}` }));
  await assignments.remove(systemCaller, { name });
  return version;
}

async function begin() {
  const fleet = await createTestOrchestrator();
  const { modules, assignments } = fleet.orchestrator;
  await modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
  const create = async (name: string): Promise<number> =>
    (await assignments.create(systemCaller, { name, selector: "*", modules: ["web"] })).version;
  return { fleet, assignments, create };
}

test("a name goes on counting where it left off, however often it was removed, and others begin with 1", async () => {
  const { fleet, assignments, create } = await begin();
  await using _ = fleet;
  expect(await comeAndGo(assignments, "web", 4)).toBe(5);
  expect(await comeAndGo(assignments, "web", 1)).toBe(7);
  expect(await create("other")).toBe(1);
  expect(await create("web")).toBe(8);
  const changed = await assignments.update(systemCaller, { name: "web", selector: "role=db" });
  expect(changed.version).toBe(9);
  await assignments.remove(systemCaller, { name: "web" }, { ifVersion: [9] });
  expect(await create("web")).toBe(10);
});

test("a hundred names are remembered by themselves; those before are by the greatest of their versions", async () => {
  const { fleet, assignments, create } = await begin();
  await using _ = fleet;
  await assignments.create(systemCaller, { name: "standing", selector: "*", modules: ["web"] });
  expect(await comeAndGo(assignments, "first", 6)).toBe(7);
  await comeAndGo(assignments, "second", 1);
  for (let each = 0; each < 98; each += 1) await comeAndGo(assignments, `n${each}`);
  // Each of a hundred has its own, and nothing is known of any other.
  expect(await create("unheard-of")).toBe(1);
  await comeAndGo(assignments, "last", 2);
  // Another pushes the first out, whose versions are then those that anybody may have had.
  expect(await create("first")).toBe(8);
  expect(await create("never-there")).toBe(8);
  expect(await create("second")).toBe(3);
  expect(await create("last")).toBe(4);
  await comeAndGo(assignments, "n-more");
  expect(await create("second-of-its-kind")).toBe(8);
  // What stood all the while counts on as it did, whoever went meanwhile.
  const { version } = await assignments.update(systemCaller, { name: "standing", selector: "role=db" });
  expect(version).toBe(2);
});
