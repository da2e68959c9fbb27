import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { toJsonObject } from "../../lib/json.ts";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import { resultsLog } from "../../lib/operations/documents.ts";
import { loadReport } from "../../lib/operations/operation-results.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settle } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { seededRandom } from "../support/random.ts";
import { OldOperations } from "../support/retention.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";
import { VolatileDisk } from "../support/volatile-disk.ts";

const dayMs = 86_400_000;
const agent = { node_id: "a" };

async function opened(data = new MemoryData()): Promise<OldOperations> {
  const clock = new FakeClock();
  const old = await OldOperations.open(new MemoryStorage({ clock, data }), clock);
  await old.put("agents", "a", { node_id: "a", status: "approved", hostname: "a", tags: {} });
  return old;
}

async function drift(old: OldOperations, status: string): Promise<string> {
  const drift_id = await old.add({ kind: "check", ...agent, ...(status === "running" && { status }) });
  await old.put("drift_records", drift_id, { drift_id, ...agent, status });
  return drift_id;
}

describe("of old operations", () => {
  it("all go that nobody needs, with their drift records, results and snapshots, and not a day too early", async () => {
    const data = new MemoryData();
    const old = await opened(data);
    for (let n = 0; n < 250; n++)
      await old.add({ kind: "apply", ...agent, node_id: `b-${n % 20}` }, `old ${n}`);
    await drift(old, "in_sync");
    await drift(old, "drifted");
    await old.age(89);
    await old.rounds(3);
    expect(await old.ids()).toHaveLength(252);
    const young = await old.add({ kind: "apply", node_id: "c" }, "young");
    await old.age(2);
    await old.rounds(3);
    const [newestCheck] = (await old.storage.list("drift_records")).items.map(({ key }) => key);
    expect(await old.ids()).toEqual([newestCheck, young]);
    expect((await old.storage.list("drift_records")).items).toHaveLength(1);
    // Of the check that stays: its results, written anew at the end of the log, and its snapshot.
    const { entries } = await old.storage.readLog(resultsLog, { limit: 1_000 });
    expect(entries.map(({ value }) => value["operation_id"])).toEqual([young, newestCheck]);
    expect(data.blobs.size).toBe(2);
    expect((await old.storage.list("loose_contents")).items).toEqual([]);
    const { entries: events } = await old.storage.readLog("audit", {
      where: { event_type: "operation.pruned" },
    });
    // 251 operations and one drift record, a hundred operations at most in one commit.
    expect(events.map(({ value }) => (value["metadata"] as { removed: number }).removed)).toEqual([
      100, 100, 52,
    ]);
  });

  const cases: [name: string, fill: (old: OldOperations) => Promise<string[]>][] = [
    [
      "what runs or waits",
      async (old) => [
        await old.add({ kind: "apply", ...agent, status: "running" }),
        await old.add({ kind: "plan", ...agent, status: "queued" }),
      ],
    ],
    [
      "the newest apply of an agent and the newest that succeeded",
      async (old) => {
        await old.add({ kind: "apply", ...agent });
        const baseline = await old.add({ kind: "apply", ...agent });
        const last = await old.add({ kind: "apply", ...agent, status: "failed" });
        const state = (operation_id: string) => ({ operation_id, snapshot: "x", at: "x" });
        await old.put("agent_states", "a", { ...agent, last_apply: state(last), baseline: state(baseline) });
        return [baseline, last];
      },
    ],
    [
      "the newest apply about each module of an agent",
      async (old) => {
        await old.add({ kind: "apply", ...agent });
        const about = await old.add({ kind: "apply", ...agent });
        const last = await old.add({ kind: "apply", ...agent });
        const web = { revision: 1, operation_id: about, assignments: [] };
        const last_apply = { operation_id: last, snapshot: "x", at: "x", resource_count: 1 };
        await old.put("agent_states", "a", { ...agent, last_apply, modules: { web } });
        return [about, last];
      },
    ],
    [
      "operations of a rollout that is paused, none of which runs or waits",
      async (old) => {
        for (const status of ["paused", "succeeded"])
          await old.put("rollouts", status, { rollout_id: status, status });
        await old.add({ kind: "apply", ...agent, rollout_id: "succeeded" });
        return [await old.add({ kind: "apply", ...agent, rollout_id: "paused" })];
      },
    ],
    [
      "operations of a rollout that has not ended",
      async (old) => {
        await old.add({ kind: "apply", ...agent, rollout_id: "ended" });
        const open = { rollout_id: "open", kind: "apply" } as const;
        return [
          await old.add({ ...open, node_id: "b" }),
          await old.add({ ...open, node_id: "c", status: "queued" }),
        ];
      },
    ],
    [
      "the newest plan of an agent, where nothing was applied since",
      async (old) => {
        await old.add({ kind: "plan", ...agent });
        await old.add({ kind: "plan", node_id: "removed agent" });
        return [await old.add({ kind: "plan", ...agent })];
      },
    ],
    [
      "the newest plan of an agent, also after what was applied before it",
      async (old) => {
        await old.add({ kind: "apply", ...agent });
        return [await old.add({ kind: "plan", ...agent })];
      },
    ],
    [
      "no plan after which something was applied",
      async (old) => {
        await old.add({ kind: "plan", ...agent });
        await old.add({ kind: "apply", ...agent });
        return [];
      },
    ],
    [
      "no plan that failed",
      async (old) => {
        await old.add({ kind: "plan", ...agent, status: "failed" });
        return [];
      },
    ],
    [
      "the newest check of an agent that has ended",
      async (old) => {
        await drift(old, "in_sync");
        const newest = await drift(old, "failed");
        return [newest, await drift(old, "running")];
      },
    ],
    [
      "the newest check of an agent that found something, and the newest that could not tell",
      async (old) => {
        await drift(old, "in_sync");
        const checked_at = new Date(old.clock.now()).toISOString();
        const found = { drift_id: await drift(old, "drifted"), status: "drifted", checked_at };
        const failed = { drift_id: await drift(old, "failed"), checked_at };
        const cancelled = await drift(old, "cancelled");
        const findings = { ...agent, drift: found, failed_drift_check: failed };
        await old.put("agent_findings", "a", findings);
        await old.loadAgents();
        return [found.drift_id, failed.drift_id, cancelled];
      },
    ],
    [
      "what ended lately although it was asked for long ago",
      async (old) => {
        const finished_at = new Date(old.clock.now() + 50 * dayMs).toISOString();
        return [await old.add({ kind: "apply", ...agent, finished_at })];
      },
    ],
  ];

  it.each(cases)("stays %s", async (_name, fill) => {
    const old = await opened();
    const kept = await fill(old);
    await old.age();
    await old.rounds(2);
    expect(await old.ids()).toEqual(kept);
  });

  it("one stays that changes in the very moment in which it would go", async () => {
    const clock = new FakeClock();
    const storage = new RacingStorage((writes) =>
      writes.some((write) => write.kind === "delete" && write.collection === "operations"),
    );
    const old = await OldOperations.open(storage, clock);
    const id = await old.add({ kind: "apply", ...agent });
    await old.age();
    storage.before = async () => {
      const stored = await storage.get<OperationDocument>("operations", id);
      await old.put(
        "operations",
        id,
        toJsonObject({ ...stored!.value, finished_at: old.context.timestamp() }),
      );
    };
    await old.rounds(2);
    expect(storage.before).toBeNull();
    expect(await old.ids()).toEqual([id]);
  });

  it("results stay readable of what stays, however often the log is trimmed", async () => {
    const old = await opened();
    const id = await old.add({ kind: "apply", ...agent });
    const state = { operation_id: id, snapshot: "x", at: "x" };
    await old.put("agent_states", "a", { ...agent, last_apply: state });
    let trimmed = 0;
    for (let year = 0; year < 3; year++) {
      await old.age();
      await old.add({ kind: "apply", node_id: "b" });
      await old.rounds(3);
      const operation = (await old.storage.get<OperationDocument>("operations", id))!.value;
      expect((await loadReport(old.context, operation)).results).toMatchObject([{ resource_id: id }]);
      const { base } = await old.storage.readLog(resultsLog);
      expect(base.sequence).toBeGreaterThan(trimmed);
      trimmed = base.sequence;
    }
    const { head } = await old.storage.readLog(resultsLog);
    await old.rounds(5);
    // It is written anew once in all that time, not in every round.
    expect((await old.storage.readLog(resultsLog)).head).toEqual(head);
  });

  it("results that no operation names yet are not trimmed within the hour", async () => {
    const old = await opened();
    await old.rounds(1);
    await old.storage.commit([
      { kind: "append", log: resultsLog, at: 0, value: { operation_id: "not yet" } },
    ]);
    await old.rounds(1);
    expect((await old.storage.readLog(resultsLog)).entries).toHaveLength(1);
    await old.rounds(1);
    expect((await old.storage.readLog(resultsLog)).entries).toHaveLength(0);
  });

  it("nor are they where those of a younger operation are named already", async () => {
    const old = await opened();
    const value = { operation_id: "not yet" };
    await old.storage.commit([{ kind: "append", log: resultsLog, at: 0, value }]);
    await old.add({ kind: "apply", ...agent });
    await old.rounds(1);
    expect((await old.storage.readLog(resultsLog)).entries).toHaveLength(2);
  });

  it("nothing goes while a clock that jumped says that it is old", async () => {
    const old = await opened();
    await old.add({ kind: "apply", ...agent });
    await old.rounds(1);
    old.clock.jump(1_000 * dayMs);
    await old.rounds(20);
    expect(await old.ids()).toHaveLength(1);
    await old.rounds(6);
    expect(await old.ids()).toEqual([]);
  });
});

