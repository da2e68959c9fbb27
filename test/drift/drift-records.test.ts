/** Which checks of an agent are kept, and which of them is told of as the newest. */
import { describe, expect, it } from "vitest";
import { systemCaller, type DriftRecord } from "fleetwright";
import type { ResourceResult } from "../../lib/state/result.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { motdDifference } from "../support/motd-difference.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult, type ScriptedAgent } from "../support/scripted-agent.ts";

const intervalMs = 3_600_000;

interface Checked extends Scene {
  node_id: string;
  apply(): Promise<void>;
  /** Begins a check as it is said to, and gives its id once its agent has been asked. */
  begin(trigger: DriftRecord["trigger"]): Promise<string>;
  end(drift_id: string, results?: ResourceResult[], status?: "failed"): Promise<void>;
}

/** One agent with a baseline. */
async function checked(): Promise<Checked> {
  const scene = await createScene(1);
  const { clock, test } = scene;
  const [member] = scene.agents as [Scene["agents"][0]];
  const { nodeId: node_id, agent } = member;
  const apply = async (): Promise<void> => {
    await test.orchestrator.operations.apply(systemCaller, { node_id, wait_seconds: 0 });
    await scene.finish(member);
  };
  const begin = async (trigger: DriftRecord["trigger"]): Promise<string> => {
    if (trigger === "manual") await test.orchestrator.drift.check(systemCaller, { node_id, wait_seconds: 0 });
    const asked = agent.next("check");
    let isAsked = false;
    void asked.then(() => (isAsked = true));
    await settleAll();
    // Where its moment is soon after the apply, the next one counts.
    for (let passedMs = 0; !isAsked && passedMs < 2 * intervalMs; passedMs += 5_000) {
      await clock.advance(5_000);
      await settleAll();
    }
    return (await asked).operation_id;
  };
  const end: Checked["end"] = async (drift_id, results, status) => {
    agent.link.send({ ...emptyResult(drift_id), ...(results && { results }), ...(status && { status }) });
    await agent.next("ack");
    await settle();
  };
  await apply();
  return Object.assign(scene, { node_id, apply, begin, end });
}

describe("of checks that found the same", () => {
  it.each<[DriftRecord["trigger"][], number[]]>([
    [
      ["manual", "manual"],
      [0, 1],
    ],
    [
      ["scheduled", "manual"],
      [0, 1],
    ],
    [
      ["manual", "scheduled"],
      [0, 1],
    ],
    [["scheduled", "scheduled"], [1]],
    [
      ["scheduled", "manual", "scheduled"],
      [1, 2],
    ],
  ])("made %j those at %j are kept: only a scheduled one takes the place of another", async (made, kept) => {
    await using scene = await checked();
    const ids: string[] = [];
    for (const trigger of made) {
      const id = await scene.begin(trigger);
      await scene.end(id);
      ids.push(id);
    }
    const { items } = await scene.test.orchestrator.drift.list(systemCaller, { node_id: scene.node_id });
    expect(items.map(({ drift_id }) => ids.indexOf(drift_id)).toReversed()).toEqual(kept);
    for (const { drift_id } of items)
      await expect(scene.test.orchestrator.drift.get(systemCaller, { drift_id })).resolves.toBeDefined();
  });
});

it("a check that could not tell neither brings a machine back nor counts as one that found the same", async () => {
  await using scene = await checked();
  const { node_id } = scene;
  const told = () =>
    scene.test.events.flatMap(({ event_type }) =>
      /^drift.(detected|resolved)$/.exec(event_type) ? [event_type] : [],
    );
  const kept = async () => {
    const { items } = await scene.test.orchestrator.drift.list(systemCaller, { node_id });
    return items.map(({ drift_id }) => drift_id).toReversed();
  };
  const drifted = await scene.begin("scheduled");
  await scene.end(drifted, [motdDifference]);
  await scene.end(await scene.begin("scheduled"), [], "failed");
  const failed = await scene.begin("scheduled");
  await scene.end(failed, [], "failed");
  expect(told()).toEqual(["drift.detected"]);
  expect(await kept()).toEqual([drifted, failed]);
  const asked = await scene.begin("manual");
  await scene.end(asked, [], "failed");
  expect(told()).toEqual(["drift.detected"]);
  const found = await scene.begin("scheduled");
  await scene.end(found, [motdDifference]);
  expect([told(), await kept()]).toEqual([["drift.detected"], [drifted, failed, asked, found]]);
  await scene.end(await scene.begin("scheduled"));
  expect(told()).toEqual(["drift.detected", "drift.resolved"]);
});

