/** The fleet in one look: every count up, down and up again, and what needs somebody, worst first. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemCaller, type Summary } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { newFolders, startAgent, startApprovedAgent, type TestAgent } from "../support/fleet.ts";
import { approved, connect, leave } from "../support/leaving-agents.ts";
import { sendSample } from "../support/sent-samples.ts";

type SentAgent = Awaited<ReturnType<typeof approved>>;

const summaryOf = ({ orchestrator }: TestOrchestrator): Promise<Summary> =>
  orchestrator.summary.get(systemCaller);
const needs = async (fleet: TestOrchestrator): Promise<[string, string, number][]> =>
  (await summaryOf(fleet)).attention.map(({ severity, kind, count }) => [severity, kind, count]);
const file = (path: string): string =>
  `name: web\nresources:\n  - { id: f, type: file, path: ${path}, content: ours }\n`;

test("an empty fleet needs nobody", async () => {
  await using fleet = await createTestOrchestrator();
  expect(await summaryOf(fleet)).toEqual({
    agents: { pending: 0, approved: 0, rejected: 0, connected: 0, away: 0 },
    last_apply: {},
    drift: {},
    operations: { queued: 0, running: 0, unknown: 0 },
    rollouts: { running: 0, paused: 0, stopping: 0 },
    alarms: { critical: 0, warning: 0, info: 0 },
    attention: [],
  });
});

test("what needs somebody is told worst first, with names, and is gone when it is put right", async () => {
  await using fleet = await createTestOrchestrator({ driftIntervalSeconds: 0 });
  const { orchestrator } = fleet;
  await using waiting = await startAgent(fleet, newFolders());
  await using web = await startApprovedAgent(fleet, newFolders());
  await using db = await startApprovedAgent(fleet, newFolders());
  const apply = ({ nodeId: node_id }: TestAgent, status: string) =>
    expect(orchestrator.operations.apply(systemCaller, { node_id, modules: ["web"] })).resolves.toMatchObject(
      {
        status,
      },
    );
  await orchestrator.modules.upload(systemCaller, { content: file("/web") });
  await apply(web, "succeeded");
  writeFileSync(join(web.root, "web"), "theirs");
  await orchestrator.drift.check(systemCaller, { node_id: web.nodeId });
  mkdirSync(join(db.root, "web"));
  await apply(db, "failed");
  expect(await needs(fleet)).toEqual([
    ["critical", "failed_applies", 1],
    ["warning", "drifted_agents", 1],
    ["info", "pending_agents", 1],
  ]);
  const { name } = await orchestrator.agents.get(systemCaller, { node_id: web.nodeId });
  const { attention, agents } = await summaryOf(fleet);
  expect(attention[1]!.agents).toEqual([{ node_id: web.nodeId, name }]);
  expect(attention[2]!.agents).toMatchObject([{ node_id: waiting.nodeId }]);
  expect(agents).toEqual({ pending: 1, approved: 2, rejected: 0, connected: 3, away: 0 });

  await apply(web, "succeeded");
  await orchestrator.drift.check(systemCaller, { node_id: web.nodeId });
  await orchestrator.agents.setStatus(systemCaller, { node_id: waiting.nodeId, status: "rejected" });
  expect(await needs(fleet)).toEqual([["critical", "failed_applies", 1]]);
  await orchestrator.modules.upload(systemCaller, { content: file("/other") });
  await apply(db, "succeeded");
  expect(await needs(fleet)).toEqual([]);
});

test("agents that went away are told until they are back", async () => {
  await using fleet = await createTestOrchestrator();
  const folders = { ...newFolders(), clock: fleet.clock };
  const agent = await startApprovedAgent(fleet, folders);
  await agent.agent.stop();
  for (let minute = 0; minute < 3; minute++) await fleet.clock.advance(60_000);
  expect(await needs(fleet)).toEqual([["warning", "away_agents", 1]]);
  expect((await summaryOf(fleet)).attention[0]!.agents).toMatchObject([{ node_id: agent.nodeId }]);
  await using _ = await startAgent(fleet, folders);
  for (let minute = 0; minute < 3; minute++) await fleet.clock.advance(60_000);
  expect(await needs(fleet)).toEqual([]);
});

test("more agents that went away than are named are all counted", async () => {
  await using fleet = await createTestOrchestrator();
  const all: SentAgent[] = [];
  for (let number = 1; number <= 6; number++) all.push(await approved(fleet, number));
  await leave(fleet, ...all);
  for (let minute = 0; minute < 3; minute++) await fleet.clock.advance(60_000);
  const { agents, attention } = await summaryOf(fleet);
  expect(agents.away).toBe(6);
  expect(attention).toMatchObject([{ kind: "away_agents", count: 6 }]);
  expect(attention[0]!.agents).toHaveLength(5);
});

test("agents that were rejected while they were told away do not count, nor after a kill in between", async () => {
  const data = new MemoryData();
  const away = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  const agent = await startApprovedAgent(away, { ...newFolders(), clock: away.clock });
  await agent.agent.stop();
  for (let minute = 0; minute < 3; minute++) await away.clock.advance(60_000);
  const { nodeId: node_id } = agent;
  await away.orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await settleAll();
  expect((await summaryOf(away)).agents.away).toBe(0);
  // As if the process had ended before that was written.
  await away.storage.commit([
    {
      kind: "put",
      collection: "offline_agents",
      key: node_id,
      value: { node_id, since: "2030-01-01T00:00:00.000Z" },
    },
  ]);
  await away.orchestrator.stop();
  await using again = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  await settleAll();
  expect((await summaryOf(again)).agents).toMatchObject({ away: 0, rejected: 1, approved: 0 });
});

test("work that waits is counted until it has ended", async () => {
  await using fleet = await createTestOrchestrator();
  const folders = newFolders();
  const agent = await startApprovedAgent(fleet, folders);
  const { nodeId: node_id } = agent;
  await agent.agent.stop();
  await fleet.orchestrator.modules.upload(systemCaller, { content: file("/web") });
  const { operation_id } = await fleet.orchestrator.operations.apply(systemCaller, {
    node_id,
    modules: ["web"],
    when_offline: "queue",
    wait_seconds: 0,
  });
  expect((await summaryOf(fleet)).operations).toEqual({ queued: 1, running: 0, unknown: 0 });
  await fleet.orchestrator.operations.cancel(systemCaller, { operation_id });
  const { operations, last_apply, attention } = await summaryOf(fleet);
  expect(operations.queued).toBe(0);
  expect(last_apply).toEqual({});
  expect(attention.map(({ kind }) => kind)).not.toContain("failed_applies");
});

test("an operation that nobody heard of counts for as long as its agent may tell of it", async () => {
  await using fleet = await createTestOrchestrator();
  const { orchestrator } = fleet;
  await orchestrator.modules.upload(systemCaller, { content: file("/web") });
  const { nodeId: node_id } = await approved(fleet, 1);
  const unheard = { node_id, modules: ["web"], timeout_seconds: 10, wait_seconds: 0 };
  await orchestrator.operations.apply(systemCaller, unheard);
  for (let minute = 0; minute < 5; minute++) await fleet.clock.advance(60_000);
  const kinds = async () => (await summaryOf(fleet)).attention.map(({ kind, count }) => [kind, count]);
  expect(await kinds()).toContainEqual(["unknown_operations", 1]);
  expect((await summaryOf(fleet)).operations.unknown).toBe(1);
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  expect((await summaryOf(fleet)).operations.unknown).toBe(0);
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  expect((await summaryOf(fleet)).operations.unknown).toBe(1);
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "rejected" });
  await orchestrator.agents.remove(systemCaller, { node_id });
  await settleAll();
  expect(await summaryOf(fleet)).toMatchObject({ operations: { unknown: 0 }, attention: [] });
});

test("an agent with several operations that nobody heard of is named once, and each is counted", async () => {
  await using fleet = await createTestOrchestrator();
  await fleet.orchestrator.modules.upload(systemCaller, { content: file("/web") });
  const { nodeId: node_id } = await approved(fleet, 1);
  for (let time = 0; time < 2; time++) {
    if (time > 0) await connect(fleet, 1);
    const unheard = { node_id, modules: ["web"], timeout_seconds: 10, wait_seconds: 0 };
    await fleet.orchestrator.operations.apply(systemCaller, unheard);
    for (let minute = 0; minute < 5; minute++) await fleet.clock.advance(60_000);
  }
  // What runs on another, and what waits behind it, is no news.
  const { nodeId: busy } = await approved(fleet, 2);
  for (let time = 0; time < 2; time++) {
    const input = { node_id: busy, modules: ["web"], when_offline: "queue" as const, wait_seconds: 0 };
    await fleet.orchestrator.operations.apply(systemCaller, input);
  }
  await settleAll();
  const { operations, attention } = await summaryOf(fleet);
  expect(operations).toEqual({ queued: 1, running: 1, unknown: 2 });
  const unknown = attention.filter(({ kind }) => kind === "unknown_operations");
  expect(unknown).toMatchObject([{ count: 2, agents: [{ node_id }] }]);
});

test("alarms are counted by severity, and machines with many hide no other that has one", async () => {
  await using fleet = await createTestOrchestrator();
  const limit = { condition: "above", value: 4, for_seconds: 0, recovery_seconds: 0 } as const;
  const { thresholds } = fleet.orchestrator;
  await thresholds.create(systemCaller, { ...limit, name: "Disk", metric: "mount.used_bytes" });
  await thresholds.create(systemCaller, { ...limit, name: "Busy", metric: "load.1", severity: "critical" });
  const agents: SentAgent[] = [];
  for (let number = 1; number <= 7; number++) agents.push(await approved(fleet, number));
  const [noisy, others] = [agents.slice(0, 3), agents.slice(3)];
  const disks = (used: number): Record<string, number> =>
    Object.fromEntries(
      Array.from({ length: 45 }, (_, mount) => [`mount.used_bytes{mount=/disk${mount}}`, used]),
    );
  for (const agent of others) await sendSample(fleet, agent, { "mount.used_bytes{mount=/}": 5 });
  // The newest alarms, more than are read at once, are all of three machines.
  await fleet.clock.advance(15_000);
  for (const agent of noisy) await sendSample(fleet, agent, { ...disks(5), "load.1": 5 });
  const { alarms, attention } = await summaryOf(fleet);
  expect(alarms).toEqual({ critical: 3, warning: 139, info: 0 });
  const named = attention.filter(({ kind }) => kind === "alarms");
  expect(named.map(({ severity, count, agents }) => [severity, count, agents.length])).toEqual([
    ["critical", 3, 3],
    ["warning", 139, 5],
  ]);
  const nodeIds = new Set(named[1]!.agents.map(({ node_id }) => node_id));
  expect(nodeIds.size).toBe(5);
  for (const { nodeId } of noisy) expect(nodeIds).toContain(nodeId);
  // So many alarms of a machine end within a minute, not at once.
  for (let sample = 0; sample < 4; sample++) {
    await fleet.clock.advance(15_000);
    for (const agent of noisy) await sendSample(fleet, agent, { ...disks(1), "load.1": 1 });
  }
  expect((await summaryOf(fleet)).alarms).toEqual({ critical: 0, warning: 4, info: 0 });
});