it.each([
  [1, "1 record of operations", "was removed"],
  [2, "2 records of operations", "were removed"],
])("the removal of %i is told in so many words", async (count, what, happened) => {
  const old = await opened();
  for (let n = 0; n < count; n++) await old.add({ kind: "apply", node_id: `b-${n}` });
  await old.age(91);
  await old.rounds(1);
  const { entries } = await old.storage.readLog("audit", { where: { event_type: "operation.pruned" } });
  const told = entries.map(({ value }) => [value["summary"], value["metadata"]] as const);
  const { before } = told[0]![1] as { before: string };
  expect(told).toEqual([[`${what} before ${before} ${happened}`, { removed: count, before }]]);
});

describe("an orchestrator", () => {
  it("keeps what is believed of an agent, and forgets an apply that another replaced", async () => {
    const data = new MemoryData();
    const clock = new FakeClock();
    await using test = await createTestOrchestrator({
      clock,
      storage: new MemoryStorage({ data, clock }),
      operationRetentionDays: 10,
    });
    const { operations, modules, agents } = test.orchestrator;
    const scripted = await connectScriptedAgent(test);
    const node_id = scripted.nodeId;
    await agents.setStatus(systemCaller, { node_id, status: "approved" });
    const ids: string[] = [];
    for (const content of ["one", "two"]) {
      await modules.upload(systemCaller, {
        content: `name: motd\nresources:\n  - { type: file, path: /etc/motd, content: ${content} }\n`,
      });
      const running = operations.apply(systemCaller, { node_id, modules: ["motd"] });
      const { operation_id } = await scripted.next("apply");
      const result = {
        resource_id: "file:/etc/motd",
        module: "motd",
        type: "file",
        identity: "/etc/motd",
        outcome: "changed" as const,
        action: "update" as const,
        changes: [],
        caused_by: [],
        attempts: 1,
        duration_ms: 1,
        message: content,
      };
      scripted.link.send({ ...emptyResult(operation_id), results: [result] });
      await running;
      ids.push(operation_id);
    }
    // Both revisions of the module, what is shown of them, which is the same, and two snapshots.
    expect(data.blobs.size).toBe(5);
    await scripted.link.stop();
    await settle();
    await clock.advance(12 * dayMs);
    await expect(operations.get(systemCaller, { operation_id: ids[0]! })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    const { resources } = await operations.get(systemCaller, { operation_id: ids[1]! });
    expect(resources).toMatchObject([{ message: "two" }]);
    expect((await operations.believed(systemCaller, { node_id })).applied).toMatchObject([
      { resource_id: "file:/etc/motd" },
    ]);
    expect((await test.storage.readLog(resultsLog)).entries).toHaveLength(1);
    // One snapshot less.
    expect(data.blobs.size).toBe(4);
    await modules.remove(systemCaller, { name: "motd" });
    await clock.advance(3 * 3_600_000);
    expect(data.blobs.size).toBe(1);
    expect(test.loggedErrors).toEqual([]);
  });

  it("takes a pause after each hundred operations", async () => {
    const clock = new FakeClock();
    const old = await OldOperations.open(new MemoryStorage({ clock }), clock);
    for (let n = 0; n < 350; n++) await old.add({ kind: "apply", node_id: `n-${n}` }, "same");
    await old.age();
    const end = old.retention.keep();
    const left: number[] = [];
    for (let slice = 0; slice < 6; slice++) {
      await clock.advance(slice === 0 ? 0 : 100);
      left.push((await old.ids()).length);
    }
    expect(left).toEqual([250, 150, 50, 0, 0, 0]);
    await end();
  });
});

describe("a process that dies anywhere while it removes", () => {
  it.each(Array.from({ length: 40 }, (_, changes) => changes))(
    "leaves nothing behind and loses nothing that is needed, after %i changes",
    async (changes) => {
      const random = seededRandom(changes);
      const clock = new FakeClock();
      const open = async (disk: VolatileDisk): Promise<OldOperations> =>
        OldOperations.open(new FileStorage({ folder: "/data", disk, clock, segmentBytes: 65_536 }), clock);
      let disk = new VolatileDisk(random, Infinity);
      const first = await open(disk);
      const kept = await first.add({ kind: "apply", ...agent }, "kept");
      const state = { operation_id: kept, snapshot: "x", at: "x" };
      await first.put("agent_states", "a", { ...agent, last_apply: state });
      for (let n = 0; n < 5; n++) await first.add({ kind: "apply", ...agent, node_id: "b" }, `gone ${n % 3}`);
      // So that nothing is loose any more.
      await first.rounds(3);
      await first.age();
      await first.storage.close();

      disk = disk.afterKill(changes);
      const dying = (async () => {
        const old = await open(disk);
        await old.rounds(4);
        await old.storage.close();
      })();
      await Promise.race([disk.lost, dying]);
      disk = disk.afterPowerLoss(Infinity);
      const last = await open(disk);
      await last.rounds(4);
      expect(await last.ids()).toEqual([kept]);
      const operation = (await last.storage.get<OperationDocument>("operations", kept))!.value;
      expect((await loadReport(last.context, operation)).results).toMatchObject([{ resource_id: kept }]);
      expect(await last.context.contents.read("snapshot", operation.snapshot)).toHaveLength(4);
      expect((await disk.list("/data/blobs")).length).toBe(1);
      expect((await last.storage.list("loose_contents")).items).toEqual([]);
      expect((await last.storage.readLog(resultsLog)).entries.length).toBeLessThanOrEqual(2);
      await last.storage.close();
    },
  );
});
