/** Agents of a rollout with equal changes: told together, smallest group first. */
import { describe, expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import type { Page, ResourceResult, RolloutGroup } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle } from "../support/deferred.ts";
import { createScene, motd, type Scene, type SceneAgent } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";
import { twoProcesses } from "../support/two-processes.ts";

/** The result of a file that would be written. */
const planned = (content: string, more: Partial<ResourceResult> = {}): ResourceResult => ({
  resource_id: "motd",
  module: "motd",
  type: "file",
  identity: "/etc/motd",
  outcome: "would_change",
  action: "update",
  changes: [{ property: "content", before: "old", after: content }],
  caused_by: [],
  attempts: 0,
  duration_ms: 1,
  ...more,
});

const same = (more: Partial<ResourceResult> = {}): ResourceResult =>
  planned("", { resource_id: "same", outcome: "unchanged", action: "none", changes: [], ...more });

/** Begins a plan. */
async function plan({ test }: Pick<Scene, "test">): Promise<string> {
  const { rollout_id } = await test.orchestrator.rollouts.plan(systemCaller, {
    name: "all",
    wait_seconds: 0,
  });
  await settle();
  return rollout_id;
}

/** Answers the next plan of an agent. */
async function answer(
  { agent }: Pick<SceneAgent, "agent">,
  results: ResourceResult[],
  status: "succeeded" | "partial" | "failed" = "succeeded",
): Promise<void> {
  const { operation_id } = await agent.next("plan");
  agent.link.send({ ...emptyResult(operation_id), status, results });
  await agent.next("ack");
  await settle();
}

function changes(
  { test }: Pick<Scene, "test">,
  rollout_id: string,
  more: Omit<Parameters<typeof test.orchestrator.rollouts.changes>[1], "rollout_id"> = {},
): Promise<Page<RolloutGroup>> {
  return test.orchestrator.rollouts.changes(systemCaller, { rollout_id, ...more });
}

it("are read on a full disk, as they were written before", async () => {
  await using scene = await createScene(2);
  const rollout_id = await plan(scene);
  await answer(scene.agents[0]!, [planned("one")]);
  const before = await changes(scene, rollout_id);
  expect(before.items.map(({ count }) => count)).toEqual([1]);
  scene.data.freeBytes = 0;
  expect(await changes(scene, rollout_id)).toEqual(before);
  scene.data.freeBytes = Infinity;
  await answer(scene.agents[1]!, [planned("one")]);
  expect((await changes(scene, rollout_id)).items.map(({ count }) => count)).toEqual([2]);
});

it("are written with the next that is read where the disk was full at first", async () => {
  await using scene = await createScene(2);
  const rollout_id = await plan(scene);
  await answer(scene.agents[0]!, [planned("one")]);
  scene.data.freeBytes = 0;
  expect((await changes(scene, rollout_id)).items).toEqual([]);
  scene.data.freeBytes = Infinity;
  expect((await changes(scene, rollout_id)).items.map(({ count }) => count)).toEqual([1]);
});

const names = ({ agents }: RolloutGroup): string[] => agents.map(({ name }) => name);