it("a check of which nothing was heard keeps its record when its agent says the same late", async () => {
  await using scene = await checked();
  const { drift } = scene.test.orchestrator;
  const [member] = scene.agents as [Scene["agents"][0]];
  const drift_id = await scene.begin("scheduled");
  await member.agent.link.stop();
  const read = () => drift.get(systemCaller, { drift_id });
  for (let turn = 0; turn < 100 && (await read()).status === "running"; turn += 1) {
    await scene.clock.advance(30_000);
    await settleAll();
  }
  const { status, error } = await read();
  expect(status).toBe("failed");
  const again: ScriptedAgent = await connectScriptedAgent(scene.test, member.keys, scene.clock);
  await using _again = again;
  again.link.send({
    ...emptyResult(drift_id),
    status: "failed",
    error: { code: error!.code, message: "It says so itself." },
  });
  await again.next("ack");
  await settleAll();
  expect(await read()).toMatchObject({ status: "failed", error: { message: "It says so itself." } });
});

it("the newest check of an agent is the newest that has ended, and none is told of before one has", async () => {
  await using scene = await checked();
  const { drift } = scene.test.orchestrator;
  const { node_id } = scene;
  const latest = () => drift.latest(systemCaller, { node_id });
  const never = { code: "NOT_FOUND", message: "This agent was never checked for drift." };
  await expect(latest()).rejects.toMatchObject(never);
  const first = await scene.begin("manual");
  await expect(latest()).rejects.toMatchObject(never);
  await scene.end(first);
  expect(await latest()).toMatchObject({ drift_id: first, status: "in_sync" });
  const second = await scene.begin("manual");
  expect(await latest()).toMatchObject({ drift_id: first, status: "in_sync" });
  const { items } = await drift.list(systemCaller, { node_id });
  expect(items.map(({ drift_id, status }) => [drift_id, status])).toEqual([
    [second, "running"],
    [first, "in_sync"],
  ]);
  await scene.end(second, [motdDifference]);
  expect(await latest()).toMatchObject({ drift_id: second, status: "drifted", resources: [motdDifference] });
});

it.each([1, 19, 20, 21, 45])(
  "the newest check that has ended is told of also while %i that were asked for after it have not",
  async (count) => {
    await using scene = await checked();
    const { drift } = scene.test.orchestrator;
    const { node_id } = scene;
    const ended = await scene.begin("manual");
    await scene.end(ended, [motdDifference]);
    for (let n = 0; n < count; n += 1) await drift.check(systemCaller, { node_id, wait_seconds: 0 });
    expect(await drift.latest(systemCaller, { node_id })).toMatchObject({
      drift_id: ended,
      status: "drifted",
    });
  },
);

it("an agent that was removed while it had drifted, and is taken in again, is told to have drifted anew", async () => {
  await using scene = await checked();
  const { agents } = scene.test.orchestrator;
  const { node_id } = scene;
  const detected = () => scene.test.events.filter(({ event_type }) => event_type === "drift.detected");
  await scene.end(await scene.begin("manual"), [motdDifference]);
  expect(detected()).toHaveLength(1);
  await scene.end(await scene.begin("manual"), [motdDifference]);
  expect(detected()).toHaveLength(1);
  const [member] = scene.agents as [Scene["agents"][0]];
  await member.agent.link.stop();
  await agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await agents.remove(systemCaller, { node_id });
  const again: ScriptedAgent = await connectScriptedAgent(scene.test, member.keys, scene.clock);
  await using _again = again;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  await scene.test.orchestrator.operations.apply(systemCaller, { node_id, wait_seconds: 0 });
  again.link.send(emptyResult((await again.next("apply")).operation_id));
  await again.next("ack");
  await settleAll();
  await scene.test.orchestrator.drift.check(systemCaller, { node_id, wait_seconds: 0 });
  const { operation_id } = await again.next("check");
  again.link.send({ ...emptyResult(operation_id), results: [motdDifference] });
  await again.next("ack");
  await settleAll();
  expect(detected()).toHaveLength(2);
});
