/** Many agents are approved, rejected, tagged and named in one call: each by itself, and each is told of. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { AgentOutcomes } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { approved, connect } from "../support/leaving-agents.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const countEvents = (test: TestOrchestrator, type: string): number =>
  test.events.filter(({ event_type }) => event_type === type).length;

/** Does something before a commit that writes an agent. */
class HookedStorage extends MemoryStorage {
  hook: ((nodeId: string) => Promise<unknown>) | null = null;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const put = writes.find((write) => write.kind === "put" && write.collection === "agents");
    if (put && "key" in put) await this.hook?.(put.key);
    return super.commit(writes, options);
  }
}

describe("decisions about many agents", () => {
  it("are made about each by itself: a gone one fails, one decided about is left out, and each change is one event", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const [first, second] = [await connect(test, 1), await connect(test, 2)];
    const known = await approved(test, 3);
    const gone = "0".repeat(32);
    const answer = await agents.setStatuses(systemCaller, {
      status: "approved",
      node_ids: [first.nodeId, gone, known.nodeId, second.nodeId, first.nodeId],
    });
    expect(answer).toMatchObject({ changed: 2, unchanged: 0, left_out: 1, failed: 1, next_cursor: null });
    expect(answer.items).toEqual([
      { node_id: first.nodeId, name: "machine-1", status: "approved", outcome: "changed" },
      {
        node_id: gone,
        outcome: "failed",
        error: { code: "NOT_FOUND", message: expect.any(String) as string },
      },
      expect.objectContaining({ node_id: known.nodeId, outcome: "left_out", status: "approved" }),
      expect.objectContaining({ node_id: second.nodeId, outcome: "changed" }),
    ]);
    expect(countEvents(test, "agent.approved")).toBe(3);
  });

  it("leave out whom somebody else decides about between the look and the step", async () => {
    const storage = new HookedStorage();
    await using test = await createTestOrchestrator({ storage });
    const { agents } = test.orchestrator;
    const nodes = [await connect(test, 1), await connect(test, 2), await connect(test, 3)];
    const [raced] = nodes as [(typeof nodes)[0]];
    storage.hook = async (nodeId) => {
      if (nodeId !== raced.nodeId) return;
      storage.hook = null;
      await agents.setStatus(systemCaller, { node_id: nodeId, status: "rejected" });
    };
    const answer = await agents.setStatuses(systemCaller, { status: "approved", selector: "*" });
    expect(answer).toMatchObject({ changed: 2, left_out: 1, failed: 0 });
    expect(await agents.get(systemCaller, { node_id: raced.nodeId })).toMatchObject({ status: "rejected" });
  });

  it.each(["expected", "chosen by a selector"])(
    "leave out whom somebody removes between the look and the step, %s",
    async (how) => {
      const storage = new HookedStorage();
      await using test = await createTestOrchestrator({ storage });
      const { agents } = test.orchestrator;
      const [gone, stays] = [await connect(test, 1), await connect(test, 2)];
      storage.hook = async (node_id) => {
        if (node_id !== gone.nodeId) return;
        storage.hook = null;
        await agents.setStatus(systemCaller, { node_id, status: "rejected" });
        await agents.remove(systemCaller, { node_id });
      };
      const which =
        how === "expected"
          ? { node_ids: [gone.nodeId, stays.nodeId], expected_status: "pending" as const }
          : { selector: "*" };
      const answer = await agents.setStatuses(systemCaller, { status: "approved", ...which });
      expect(answer).toMatchObject({ changed: 1, left_out: 1, failed: 0 });
    },
  );

  it("go on where the storage refuses one of them", async () => {
    const storage = new HookedStorage();
    await using test = await createTestOrchestrator({ storage });
    const { agents } = test.orchestrator;
    const nodes = [await connect(test, 1), await connect(test, 2), await connect(test, 3)];
    const broken = nodes[1]!.nodeId;
    storage.hook = (nodeId) =>
      nodeId === broken ? Promise.reject(new Error("the disk says no")) : Promise.resolve();
    const node_ids = nodes.map(({ nodeId }) => nodeId);
    const answer = await agents.setStatuses(systemCaller, { status: "approved", node_ids });
    storage.hook = null;
    expect(answer).toMatchObject({ changed: 2, failed: 1 });
    expect(answer.items[1]).toMatchObject({ node_id: broken, error: { code: "INTERNAL" } });
    // Nothing of what the storage said goes out.
    expect(JSON.stringify(answer)).not.toContain("disk");
  });

  it("by a selector approve who waits, reject who is not rejected, and say where it matches none", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const waiting = await connect(test, 1);
    const inside = await approved(test, 2);
    const out = await connect(test, 3);
    await agents.setStatus(systemCaller, { node_id: out.nodeId, status: "rejected" });
    for (const { nodeId: node_id } of [waiting, inside, out])
      await agents.tags.set(systemCaller, { node_id, key: "role", value: "web" });
    const selector = "role=web";
    const approval = await agents.setStatuses(systemCaller, { status: "approved", selector });
    expect(approval.items).toMatchObject([{ node_id: waiting.nodeId, outcome: "changed" }]);
    // The second time nobody waits.
    const again = agents.setStatuses(systemCaller, { status: "approved", selector });
    await expect(again).rejects.toMatchObject({ code: "NO_MATCH" });
    const rejection = await agents.setStatuses(systemCaller, { status: "rejected", selector });
    expect(rejection.items.map(({ node_id }) => node_id)).toEqual([waiting.nodeId, inside.nodeId].toSorted());
    expect(rejection.changed).toBe(2);
  });

  it.each([
    [{ status: "approved", selector: "" }, "SELECTOR_INVALID"],
    [{ status: "approved", selector: " " }, "SELECTOR_INVALID"],
    [{ status: "approved", selector: "role=(" }, "SELECTOR_INVALID"],
    [{ status: "approved", selector: "role=none" }, "NO_MATCH"],
    [{ status: "approved" }, "VALIDATION_FAILED"],
    [{ status: "approved", node_ids: [] }, "VALIDATION_FAILED"],
    [{ status: "approved", node_ids: ["0".repeat(32)], selector: "*" }, "VALIDATION_FAILED"],
    [{ status: "approved", selector: "*", cursor: "x" }, "CURSOR_INVALID"],
    [{ status: "approved", node_ids: ["0".repeat(32)], cursor: "x" }, "VALIDATION_FAILED"],
    [{ status: "pending", selector: "*" }, "VALIDATION_FAILED"],
  ])("are refused as a whole where they name nobody rightly: %j", async (input, code) => {
    await using test = await createTestOrchestrator();
    const { nodeId: node_id } = await connect(test, 1);
    const { agents } = test.orchestrator;
    await expect(agents.setStatuses(systemCaller, input as never)).rejects.toMatchObject({ code });
    expect(await agents.get(systemCaller, { node_id })).toMatchObject({ status: "pending" });
  });
});

