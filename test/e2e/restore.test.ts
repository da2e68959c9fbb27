/**
 * What happens after a restore, with real processes. Symptom: operations that were open in the backup blocked their agents for minutes
 * and ended `unknown`, and open rollouts went on by themselves. Cause: the restored server took itself for the one that had made the backup.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import type { Client } from "fleetwright/client";
import { endOf, eventually, startAgentProcess, startServerProcess } from "../support/processes.ts";
import type { AgentProcess, ServerProcess } from "../support/processes.ts";
import { restoreTo, startRestored, takeBackup } from "../support/restored-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Says that it runs each time, and waits for the test; the second has something to do each time that it is applied. */
const slow = `name: slow
resources:
  - { id: slow, type: script, run: "echo ran >> runs; while [ ! -e go ]; do sleep 0.05; done; touch left", creates: /left }
`;
const each = `name: each
resources:
  - { id: each, type: script, run: "echo each >> runs; touch fresh", check: "[ -e fresh ] && rm fresh" }
`;

const runs = ({ root }: AgentProcess): string =>
  existsSync(join(root, "runs")) ? readFileSync(join(root, "runs"), "utf8") : "";
const letGo = ({ root }: AgentProcess): void => writeFileSync(join(root, "go"), "");

async function startMember(folder: string, server: ServerProcess): Promise<AgentProcess> {
  const agent = await startAgentProcess(folder, server.url);
  await eventually("the agent is known", async () =>
    (await server.client.agents.list()).items.some(({ node_id }) => node_id === agent.nodeId),
  );
  await server.client.agents.setStatus(agent.nodeId, { status: "approved" });
  return agent;
}

function connection({ client }: ServerProcess, { nodeId }: AgentProcess): Promise<void> {
  return eventually("it is connected", async () => (await client.agents.get(nodeId)).connected);
}

async function restoreCheck({ status }: Client): Promise<unknown> {
  const { status: overall, checks } = await status.get();
  return [overall, checks?.find(({ name }) => name === "restore")];
}

it(
  "asks for what was open, begins nothing, lists what would go on, and goes on with it",
  { timeout: 120_000 },
  async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    await using server = await startServerProcess(dataDir);
    await using first = await startMember(join(folder, "1"), server);
    await using second = await startMember(join(folder, "2"), server);
    const both = [first, second];
    for (const content of [slow, each]) await server.client.modules.upload({ content });
    await server.client.assignments.create({ name: "all", selector: "*", modules: ["slow"] });
    const begun = await server.client.assignments.apply("all", { rollout: { batch: 1 }, wait_seconds: 0 });
    await eventually("one agent has begun", () => both.some((agent) => runs(agent) !== ""));
    const [one, other] = runs(first) === "" ? [second, first] : [first, second];
    const queued = await server.client.state.apply(one.nodeId, {
      modules: ["slow", "each"],
      wait_seconds: 0,
    });
    expect(queued.status).toBe("queued");
    const running = (await server.client.rollouts.get(begun.rollout_id)).operations.find(
      ({ node_id }) => node_id === one.nodeId,
    )!.operation_id!;
    const file = await takeBackup(server, join(folder, "fleet.backup"));

    // The first life goes on to the end of everything, and is gone.
    both.forEach(letGo);
    await eventually("the rollout has ended", async () =>
      ["succeeded", "failed"].includes((await server.client.rollouts.get(begun.rollout_id)).status),
    );
    const results = await Promise.all([running, queued.operation_id].map((id) => endOf(server.client, id)));
    expect(results.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    const done = [one, other].map(runs);
    expect(done).toEqual(["ran\neach\n", "ran\n"]);
    await server.program.end("SIGKILL");

    const port = Number(new URL(server.url).port);
    await using back = await startRestored(file, { from: dataDir, to: join(folder, "new"), port });
    const startedAt = performance.now();
    expect(await restoreCheck(back.client)).toEqual([
      "degraded",
      { name: "restore", status: "failed", detail: expect.stringContaining("fleetwright resume") as string },
    ]);
    for (const [index, id] of [running, queued.operation_id].entries()) {
      const { started_at: _1, finished_at: _2, ...known } = results[index]!;
      const { started_at: _3, finished_at: _4, ...told } = await endOf(back.client, id);
      expect(told).toMatchObject({ status: "succeeded", resources: known.resources, counts: known.counts });
    }
    console.log(`What was open had ended ${Math.round(performance.now() - startedAt)} ms after the start.`);

    // An operator may ask for anything meanwhile; nothing else happens.
    await connection(back, other);
    expect(await back.client.state.plan(other.nodeId, { modules: ["each"] })).toMatchObject({
      status: "succeeded",
    });
    await pause(2_000);
    expect([one, other].map(runs)).toEqual(done);
    const { rollouts, restores } = back.client;
    expect(await rollouts.get(begun.rollout_id)).toMatchObject({
      status: "running",
      counts: { succeeded: 1, waiting: 1 },
    });
    const state = await restores.get();
    expect(state).toMatchObject({
      status: "paused",
      open_operations: 0,
      operations: [],
      rollouts: [{ rollout_id: begun.rollout_id, assignment: "all", matched: 2, left: 1 }],
      missed: [],
    });
    expect(Date.parse(state.backup_at!)).toBeLessThan(Date.parse(state.restored_at!));

    // A restart changes nothing about it.
    await back.program.end("SIGKILL");
    await using again = await startServerProcess(join(folder, "new"), port);
    expect((await again.client.restores.get()).epoch).toEqual(state.epoch);
    expect((await again.client.restores.get()).status).toBe("paused");

    for (const agent of both) await connection(again, agent);
    expect(await again.client.restores.resume()).toMatchObject({ status: "active", missed: [] });
    await eventually("the rollout has ended", async () =>
      ["succeeded", "failed"].includes((await again.client.rollouts.get(begun.rollout_id)).status),
    );
    expect(await again.client.rollouts.get(begun.rollout_id)).toMatchObject({
      status: "succeeded",
      counts: { succeeded: 2 },
    });
    // What was in sync since the first life is not done again.
    expect([one, other].map(runs)).toEqual(done);
    expect(await restoreCheck(again.client)).toEqual(["ok", undefined]);
    await expect(again.client.restores.resume()).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
    const events = (await again.client.audit.list()).items.map(({ event_type }) => event_type);
    expect(events.filter((type) => /^storage\.(restored|resumed)$/.test(type))).toEqual([
      "storage.resumed",
      "storage.restored",
    ]);
    expect(await again.client.audit.verify()).toMatchObject({ valid: true });
  },
);

