import { describe, expect, it } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { toTimestamp } from "../../lib/clock.ts";
import type { JsonObject } from "../../lib/json.ts";
import { saveTargets } from "../../lib/rollouts/targets.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { retentionNow } from "../../lib/upkeep/retention.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { OldOperations } from "../support/retention.ts";

const hourMs = 3_600_000;

async function opened(data = new MemoryData(), clock = new FakeClock()): Promise<OldOperations> {
  return OldOperations.open(new MemoryStorage({ clock, data }), clock);
}

/** Lets days pass as the background work sees them. */
async function age(old: OldOperations, days: number): Promise<void> {
  for (let hour = 0; hour < days * 24; hour += 12) {
    await old.clock.advance(12 * hourMs);
    await old.context.retentionClock.now();
  }
}

/** Lets some rounds pass, each an hour after the one before: of operations, which also clear loose contents, and of rollouts. */
async function rounds(old: OldOperations, count = 3): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await old.rounds(1);
    for await (const _ of old.rollouts.retention.round());
  }
}

/** Keeps a rollout that ended now, or is in the status given, and was refused for some of its agents, each of which is a group. */
async function addRollout(
  old: OldOperations,
  { status = "failed", refused = 0, agents = "a", kind = "apply", command = "" } = {},
) {
  const rollout_id = old.context.ids.next();
  const targets = await saveTargets(old.context, { agents: [{ node_id: agents, name: agents }], ends: [1] });
  const at = old.context.timestamp();
  const rollout = {
    rollout_id,
    ...(kind === "run" ? { command } : { assignment: "all" }),
    kind,
    status,
    matched: 1,
    targets,
    created_at: at,
  };
  const put = (collection: string, key: string, value: JsonObject) =>
    ({ kind: "put", collection, key, value }) as const;
  const refusals = Array.from({ length: refused }, (_, n) => {
    const refusal = { rollout_id, node_id: `${n}`, error: { code: "AGENT_OFFLINE", message: "" } };
    return put("rollout_refusals", `${rollout_id}/${n}`, refusal);
  });
  const groups = Array.from({ length: refused }, (_, n) =>
    put("rollout_groups", `${rollout_id}/${n}`, { rollout_id, changes: `${n}`, agents: 1 }),
  );
  const end = status === "failed" ? { finished_at: at } : {};
  await old.storage.commit([...refusals, ...groups, put("rollouts", rollout_id, { ...rollout, ...end })]);
  return rollout_id;
}

async function keys(old: OldOperations, collection: string): Promise<string[]> {
  return (await old.storage.list(collection, { limit: 1000 })).items.map(({ key }) => key);
}

