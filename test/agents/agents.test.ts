import { describe, expect, it, vi } from "vitest";
import { MemoryStorage, nodeCrypto, systemCaller } from "fleetwright";
import type { Storage } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { toHex } from "../../lib/crypto/encoding.ts";
import { settleAll } from "../support/deferred.ts";
import { eventOf, startAgent, startApprovedAgent } from "../support/fleet.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

describe("an agent that comes for the first time", () => {
  it("is pending, and its name, once approved, is its hostname made valid", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    await using agent = await startAgent(test);
    const { nodeId: node_id } = agent;
    expect(await agents.get(systemCaller, { node_id })).toMatchObject({
      status: "pending",
      connected: true,
      tags: {},
    });
    const approved = await agents.setStatus(systemCaller, { node_id, status: "approved" });
    expect(approved).toMatchObject({ status: "approved", approved_by: "system" });
    expect(approved.name).toMatch(/^[A-Za-z][A-Za-z0-9_-]*$/);
  });

  it("tells its attributes as soon as it is approved, without coming again", async () => {
    await using test = await createTestOrchestrator();
    await using agent = await startApprovedAgent(test);
    const { nodeId: node_id } = agent;
    await expect
      .poll(async () => (await test.orchestrator.agents.attributes(systemCaller, { node_id })).attributes)
      .toMatchObject({ "agent.version": expect.any(String), "os.kernel": expect.any(String) });
    const page = await test.orchestrator.agents.list(systemCaller, { selector: "attr.os.kernel" });
    expect(page.items.map((item) => item.node_id)).toEqual([node_id]);
  });

  it("gets a name of its own where the hostname is taken", async () => {
    await using test = await createTestOrchestrator();
    await using first = await startApprovedAgent(test);
    await using second = await startApprovedAgent(test);
    const { items } = await test.orchestrator.agents.list(systemCaller);
    const nameOf = (nodeId: string) => items.find((item) => item.node_id === nodeId)?.name;
    expect(nameOf(second.nodeId)).toBe(`${nameOf(first.nodeId)}-2`);
    const rename = { node_id: second.nodeId, status: "approved", name: "other" } as const;
    await expect(test.orchestrator.agents.setStatus(systemCaller, rename)).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
    });
  });
});

describe("an agent that leaves", () => {
  it("is seen to leave also while the orchestrator stops", async () => {
    const logger = new RecordingLogger();
    const storage = new SlowStorage();
    await using test = await createTestOrchestrator({ logger, storage });
    await using agent = await startApprovedAgent(test);
    storage.isSlow = true;
    await agent.agent.stop();
    await test.orchestrator.stop();
    expect(logger.of("warn")).toEqual([]);
    expect(test.events.at(-1)).toMatchObject({ event_type: "agent.disconnected" });
  });
});

/** Takes some turns for a commit. */
class SlowStorage extends MemoryStorage {
  isSlow = false;

  override async commit(...commit: Parameters<Storage["commit"]>): ReturnType<Storage["commit"]> {
    for (let turn = 0; this.isSlow && turn < 20; turn += 1) await new Promise(setImmediate);
    return super.commit(...commit);
  }
}

it("an agent that comes again as it was has nothing written, and what is new of it is", async () => {
  await using test = await createTestOrchestrator();
  const first = await connectScriptedAgent(test);
  const { nodeId: node_id, keys } = first;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await first.link.stop();
  const commit = vi.spyOn(test.storage, "commit");
  const comeAgain = async (box: typeof keys.box): Promise<unknown[]> => {
    await settleAll();
    commit.mockClear();
    await using _again = await connectScriptedAgent(test, { ...keys, box });
    const writes = commit.mock.calls.flatMap(([each]) => each);
    return writes.flatMap((write) =>
      write.kind === "put" && write.collection === "agents" ? [write.value] : [],
    );
  };
  expect(await comeAgain(keys.box)).toEqual([]);
  const box = nodeCrypto.createExchangeKeyPair();
  const box_public_key = toHex(box.publicKey);
  expect(await comeAgain(box)).toMatchObject([{ node_id, box_public_key, status: "approved" }]);
  commit.mockRestore();
});

describe("an agent that is rejected", () => {
  it("is sent away, can be approved again, and can be removed only while rejected", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    await using agent = await startApprovedAgent(test);
    const { nodeId: node_id } = agent;
    await expect(agents.remove(systemCaller, { node_id })).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
    });
    await agents.setStatus(systemCaller, { node_id, status: "rejected" });
    await eventOf(test, "agent.disconnected", node_id);
    expect(await agents.get(systemCaller, { node_id })).toMatchObject({
      status: "rejected",
      connected: false,
    });
    await agents.remove(systemCaller, { node_id });
    await expect(agents.get(systemCaller, { node_id })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("comes back as a stranger after its removal: pending, without tags or name", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const first = await startApprovedAgent(test);
    const { nodeId: node_id, root, stateDir } = first;
    await agents.tags.replace(systemCaller, { node_id, tags: { env: "prod" } });
    await first.agent.stop();
    await agents.setStatus(systemCaller, { node_id, status: "rejected" });
    await agents.remove(systemCaller, { node_id });
    await using again = await startAgent(test, { root, stateDir });
    expect(again.nodeId).toBe(node_id);
    const record = await agents.get(systemCaller, { node_id });
    expect(record).toMatchObject({ status: "pending", tags: {} });
    expect(record).not.toHaveProperty("name");
    const enrolments = await test.orchestrator.audit.list(systemCaller, { event_type: "agent.enrolled" });
    expect(enrolments.items.map((item) => item.metadata["removed_before"])).toEqual([true, false]);
  });
});

describe("tags", () => {
  it("are set, replaced and removed, and selectors see them at once", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    await using agent = await startApprovedAgent(test);
    const { nodeId: node_id } = agent;
    const matched = async (selector: string) => (await agents.list(systemCaller, { selector })).items.length;
    await agents.tags.set(systemCaller, { node_id, key: "env", value: "prod" });
    await agents.tags.set(systemCaller, { node_id, key: "role", value: "web" });
    expect(await matched("env=prod,role in (web,api)")).toBe(1);
    await agents.tags.remove(systemCaller, { node_id, key: "role" });
    expect(await matched("env=prod,!role")).toBe(1);
    await expect(agents.tags.remove(systemCaller, { node_id, key: "role" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    await agents.tags.replace(systemCaller, { node_id, tags: { a: "1" } });
    expect(await matched("env")).toBe(0);
    expect(await agents.tags.list(systemCaller)).toEqual({
      items: [{ key: "a", values: [{ value: "1", agents: 1 }] }],
    });
  });

  it("lose no change when many are set at the same time", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    await using agent = await startApprovedAgent(test);
    const { nodeId: node_id } = agent;
    const keys = ["a", "b", "c", "d"];
    await Promise.all(keys.map((key) => agents.tags.set(systemCaller, { node_id, key, value: key })));
    expect(Object.keys((await agents.get(systemCaller, { node_id })).tags).sort()).toEqual(keys);
  });

  it.each([
    ["a key that begins with a digit", { "1a": "x" }],
    ["a value with a line break", { a: "x\ny" }],
    ["a value of 256 characters", { a: "x".repeat(256) }],
    ["65 tags", Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, ""]))],
  ])("refuse %s", async (_, tags) => {
    await using test = await createTestOrchestrator();
    await using agent = await startApprovedAgent(test);
    const replace = test.orchestrator.agents.tags.replace(systemCaller, { node_id: agent.nodeId, tags });
    await expect(replace).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  });
});