describe("groups of a rollout", () => {
  it("stand together by what their plans say, smallest first, and the recap counts agents and resources", async () => {
    await using scene = await createScene(6);
    const [a1, a2, a3, a4, a5, a6] = scene.agents as [SceneAgent, ...SceneAgent[]] & SceneAgent[];
    const rollout_id = await plan(scene);
    // How long it took, how much is as it should be and in which order it was told make no difference.
    const slow = { duration_ms: 900, attempts: 2 };
    await answer(a1, [planned("new"), planned("x", { resource_id: "b", identity: "/b" }), same()]);
    await answer(a2!, [
      planned("x", { resource_id: "b", identity: "/b", ...slow }),
      planned("new", slow),
      same({ resource_id: "more", outcome: "skipped", skipped_because: "condition", message: "role=db" }),
    ]);
    await answer(a3!, [planned("new"), planned("x", { resource_id: "b", identity: "/b" })]);
    await answer(a4!, [same()]);
    await answer(a5!, [same(), same({ resource_id: "two" })]);
    await answer(
      a6!,
      [planned("", { outcome: "failed", changes: [], code: "EXEC_FAILED", message: "no" })],
      "failed",
    );

    const { items, next_cursor } = await changes(scene, rollout_id);
    expect(next_cursor).toBeNull();
    expect(items.map((group) => [group.count, group.outcome, names(group)])).toEqual([
      [1, "failed", ["a6"]],
      [2, "unchanged", ["a4", "a5"]],
      [3, "changed", ["a1", "a2", "a3"]],
    ]);
    const [failed, unchanged, changed] = items;
    expect(failed).toMatchObject({ resources: [{ outcome: "failed", message: "no" }], truncated: false });
    expect(unchanged?.resources).toEqual([]);
    expect(changed?.counts).toEqual({ changed: 0, would_change: 2, unknown: 0, removed: 0, failed: 0 });
    expect(changed?.resources.map(({ resource_id }) => resource_id)).toEqual(["motd", "b"]);
    const rollout = await scene.test.orchestrator.rollouts.get(systemCaller, { rollout_id, show_agents: 0 });
    expect(rollout).toMatchObject({
      status: "partial",
      operations: [],
      truncated: true,
      recap: {
        changed: 3,
        unchanged: 2,
        failed: 1,
        stale: 0,
        resources: { total: 12, would_change: 6, unchanged: 4, skipped: 1, failed: 1 },
      },
    });
    const page = await scene.test.orchestrator.rollouts.agents(systemCaller, {
      rollout_id,
      changes: changed!.changes,
      limit: 2,
    });
    expect(page.items.map(({ name, batch }) => [name, batch])).toEqual([
      ["a1", 1],
      ["a2", 1],
    ]);
    const rest = await scene.test.orchestrator.rollouts.agents(systemCaller, {
      rollout_id,
      changes: changed!.changes,
      limit: 2,
      cursor: page.next_cursor!,
    });
    expect(rest.items.map(({ name }) => name)).toEqual(["a3"]);
    expect(scene.test.loggedErrors).toEqual([]);
  });

  it("of hidden values are one, since a reader sees the same; of a value that is shown they are not", async () => {
    await using scene = await createScene(3);
    const [a1, a2, a3] = scene.agents;
    const rollout_id = await plan(scene);
    const hidden = { property: "content", before: "(sensitive)", after: "(sensitive)", sensitive: true };
    await answer(a1!, [planned("", { changes: [hidden] })]);
    await answer(a2!, [planned("", { changes: [hidden] })]);
    await answer(a3!, [planned("(sensitive)", {})]);
    expect((await changes(scene, rollout_id)).items.map(names)).toEqual([["a3"], ["a1", "a2"]]);
  });

  it("hold agents that got no operation, and those whose operation failed for the same reason", async () => {
    await using scene = await createScene(4);
    const { agents } = scene.test.orchestrator;
    for (const at of [0, 1]) await scene.agents[at]!.agent.link.stop();
    await settle();
    const rollout_id = await plan(scene);
    const rejected = scene.agents[2]!.nodeId;
    await answer(scene.agents[2]!, [same()]);
    await answer(scene.agents[3]!, [same()]);
    const { items } = await changes(scene, rollout_id);
    expect(items.map((group) => [group.count, group.outcome, group.error?.code])).toEqual(
      expect.arrayContaining([
        [2, "failed", "AGENT_OFFLINE"],
        [2, "unchanged", undefined],
      ]),
    );
    // An agent that is removed afterwards stays in its group.
    await agents.setStatus(systemCaller, { node_id: rejected, status: "rejected" });
    await agents.remove(systemCaller, { node_id: rejected });
    const after = (await changes(scene, rollout_id)).items.find(({ outcome }) => outcome === "unchanged");
    expect([after?.count, names(after!)]).toEqual([2, ["a3", "a4"]]);
  });

  it("of very many and very long changes are cut, and a page ends where it is long enough", async () => {
    await using scene = await createScene(12);
    const rollout_id = await plan(scene);
    const evil = "\u0000\u001b]0;x\u0007\u202e<script>".repeat(50);
    const huge = (at: number): ResourceResult[] =>
      Array.from({ length: 300 }, (_, n) =>
        planned("", {
          resource_id: `r${n}`,
          identity: `/etc/${n}`,
          changes: [{ property: "content", before: `${at} ${evil}`, after: "x", diff: "d".repeat(15_000) }],
        }),
      );
    for (const [at, agent] of scene.agents.entries()) await answer(agent, huge(at));
    const seen: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const page = await changes(scene, rollout_id, cursor === null ? {} : { cursor });
      expect(JSON.stringify(page).length).toBeLessThan(700_000);
      for (const group of page.items) {
        expect(group).toMatchObject({ count: 1, truncated: true });
        expect(JSON.stringify(group.resources).length).toBeLessThan(66_000);
      }
      seen.push(...page.items.flatMap(names));
      cursor = page.next_cursor;
      pages += 1;
    } while (cursor !== null);
    expect(seen.toSorted()).toEqual(scene.agents.map(({ name }) => name).toSorted());
    expect(pages).toBeGreaterThan(1);
    const bare = await changes(scene, rollout_id, { show_resources: 0 });
    expect(bare.items).toHaveLength(12);
    expect(bare.items.every(({ resources, truncated }) => resources.length === 0 && truncated)).toBe(true);
  }, 60_000);

  it("with nothing to change have nothing left out, and their agents can be listed by status", async () => {
    await using scene = await createScene(3);
    const [a1, a2, a3] = scene.agents as [SceneAgent, SceneAgent, SceneAgent];
    const rollout_id = await plan(scene);
    await answer(a1, [planned("new")]);
    await answer(a2, [planned("new")]);
    await answer(a3, [same()]);
    const { items } = await changes(scene, rollout_id, { show_resources: 0 });
    expect(items.map(({ outcome, truncated }) => [outcome, truncated]).toSorted()).toEqual([
      ["changed", true],
      ["unchanged", false],
    ]);
    const group = items.find(({ outcome }) => outcome === "changed")!;
    const listed = async (more: object): Promise<string[]> => {
      const query = { rollout_id, changes: group.changes, ...more };
      const page = await scene.test.orchestrator.rollouts.agents(systemCaller, query);
      return page.items.map(({ name }) => name);
    };
    expect(await listed({})).toEqual(["a1", "a2"]);
    expect(await listed({ status: "succeeded" })).toEqual(["a1", "a2"]);
    expect(await listed({ status: "waiting" })).toEqual([]);
  });

  it("whose first resource alone is too long show the first of its changes", async () => {
    await using scene = await createScene(1);
    const rollout_id = await plan(scene);
    const change = (property: string) => ({ property, before: "x", after: "y".repeat(15_000) });
    const changed = planned("", { changes: ["a", "b", "c", "d", "e"].map(change) });
    await answer(scene.agents[0]!, [changed, same()]);
    const { items } = await changes(scene, rollout_id);
    const [shown] = items[0]!.resources;
    expect(items[0]!.truncated).toBe(true);
    expect(shown!.changes.length).toBeGreaterThan(0);
    expect(shown!.changes.length).toBeLessThan(5);
    expect(shown!.changes).toEqual(changed.changes.slice(0, shown!.changes.length));
  });

  it.each([
    [32_768, false],
    [32_769, true],
  ])("whose changes have %i characters are cut: %s", async (characters, isCut) => {
    await using scene = await createScene(1);
    const rollout_id = await plan(scene);
    const one = { property: "content", before: "x", after: "" };
    const after = "y".repeat(characters - JSON.stringify(one).length);
    await answer(scene.agents[0]!, [planned("", { changes: [{ ...one, after }] })]);
    const { items } = await changes(scene, rollout_id);
    expect([items[0]!.truncated, items[0]!.resources[0]!.changes.length]).toEqual([isCut, isCut ? 0 : 1]);
  });

  it("are counted anew after the process was killed in the middle", async () => {
    const clock = new FakeClock();
    const data = new MemoryData();
    const storage = new MemoryStorage({ clock, data });
    const commit = storage.commit.bind(storage);
    let isKilled = false;
    storage.commit = (writes, options) =>
      isKilled
        ? Promise.reject(new OrchestratorError("STORAGE_FAILED", { message: "The process was killed." }))
        : commit(writes, options);
    await using scene = await createScene(3, () => ({}), { clock, storage });
    const rollout_id = await plan(scene);
    await answer(scene.agents[0]!, [planned("new")]);
    await clock.advance(1_500);
    isKilled = true;
    for (const { agent } of scene.agents) await agent.link.stop();
    await scene.test[Symbol.asyncDispose]();
    await using again = await createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    const others: ScriptedAgent[] = [];
    for (const { keys } of scene.agents.slice(1)) others.push(await connectScriptedAgent(again, keys, clock));
    for (const agent of others) await answer({ agent }, [planned("new")]);
    const { items } = await changes({ test: again }, rollout_id);
    expect(items.map(({ count, outcome }) => [count, outcome])).toEqual([[3, "changed"]]);
    for (const agent of others) await agent.link.stop();
  });

  it("follow an agent of which nothing was heard and that turns up after the end, as the counts do", async () => {
    await using scene = await createScene(2);
    const [a1, a2] = scene.agents;
    const rollout_id = await plan(scene);
    const { operation_id } = await a2!.agent.next("plan");
    await answer(a1!, [planned("new")]);
    await scene.clock.advance(3_600_000);
    await settle();
    const read = () => scene.test.orchestrator.rollouts.get(systemCaller, { rollout_id });
    expect(await read()).toMatchObject({ status: "partial", recap: { changed: 1, unknown: 1 } });
    expect((await changes(scene, rollout_id)).items.map(({ outcome }) => outcome).toSorted()).toEqual([
      "changed",
      "unknown",
    ]);
    await a2!.agent.link.stop();
    await using back = await connectScriptedAgent(scene.test, a2!.keys, scene.clock);
    back.link.send({ ...emptyResult(operation_id), results: [planned("new")] });
    await back.next("ack");
    await settle();
    expect(await read()).toMatchObject({
      counts: { succeeded: 2, unknown: 0 },
      recap: { changed: 2, unknown: 0, resources: { would_change: 2 } },
    });
    const { items } = await changes(scene, rollout_id);
    expect(items.map((group) => [group.count, names(group)])).toEqual([[2, ["a1", "a2"]]]);
  });

  it("keep the others of which nothing was heard, when one of them turns up after the end", async () => {
    await using scene = await createScene(3);
    const rollout_id = await plan(scene);
    const asked: string[] = [];
    for (const { agent } of scene.agents) asked.push((await agent.next("plan")).operation_id);
    await scene.clock.advance(3_600_000);
    await settle();
    const shown = async () =>
      (await changes(scene, rollout_id)).items.map(({ count, outcome }) => [count, outcome]);
    expect(await shown()).toEqual([[3, "unknown"]]);
    const [a1] = scene.agents;
    await a1!.agent.link.stop();
    await using back = await connectScriptedAgent(scene.test, a1!.keys, scene.clock);
    back.link.send({ ...emptyResult(asked[0]!), results: [planned("new")] });
    await back.next("ack");
    await settle();
    expect(await shown()).toEqual([
      [1, "changed"],
      [2, "unknown"],
    ]);
  });
});

