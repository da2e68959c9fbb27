import { expect, it } from "vitest";
import { silentLogger, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { approved, leave } from "../support/leaving-agents.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

it("the status is degraded while nothing can be written, and says why to those who signed in", async () => {
  const data = new MemoryData();
  await using test = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  const { status } = test.orchestrator;
  expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
  data.freeBytes = 0;
  expect(await status.get({ kind: "anonymous" })).toMatchObject({ status: "degraded" });
  expect(await status.get(systemCaller)).toMatchObject({
    checks: [
      { name: "storage", status: "failed", detail: expect.stringContaining("STORAGE_FULL") },
      { name: "log", status: "ok" },
      { name: "time_series", status: "ok" },
      { name: "clock", status: "ok" },
      { name: "agents", status: "ok" },
      { name: "enrolment", status: "ok" },
    ],
  });
  data.freeBytes = Infinity;
  expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
});

it.each([
  [
    "says where agents reach the server",
    "wss://fleet.example/agent/v1",
    [["agent_url", "wss://fleet.example/agent/v1"]],
  ],
  ["says nothing of where agents reach the server where nobody has", null, []],
])("the status %s", async (_, agentUrl, told) => {
  await using test = await createTestOrchestrator({ agentUrl });
  const status = await test.orchestrator.status.get({ kind: "anonymous" });
  expect(Object.entries(status).filter(([name]) => name === "agent_url")).toEqual(told);
});

it("the status is degraded while lines of the log are lost", async () => {
  let fault: string | null = null;
  const logger = { ...silentLogger, fault: () => fault };
  await using test = await createTestOrchestrator({ logger });
  const { status } = test.orchestrator;
  expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
  fault = "ENOSPC";
  const { checks } = await status.get(systemCaller);
  expect(checks?.[1]).toEqual({
    name: "log",
    status: "failed",
    detail: "Lines of the log are lost: its disk is full (ENOSPC).",
  });
  expect(await status.get({ kind: "anonymous" })).toMatchObject({ status: "degraded" });
  await test.orchestrator.checkReady();
  fault = null;
  expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
});

const hour = 3_600_000;

it.each([
  ["ahead by 600 seconds", 600_000],
  ["back by 600 seconds", -600_000],
])(
  "the status is degraded while the clock is set %s, until it is set right or believed",
  async (how, jumpMs) => {
    await using test = await createTestOrchestrator();
    const { clock, orchestrator } = test;
    const clockCheck = async () =>
      (await orchestrator.status.get(systemCaller)).checks?.find(({ name }) => name === "clock");
    const ok = { name: "clock", status: "ok" };
    expect(await clockCheck()).toEqual(ok);
    clock.jump(jumpMs);
    expect(await clockCheck()).toMatchObject({ status: "failed", detail: expect.stringContaining(how) });
    await orchestrator.checkReady();
    clock.jump(-jumpMs);
    expect(await clockCheck()).toEqual(ok);

    clock.jump(jumpMs);
    await clock.advance(0.9 * hour);
    expect(await clockCheck()).toMatchObject({ status: "failed" });
    await clock.advance(0.2 * hour);
    expect(await clockCheck()).toEqual(ok);
    // What it was before is a jump now.
    clock.jump(-jumpMs);
    expect(await clockCheck()).toMatchObject({ status: "failed" });
  },
);

it("a clock that is far ahead is told for as long as nothing is removed because of it", async () => {
  await using test = await createTestOrchestrator();
  const { clock, orchestrator } = test;
  const detail = async () =>
    (await orchestrator.status.get(systemCaller)).checks?.find(({ name }) => name === "clock")?.detail;
  await clock.advance(hour);
  clock.jump(3 * 24 * hour);
  await clock.advance(2 * hour);
  expect(await detail()).toContain("nothing is removed for its age");
  await clock.advance(25 * hour);
  expect(await detail()).toBeUndefined();
});

it("a minute more or less, and what a time server corrects bit by bit, is no jump", async () => {
  await using test = await createTestOrchestrator();
  const { clock, orchestrator } = test;
  for (let n = 0; n < 30; n++) {
    clock.jump(20_000);
    await clock.advance(60_000);
  }
  expect(await orchestrator.status.get(systemCaller)).toMatchObject({ status: "ok" });
});

it("agents that refuse every command are counted, and named up to three, for as long as they are connected", async () => {
  await using test = await createTestOrchestrator();
  const { modules, operations, status } = test.orchestrator;
  await modules.upload(systemCaller, { content: "name: motd\nresources: []\n" });
  const agents: Awaited<ReturnType<typeof approved>>[] = [];
  for (let number = 1; number <= 5; number++) {
    const agent = await approved(test, number);
    agents.push(agent);
    for (let time = 0; time < 3; time++) {
      const planned = operations.plan(systemCaller, { node_id: agent.nodeId, modules: ["motd"] });
      let { message } = await agent.heard.next("message");
      while (message.type !== "plan") ({ message } = await agent.heard.next("message"));
      const error = { code: "STORAGE_FULL", message: "No space is left." };
      agent.say({ type: "reply", id: message.id, error });
      expect(await planned).toMatchObject({ status: "failed" });
    }
  }
  const detail = async () =>
    (await status.get(systemCaller)).checks?.find(({ name }) => name === "agents")?.detail;
  const named = (from: number) =>
    agents
      .slice(from, from + 3)
      .map(({ nodeId }) => `${nodeId} (STORAGE_FULL)`)
      .join(", ");
  expect(await detail()).toBe(`Refuse every command: ${named(0)} and 2 more.`);
  await leave(test, agents[0]!);
  expect(await detail()).toBe(`Refuse every command: ${named(1)} and 1 more.`);
  await leave(test, agents[1]!);
  expect(await detail()).toBe(`Refuse every command: ${named(2)}.`);
  await leave(test, ...agents.slice(2));
  expect(await detail()).toBeUndefined();
});

it("an agent that takes a command in between, and refuses to stop it, is none that refuses every command", async () => {
  await using test = await createTestOrchestrator();
  await using agent = await connectScriptedAgent(test);
  const { nodeId: node_id, link } = agent;
  const { agents, modules, operations, status } = test.orchestrator;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  await modules.upload(systemCaller, { content: "name: motd\nresources: []\n" });
  const error = { code: "STORAGE_FULL", message: "No space is left." };
  const refuseTwice = async (): Promise<void> => {
    for (let time = 0; time < 2; time += 1) {
      const planned = operations.plan(systemCaller, { node_id, modules: ["motd"] });
      link.send({ type: "reply", id: (await agent.next("plan")).id, error });
      await planned;
    }
  };
  await refuseTwice();
  const planned = operations.plan(systemCaller, { node_id, modules: ["motd"] });
  const { id, operation_id } = await agent.next("plan");
  link.send({ type: "reply", id });
  for (let time = 0; time < 3; time += 1) {
    await operations.cancel(systemCaller, { operation_id });
    link.send({ type: "reply", id: (await agent.next("cancel")).id, error });
    await settleAll();
  }
  expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
  link.send(emptyResult(operation_id));
  await planned;
  await refuseTwice();
  expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
});

it.each([
  ["ENOSPC", "its disk is full (ENOSPC)"],
  ["EDQUOT", "its quota is used up (EDQUOT)"],
  ["EIO", "its disk reports errors (EIO)"],
  ["EAGAIN", "whoever reads it has stopped (EAGAIN)"],
  ["EPIPE", "whoever read it is gone (EPIPE)"],
  ["EXDEV", "EXDEV"],
])("of lines that are lost for %s is said why", async (fault, reason) => {
  await using test = await createTestOrchestrator({ logger: { ...silentLogger, fault: () => fault } });
  const { checks } = await test.orchestrator.status.get(systemCaller);
  expect(checks?.find(({ name }) => name === "log")).toEqual({
    name: "log",
    status: "failed",
    detail: `Lines of the log are lost: ${reason}.`,
  });
});

it("the status is degraded while samples are not kept, and says why to those who signed in", async () => {
  const storage = new MemoryStorage();
  let fault: string | null = null;
  Object.assign(storage.series!, { fault: () => fault });
  await using test = await createTestOrchestrator({ storage });
  const { status } = test.orchestrator;
  const seriesCheck = async () =>
    (await status.get(systemCaller)).checks?.find(({ name }) => name === "time_series");
  expect(await seriesCheck()).toEqual({ name: "time_series", status: "ok" });
  fault = "the disk is full";
  expect(await seriesCheck()).toEqual({
    name: "time_series",
    status: "failed",
    detail: "Samples are not kept: the disk is full.",
  });
  const seen = await status.get({ kind: "anonymous" });
  expect(seen).toMatchObject({ status: "degraded" });
  expect(seen).not.toHaveProperty("checks");
  fault = null;
  expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
});