it(
  "leaves an agent with the newer of two servers of one backup, and says so on the older",
  { timeout: 120_000 },
  async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    await using older = await startServerProcess(dataDir);
    const member = join(folder, "1");
    await using first = await startMember(member, older);
    await older.client.modules.upload({ content: each });
    const file = await takeBackup(older, join(folder, "fleet.backup"));
    await using newer = await startRestored(file, { from: dataDir, to: join(folder, "new") });
    expect((await newer.client.status.get()).public_key).toBe((await older.client.status.get()).public_key);
    // Both live; an agent that has not seen the newer one obeys the older.
    expect(await older.client.state.apply(first.nodeId, { modules: ["each"] })).toMatchObject({
      status: "succeeded",
    });
    await first.program.end();

    await using second = await startAgentProcess(member, newer.url);
    await connection(newer, first);
    expect(await newer.client.state.apply(first.nodeId, { modules: ["each"] })).toMatchObject({
      status: "succeeded",
    });
    await second.program.end();

    await using third = await startAgentProcess(member, older.url);
    const refusals = async (): Promise<unknown[]> =>
      (await older.client.audit.list({ event_type: "agent.refused" })).items;
    await eventually("the older has told", async () => (await refusals()).length > 0);
    expect(await refusals()).toMatchObject([
      { target: { id: first.nodeId }, metadata: { code: "ORCHESTRATOR_SUPERSEDED" } },
    ]);
    const { number } = (await newer.client.restores.get()).epoch!;
    expect(await restoreCheck(older.client)).toEqual([
      "degraded",
      { name: "restore", status: "failed", detail: expect.stringContaining(String(number)) as string },
    ]);
    await expect(older.client.state.apply(first.nodeId, { modules: ["each"] })).rejects.toMatchObject({
      code: "AGENT_OFFLINE",
    });
    await third.program.end();
    expect(runs(first)).toBe("each\neach\n");

    // The older life goes on where its operator wants that: by a restore of its own.
    const other = await takeBackup(older, join(folder, "other.backup"));
    await older.program.end();
    await restoreTo(other, dataDir, join(folder, "other"));
    await using newest = await startServerProcess(join(folder, "other"));
    expect((await newest.client.restores.get()).epoch!.number).toBeGreaterThan(number);
    await using _fourth = await startAgentProcess(member, newest.url);
    await connection(newest, first);
  },
);
