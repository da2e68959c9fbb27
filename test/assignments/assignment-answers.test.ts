/** What the calls that make and change assignments answer, tell and refuse: each field by itself. */
import { describe, expect, it, onTestFinished } from "vitest";
import { systemCaller, type Assignment, type Orchestrator } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { itemsOf } from "../support/all-pages.ts";
import { startApprovedAgent } from "../support/fleet.ts";

const [hourly, daily] = [
  { cron: "0 * * * *", time_zone: "UTC" },
  { cron: "30 4 * * *", time_zone: "UTC" },
];
const name = "site";

async function withModules(...names: string[]): Promise<TestOrchestrator> {
  const test = await createTestOrchestrator();
  onTestFinished(() => test[Symbol.asyncDispose]());
  for (const module of names)
    for (const content of ["1", "2"])
      await test.orchestrator.modules.upload(systemCaller, {
        content: `name: ${module}\nparams: { n: { type: string, default: x } }\nresources:\n  - { type: file, path: /${module}, content: "${content}" }\n`,
      });
  return test;
}

type Given = Omit<Parameters<Orchestrator["assignments"]["create"]>[1], "name">;
type Change = Omit<Parameters<Orchestrator["assignments"]["update"]>[1], "name">;

/** One that has everything. */
const full = {
  description: "The site.",
  selector: "role=web",
  modules: ["web@1", "base"],
  params: { "web.n": "a" },
  rollout: { batch: 2 },
  schedule: hourly,
  enforce: true,
  unattended_removals: true,
  managed_by: { label: "shop", name: "one" },
} satisfies Given;

describe("a change of one field of an assignment", () => {
  const changes: [what: string, change: Change, expected: Partial<Assignment>][] = [
    ["description", { description: "Another." }, { description: "Another." }],
    ["description to nothing", { description: "" }, { description: "" }],
    ["selector", { selector: " role = db " }, { selector: "role=db" }],
    [
      "modules",
      { modules: ["web"] },
      { modules: ["web"], revisions: [{ name: "web", revision: 2, pinned: false }] },
    ],
    ["params", { params: { n: "b" } }, { params: { n: "b" } }],
    ["params to none", { params: {} }, { params: {} }],
    ["rollout", { rollout: { canary: 1 } }, { rollout: { canary: 1 } }],
    ["schedule", { schedule: daily }, { schedule: daily }],
    ["enforce", { enforce: false }, { enforce: false }],
    ["unattended_removals", { unattended_removals: false }, { unattended_removals: false }],
    [
      "managed_by",
      { managed_by: { label: "shop", name: "two" } },
      { managed_by: { label: "shop", name: "two" } },
    ],
  ];
  const takenAway: [what: "rollout" | "schedule" | "managed_by", also: string[]][] = [
    ["rollout", []],
    ["schedule", ["next_run_at"]],
    ["managed_by", []],
  ];

  it.each(changes)("%s: leaves every other as it is", async (_, change, expected) => {
    const { orchestrator, clock } = await withModules("web", "base");
    const { assignments } = orchestrator;
    const before = await assignments.create(systemCaller, { name, ...full });
    expect(before).toMatchObject({ ...full, version: 1, matches: 0 });
    await clock.advance(1_000);
    const { next_run_at, ...changed } = await assignments.update(systemCaller, { name, ...change });
    const { next_run_at: due, ...rest } = before;
    expect(changed).toStrictEqual({ ...rest, ...expected, version: 2 });
    if (change.schedule) expect(next_run_at).toMatch(/T04:30:00/);
    else expect(next_run_at).toBe(due);
    const read = await assignments.get(systemCaller, { name });
    expect(read).toStrictEqual({ ...changed, next_run_at, matched_agents: [] });
  });

  it.each(takenAway)("%s: null takes it away, and nothing else", async (what, also) => {
    const { assignments } = (await withModules("web", "base")).orchestrator;
    const before = await assignments.create(systemCaller, { name, ...full });
    const changed = await assignments.update(systemCaller, { name, [what]: null });
    const gone = new Set<string>([what, ...also, "version"]);
    const rest = Object.fromEntries(Object.entries(before).filter(([field]) => !gone.has(field)));
    expect(changed).toStrictEqual({ ...rest, version: 2 });
    expect(await assignments.get(systemCaller, { name })).toStrictEqual({ ...changed, matched_agents: [] });
  });

  it("is made where it begins to be due, and answered with when that is", async () => {
    const { assignments } = (await withModules("web")).orchestrator;
    const bare = await assignments.create(systemCaller, { name, selector: "*", modules: ["web"] });
    expect(bare).not.toHaveProperty("next_run_at");
    const due = await assignments.update(systemCaller, { name, schedule: daily });
    expect(due.next_run_at).toMatch(/T04:30:00/);
    const later = await assignments.update(systemCaller, { name, schedule: hourly });
    expect(later.next_run_at).toMatch(/:00:00/);
    expect(await assignments.update(systemCaller, { name, schedule: null })).not.toHaveProperty(
      "next_run_at",
    );
  });
});