/** Can't read agents any more as soon as one of them was written. */
class UnreadableStorage extends MemoryStorage {
  fails = false;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const done = await super.commit(writes, options);
    this.fails ||= writes.some((write) => write.kind === "put" && write.collection === "agents");
    return done;
  }

  override async getMany<T>(collection: string, keys: readonly string[]) {
    if (this.fails && collection === "agents") throw new Error("The disk is odd.");
    return super.getMany<T>(collection, keys);
  }
}

describe("agents that can't be read after they were changed", () => {
  type Change = (orchestrator: TestOrchestrator["orchestrator"], node_id: string) => Promise<AgentOutcomes>;
  it.each<[string, Change]>([
    [
      "rejected",
      ({ agents }, id) => agents.setStatuses(systemCaller, { status: "rejected", node_ids: [id] }),
    ],
    [
      "tagged",
      ({ agents }, id) => agents.tags.change(systemCaller, { node_ids: [id], set: { role: "web" } }),
    ],
    [
      "named one by one",
      ({ agents }, node_id) => agents.setNames(systemCaller, { names: [{ node_id, name: "web-1" }] }),
    ],
  ])("are told of as %s all the same, without their names", async (_, change) => {
    const [storage, logger] = [new UnreadableStorage(), new RecordingLogger()];
    await using test = await createTestOrchestrator({ storage, logger });
    const { nodeId: node_id } = await approved(test, 1);
    storage.fails = false;
    const answer = await change(test.orchestrator, node_id);
    expect(answer).toEqual({
      items: [{ node_id, outcome: "changed" }],
      changed: 1,
      unchanged: 0,
      left_out: 0,
      failed: 0,
      next_cursor: null,
    });
    expect(logger.lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    storage.fails = false;
  });
});

it("agents that can't be read before they are renamed after what they tell are told of one by one", async () => {
  const [storage, logger] = [new UnreadableStorage(), new RecordingLogger()];
  await using test = await createTestOrchestrator({ storage, logger });
  const { nodeId: node_id } = await approved(test, 1);
  await test.orchestrator.agents.rename(systemCaller, { node_id, name: "another" });
  storage.fails = true;
  const answer = await test.orchestrator.agents.setNames(systemCaller, {
    node_ids: [node_id],
    from: "hostname",
  });
  storage.fails = false;
  expect(answer).toMatchObject({ items: [{ node_id, outcome: "changed" }], changed: 1 });
  expect(logger.of("warn")).toEqual([
    "Agents could not be read to rename them in order.",
    "Agents could not be read after they were changed.",
  ]);
});

describe("tags of many agents", () => {
  it("are set and taken away in one step each, and what is so already is not written", async () => {
    await using test = await createTestOrchestrator();
    const { tags } = test.orchestrator.agents;
    const [first, second] = [await approved(test, 1), await approved(test, 2)];
    await tags.replace(systemCaller, { node_id: first.nodeId, tags: { role: "web", old: "1" } });
    await tags.replace(systemCaller, { node_id: second.nodeId, tags: { role: "web", rack: "7" } });
    const before = countEvents(test, "agent.tagsChanged");
    const change = { selector: "role=web", set: { rack: "7" }, remove: ["old"] };
    const answer = await tags.change(systemCaller, change);
    expect(answer).toMatchObject({ changed: 1, unchanged: 1 });
    expect(countEvents(test, "agent.tagsChanged")).toBe(before + 1);
    const { tags: now } = await test.orchestrator.agents.get(systemCaller, { node_id: first.nodeId });
    expect(now).toEqual({ role: "web", rack: "7" });
    expect(await tags.change(systemCaller, change)).toMatchObject({ changed: 0, unchanged: 2 });
  });

  it("reach no stranger that waits by a selector that it matches, and do by its id", async () => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const [known, stranger] = [await approved(test, 1), await connect(test, 2)];
    const set = { role: "prod" };
    const answer = await agents.tags.change(systemCaller, { selector: "!q", set });
    expect(answer.items).toMatchObject([{ node_id: known.nodeId, outcome: "changed" }]);
    const tagsOf = async (): Promise<unknown> =>
      (await agents.get(systemCaller, { node_id: stranger.nodeId })).tags;
    expect(await tagsOf()).toEqual({});
    await agents.tags.change(systemCaller, { node_ids: [stranger.nodeId], set });
    expect(await tagsOf()).toEqual(set);
  });

  it("fail on the agent that would have too many, and on no other", async () => {
    await using test = await createTestOrchestrator();
    const { tags } = test.orchestrator.agents;
    const [full, free] = [await approved(test, 1), await approved(test, 2)];
    const many = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`k${at}`, ""]));
    await tags.replace(systemCaller, { node_id: full.nodeId, tags: many });
    const answer = await tags.change(systemCaller, { selector: "*", set: { more: "1" } });
    expect(answer).toMatchObject({ changed: 1, failed: 1 });
    expect(answer.items.find(({ node_id }) => node_id === full.nodeId)).toMatchObject({
      error: { code: "VALIDATION_FAILED", message: "At most 64 tags." },
    });
    expect(answer.items.find(({ node_id }) => node_id === free.nodeId)).toMatchObject({ outcome: "changed" });
  });

  it.each([
    [{ selector: "*" }],
    [{ selector: "*", set: {} }],
    [{ selector: "*", set: { a: "1" }, remove: ["a"] }],
    [{ selector: "*", set: { "not a key": "1" } }],
    [{ selector: "*", set: { a: "\u001b[2J" } }],
  ])("that are none are refused: %j", async (input) => {
    await using test = await createTestOrchestrator();
    const changed = test.orchestrator.agents.tags.change(systemCaller, input);
    await expect(changed).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  });
});