it("an agent of which nothing was heard and that turns up before the end is in its own group alone", async () => {
  await using scene = await createScene(2);
  const [a1, a2] = scene.agents;
  const { rollout_id } = await scene.test.orchestrator.rollouts.apply(systemCaller, {
    name: "all",
    rollout: { batch: 1, max_failures: "100%" },
    wait_seconds: 0,
  });
  const result = (operation_id: string) => ({
    ...emptyResult(operation_id),
    results: [planned("new", { outcome: "changed" })],
  });
  const { operation_id } = await a1!.agent.next("apply");
  await a1!.agent.link.stop();
  const read = () => scene.test.orchestrator.rollouts.get(systemCaller, { rollout_id });
  const standing = async () => {
    await scene.clock.advance(1_500);
    const { items } = await changes(scene, rollout_id);
    return [(await read()).status, ...items.map(({ outcome, count }) => `${count} ${outcome}`)];
  };
  while ((await read()).batch === 1) await scene.clock.advance(30_000);
  expect(await standing()).toEqual(["running", "1 unknown"]);
  await using back = await connectScriptedAgent(scene.test, a1!.keys, scene.clock);
  back.link.send(result(operation_id));
  await back.next("ack");
  expect(await standing()).toEqual(["running", "1 changed"]);
  a2!.agent.link.send(result((await a2!.agent.next("apply")).operation_id));
  await a2!.agent.next("ack");
  expect(await standing()).toEqual(["succeeded", "2 changed"]);
  expect(await read()).toMatchObject({ recap: { changed: 2, unknown: 0 } });
});

