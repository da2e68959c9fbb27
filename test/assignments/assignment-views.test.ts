/** What an assignment says of itself, and what is said of its modules. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";

const schedule = { cron: "0 * * * *", time_zone: "UTC" };
const strategy = { batch: 1, canary: 2 };
const selector = "env=none";

async function withModules(...names: string[]): Promise<TestOrchestrator> {
  const test = await createTestOrchestrator();
  for (const name of names)
    for (const content of ["1", "2"])
      await test.orchestrator.modules.upload(systemCaller, {
        content: `name: ${name}\nresources:\n  - { type: file, path: /etc/${name}, content: "${content}" }\n`,
      });
  return test;
}

describe("the revisions that an assignment brings", () => {
  const pinned = { name: "web", revision: 1, pinned: true };
  const newest = { name: "web", revision: 2, pinned: false };
  const base = { name: "base", revision: 2, pinned: false };

  it.each([
    ["none is pinned", ["web", "base"], [newest, base]],
    ["one is pinned to an earlier one", ["web@1", "base"], [pinned, base]],
    ["one is pinned to the newest", ["base", "web@2"], [base, { ...newest, pinned: true }]],
  ])("are told wherever it is told of, where %s", async (_, modules, revisions) => {
    await using test = await withModules("web", "base");
    const { assignments } = test.orchestrator;
    const name = "site";
    expect(await assignments.create(systemCaller, { name, selector, modules })).toMatchObject({ revisions });
    expect(await assignments.get(systemCaller, { name })).toMatchObject({ modules, revisions });
    expect((await assignments.list(systemCaller)).items).toMatchObject([{ name, revisions }]);
    const changed = await assignments.update(systemCaller, { name, description: "Site" });
    expect(changed).toMatchObject({ revisions });
  });
});

it("a module is told to be used by each assignment that has it, and is kept for all of them", async () => {
  await using test = await withModules("web", "base");
  const { assignments, modules } = test.orchestrator;
  const users = ["first", "second", "third"];
  for (const name of users) await assignments.create(systemCaller, { name, selector, modules: ["web"] });
  await assignments.create(systemCaller, { name: "other", selector, modules: ["base"] });
  for (let left = users; left.length > 0; left = left.slice(1)) {
    expect(await modules.get(systemCaller, { name: "web" })).toMatchObject({ used_by: left });
    await expect(modules.remove(systemCaller, { name: "web" })).rejects.toMatchObject({
      code: "IN_USE",
      details: { used_by: left },
    });
    await assignments.remove(systemCaller, { name: left[0]! });
  }
  await modules.remove(systemCaller, { name: "web" });
});

describe("what may be taken away from an assignment", () => {
  it("is gone after a change, and stays as it is with every other", async () => {
    await using test = await withModules("web");
    const { assignments } = test.orchestrator;
    const name = "site";
    await assignments.create(systemCaller, { name, selector, modules: ["web"], schedule, rollout: strategy });
    const read = () => assignments.get(systemCaller, { name });
    const full = { schedule, rollout: strategy, next_run_at: expect.any(String) as string };
    await assignments.update(systemCaller, { name, description: "Site" });
    expect(await read()).toMatchObject(full);
    await assignments.update(systemCaller, { name, rollout: null });
    const { rollout: _, ...scheduled } = full;
    const withoutStrategy = await read();
    expect(withoutStrategy).toMatchObject(scheduled);
    expect(withoutStrategy).not.toHaveProperty("rollout");
    await assignments.update(systemCaller, { name, schedule: null, rollout: strategy });
    const withoutSchedule = await read();
    expect(withoutSchedule).toMatchObject({ rollout: strategy });
    expect(withoutSchedule).not.toHaveProperty("schedule");
    expect(withoutSchedule).not.toHaveProperty("next_run_at");
  });

  it("is nothing that one of its name has that is made anew", async () => {
    await using test = await withModules("web");
    const { assignments } = test.orchestrator;
    const name = "site";
    const bare = { name, selector, modules: ["web"] };
    await assignments.create(systemCaller, { ...bare, schedule, rollout: strategy, description: "Site" });
    await assignments.remove(systemCaller, { name });
    const made = await assignments.create(systemCaller, bare);
    expect(made).not.toHaveProperty("next_run_at");
    expect(await assignments.get(systemCaller, { name })).toStrictEqual({ ...made, matched_agents: [] });
  });
});