it("a selector goes through more agents than one call changes, each once, by a cursor that only fits there", async () => {
  await using test = await createTestOrchestrator();
  const { agents } = test.orchestrator;
  const count = 1_005;
  await test.storage.commit(
    Array.from({ length: count }, (_, at): Write => {
      const node_id = at.toString(16).padStart(32, "0");
      const times = { first_seen_at: "2026-01-01T00:00:00.000Z", last_seen_at: "2026-01-01T00:00:00.000Z" };
      const machine = { hostname: `m-${at}`, platform: "linux", agent_version: "1.0.0" };
      const keys = { public_key: node_id.repeat(2), box_public_key: node_id.repeat(2), remote_address: null };
      const value = {
        node_id,
        status: "approved",
        name: `m-${at}`,
        ...times,
        ...machine,
        ...keys,
        tags: { n: "x" },
      };
      return { kind: "put", collection: "agents", key: node_id, value };
    }),
  );
  const set = { role: "web" };
  const first = await agents.tags.change(systemCaller, { selector: "n=x", set });
  expect(first).toMatchObject({ changed: 1_000 });
  const cursor = first.next_cursor!;
  await expect(agents.tags.change(systemCaller, { selector: "n", set, cursor })).rejects.toMatchObject({
    code: "CURSOR_INVALID",
  });
  // It would go on among those that the verb before was not about.
  const reject = { status: "rejected", selector: "n=x", cursor } as const;
  await expect(agents.setStatuses(systemCaller, reject)).rejects.toMatchObject({ code: "CURSOR_INVALID" });
  const rest = await agents.tags.change(systemCaller, { selector: "n=x", set, cursor });
  expect(rest).toMatchObject({ changed: 5, next_cursor: null });
  const ids = [...first.items, ...rest.items].map(({ node_id }) => node_id);
  expect(new Set(ids).size).toBe(count);
  const remove = ["n"];
  await agents.tags.change(systemCaller, { node_ids: rest.items.map(({ node_id }) => node_id), remove });
  expect(await agents.tags.change(systemCaller, { selector: "n=x", set, cursor })).toMatchObject({
    items: [],
    next_cursor: null,
  });
});