it("groups, and the end, are known to the process that does not drive the rollout, too", async () => {
  await using two = await twoProcesses();
  const { first, second, clock } = two;
  const { modules, assignments } = first.orchestrator;
  await modules.upload(systemCaller, { content: motd });
  await assignments.create(systemCaller, { name: "all", selector: "*", modules: ["motd"] });
  const agents: ScriptedAgent[] = [];
  for (const name of ["a1", "a2", "a3"]) {
    const agent = await connectScriptedAgent(first, undefined, clock);
    const decision = { node_id: agent.nodeId, status: "approved", name } as const;
    await first.orchestrator.agents.setStatus(systemCaller, decision);
    agents.push(agent);
  }
  const rollout_id = await plan({ test: first });
  const waiting = second.orchestrator.rollouts.get(systemCaller, { rollout_id, wait_seconds: 300 });
  for (const [at, agent] of agents.entries()) {
    await answer({ agent }, [planned("new")]);
    await clock.advance(1_500);
    expect((await changes({ test: second }, rollout_id)).items.map(({ count }) => count)).toEqual([at + 1]);
  }
  expect(await waiting).toMatchObject({ status: "succeeded", recap: { changed: 3 } });
  expect((await changes({ test: second }, rollout_id)).items.map(names)).toEqual([["a1", "a2", "a3"]]);
  for (const agent of agents) await agent.link.stop();
});