describe("of rollouts that have ended", () => {
  it("those go that are old, with refusals, groups and list of agents, and not a day too early", async () => {
    const data = new MemoryData();
    const old = await opened(data);
    await addRollout(old, { refused: 250 });
    await age(old, 89);
    await rounds(old);
    expect(await keys(old, "rollout_refusals")).toHaveLength(250);
    const young = await addRollout(old, { refused: 1, agents: "b" });
    await age(old, 2);
    await rounds(old);
    expect(await keys(old, "rollouts")).toEqual([young]);
    expect(await keys(old, "rollout_refusals")).toEqual([`${young}/0`]);
    expect(await keys(old, "rollout_groups")).toEqual([`${young}/0`]);
    // A list that nothing refers to any more goes an hour later.
    await rounds(old);
    expect([...data.blobs.keys()].filter((id) => id.startsWith("rollout-"))).toHaveLength(1);
    expect(await keys(old, "loose_contents")).toEqual([]);
    const { entries } = await old.storage.readLog("audit", { where: { event_type: "rollout.pruned" } });
    expect(entries.map(({ value }) => value["metadata"])).toMatchObject([{ status: "failed", matched: 1 }]);
  });

  it("a command is told of by its beginning, as it has no name", async () => {
    const old = await opened();
    await addRollout(old, { kind: "run", command: "systemctl restart nginx" });
    await age(old, 91);
    await rounds(old);
    const { entries } = await old.storage.readLog("audit", { where: { event_type: "rollout.pruned" } });
    expect(entries[0]!.value["summary"]).toMatch(/^The record of a rollout of systemctl restart nginx that/);
  });

  it("one stays as long as one of its operations", async () => {
    const old = await opened();
    await old.put("agents", "a", { node_id: "a", status: "approved", hostname: "a", tags: {} });
    const rollout_id = await addRollout(old);
    const last = await old.add({ kind: "apply", node_id: "a", rollout_id });
    const state = { operation_id: last, snapshot: "x", at: "x" };
    await old.put("agent_states", "a", { node_id: "a", last_apply: state });
    await age(old, 100);
    await rounds(old);
    expect(await keys(old, "rollouts")).toEqual([rollout_id]);
    await old.storage.commit([{ kind: "delete", collection: "agent_states", key: "a" }]);
    await rounds(old);
    expect([await old.ids(), await keys(old, "rollouts")]).toEqual([[], []]);
  });

  it.each([
    [0, "stays"],
    [1, "goes"],
  ])(
    "one that ended %i ms before the oldest time that is kept %s, whenever it began",
    async (ms, becomes) => {
      const old = await opened();
      const rollout_id = await addRollout(old);
      await age(old, 95);
      const { before } = await retentionNow(old.context);
      const stored = await old.storage.get<JsonObject>("rollouts", rollout_id);
      await old.put("rollouts", rollout_id, { ...stored!.value, finished_at: toTimestamp(before - ms) });
      for await (const _ of old.rollouts.retention.round());
      expect(await keys(old, "rollouts")).toEqual(becomes === "stays" ? [rollout_id] : []);
    },
  );

  it("one stays that changes in the very moment in which it would go", async () => {
    const clock = new FakeClock();
    const storage = new RacingStorage((writes) =>
      writes.some((write) => write.kind === "delete" && write.collection === "rollouts"),
    );
    const old = await OldOperations.open(storage, clock);
    const rollout_id = await addRollout(old);
    await age(old, 91);
    storage.before = async () => {
      const stored = await storage.get<JsonObject>("rollouts", rollout_id);
      await old.put("rollouts", rollout_id, { ...stored!.value, finished_at: old.context.timestamp() });
    };
    await rounds(old);
    expect(storage.before).toBeNull();
    expect(await keys(old, "rollouts")).toEqual([rollout_id]);
  });

  it("one leaves a list of agents that another has, too", async () => {
    const data = new MemoryData();
    const old = await opened(data);
    await addRollout(old);
    await age(old, 50);
    const second = await addRollout(old);
    await age(old, 45);
    await rounds(old);
    expect(await keys(old, "rollouts")).toEqual([second]);
    expect(data.blobs.size).toBe(1);
  });

  it("one is removed whole in the end, wherever the process is killed meanwhile", async () => {
    for (let killedAt = 0; ; killedAt += 1) {
      const data = new MemoryData();
      const clock = new FakeClock();
      const old = await opened(data, clock);
      const rollout_id = await addRollout(old, { refused: 250 });
      await age(old, 91);
      let commits = 0;
      const commit = old.storage.commit.bind(old.storage);
      old.storage.commit = (writes, options) => {
        commits += 1;
        return commits > killedAt ? Promise.reject(new Error("killed")) : commit(writes, options);
      };
      const wasKilled = await rounds(old).then(
        () => false,
        (error: unknown) => (error as Error).message === "killed",
      );
      // What is there is whole: the rollout goes last.
      const isThere = (await keys(old, "rollouts")).includes(rollout_id);
      for (const part of ["rollout_refusals", "rollout_groups"])
        if ((await keys(old, part)).length > 0) expect(isThere).toBe(true);
      await old.storage.close();
      const back = await opened(data, clock);
      await rounds(back, 4);
      expect(await keys(back, "rollouts")).toEqual([]);
      expect(await keys(back, "rollout_refusals")).toEqual([]);
      expect(await keys(back, "rollout_groups")).toEqual([]);
      expect(data.blobs.size).toBe(0);
      if (!wasKilled) {
        expect(killedAt).toBeGreaterThan(4);
        return;
      }
    }
  });
});

it.each(["running", "paused", "stopping"])(
  "a rollout that is %s stays, and its operations do",
  async (status) => {
    const old = await opened();
    const rollout_id = await addRollout(old, { status, refused: 1 });
    const operation = await old.add({ kind: "apply", node_id: "gone", rollout_id });
    await age(old, 200);
    await rounds(old);
    expect(await keys(old, "rollouts")).toEqual([rollout_id]);
    expect(await keys(old, "rollout_refusals")).toHaveLength(1);
    expect(await old.ids()).toEqual([operation]);
  },
);