describe("a call about an assignment that is refused says why, and changes nothing", () => {
  const given = { selector: "*", modules: ["web"] };
  const cases: Record<
    string,
    [call: (assignments: Orchestrator["assignments"]) => Promise<unknown>, object]
  > = {
    "one of a name that is taken": [
      (assignments) => assignments.create(systemCaller, { name, ...given }),
      { code: "ALREADY_EXISTS", message: "An assignment site exists." },
    ],
    "a read of what is not there": [
      (assignments) => assignments.get(systemCaller, { name: "sites" }),
      { code: "NOT_FOUND", message: "There is no assignment sites." },
    ],
    "a change of what is not there": [
      (assignments) => assignments.update(systemCaller, { name: "sites", enforce: true }),
      { code: "NOT_FOUND", message: "There is no assignment sites." },
    ],
    "a removal of what is not there": [
      (assignments) => assignments.remove(systemCaller, { name: "sites" }),
      { code: "NOT_FOUND", message: "There is no assignment sites." },
    ],
    "a removal of another version": [
      (assignments) => assignments.remove(systemCaller, { name }, { ifVersion: [2] }),
      { code: "PRECONDITION_FAILED", details: { version: 1 } },
    ],
    "another revision of a module on the same agents": [
      (assignments) =>
        assignments.create(systemCaller, { name: "two", selector: "*", modules: ["base", "web@1"] }),
      {
        code: "RESOURCE_CONFLICT",
        message: "Assignments two and site bring module web in different revisions: 1 and the newest.",
        details: { module: "web", assignments: ["two", "site"] },
        issues: [{ path: ["modules", 1] }],
      },
    ],
    "another value of a param on the same agents": [
      (assignments) => assignments.create(systemCaller, { name: "two", ...given, params: { "web.n": "b" } }),
      {
        code: "RESOURCE_CONFLICT",
        message: "Assignments two and site give param n of module web different values.",
        details: { module: "web", param: "n", assignments: ["two", "site"] },
        issues: [{ path: ["params", "n"] }],
      },
    ],
  };

  it.each(Object.entries(cases))("%s", async (_, [call, why]) => {
    const test = await withModules("web", "base");
    await using __ = await startApprovedAgent(test);
    const { assignments } = test.orchestrator;
    await assignments.create(systemCaller, { name, ...given, params: { n: "a" } });
    const everything = async () => [await assignments.list(systemCaller), test.events.length];
    const before = await everything();
    await expect(call(assignments)).rejects.toMatchObject(why);
    expect(await everything()).toEqual(before);
  });
});

it("what is told of an assignment names its modules as they were given, pinned or not", async () => {
  const { orchestrator, events } = await withModules("web", "base");
  const { assignments } = orchestrator;
  const told = events.length;
  const modules = ["web@1", "base"];
  await assignments.create(systemCaller, { name, selector: "role = web", modules });
  await assignments.update(systemCaller, { name, modules: ["web", "base@2"] });
  await assignments.remove(systemCaller, { name });
  const target = { type: "assignment", id: name, name };
  const metadata = { selector: "role=web", modules: ["web", "base@2"] };
  expect(events.slice(told)).toMatchObject([
    {
      event_type: "assignment.created",
      target,
      summary: "Assignment site was created",
      metadata: { ...metadata, modules },
    },
    { event_type: "assignment.updated", target, summary: "Assignment site was updated", metadata },
    { event_type: "assignment.removed", target, summary: "Assignment site was removed", metadata },
  ]);
});

it.each([1, 2, 3, 4])("pages of %i assignments, put together, are the whole list by name", async (limit) => {
  const { assignments } = (await withModules("web")).orchestrator;
  const names = ["a", "a-b", "b"];
  for (const each of names.toReversed())
    await assignments.create(systemCaller, { name: each, selector: "*", modules: ["web"] });
  const found = await itemsOf((page) => assignments.list(systemCaller, page), limit);
  expect(found.map(({ name }) => name)).toEqual(names);
});

it("an agent that an assignment matches is told with the revision that it has of each module, and with none that it has not", async () => {
  const test = await withModules("web", "base");
  await using first = await startApprovedAgent(test);
  await using second = await startApprovedAgent(test);
  const { assignments, operations } = test.orchestrator;
  await operations.apply(systemCaller, { node_id: first.nodeId, modules: ["base"], wait_seconds: 60 });
  await assignments.create(systemCaller, { name, selector: "*", modules: ["web@1", "base"] });
  const read = async () => {
    const { matched_agents, matches } = await assignments.get(systemCaller, { name });
    expect(matches).toBe(2);
    return Object.fromEntries(matched_agents.map((agent) => [agent.node_id, agent.revision_applied]));
  };
  expect(await read()).toEqual({ [first.nodeId]: { base: 2 }, [second.nodeId]: {} });
  await operations.apply(systemCaller, { node_id: second.nodeId, wait_seconds: 60 });
  expect(await read()).toEqual({ [first.nodeId]: { base: 2 }, [second.nodeId]: { base: 2, web: 1 } });
});
