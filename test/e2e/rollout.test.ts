/** A rollout over real agents, whose server is killed in the middle and which is paused and cancelled on its way. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { endOf, eventually, startAgentProcess, startServerProcess } from "../support/processes.ts";
import type { AgentProcess, ServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Says that it runs, and waits for the test. */
const module = `name: slow
resources:
  - { id: slow, type: script, run: "echo ran >> runs; while [ ! -e go ]; do sleep 0.05; done; touch left", creates: /left }
`;

const runs = ({ root }: AgentProcess): string =>
  existsSync(join(root, "runs")) ? readFileSync(join(root, "runs"), "utf8") : "";
const hasBegun = (agent: AgentProcess): boolean => runs(agent) !== "";
const letGo = ({ root }: AgentProcess): void => writeFileSync(join(root, "go"), "");

async function startMember(folder: string, server: ServerProcess, rack: string): Promise<AgentProcess> {
  const agent = await startAgentProcess(folder, server.url);
  await eventually("the agent is known", async () =>
    (await server.client.agents.list()).items.some(({ node_id }) => node_id === agent.nodeId),
  );
  await server.client.agents.setStatus(agent.nodeId, { status: "approved" });
  await server.client.tags.replace(agent.nodeId, { tags: { rack } });
  return agent;
}

it(
  "goes on where it was after its server is killed, and gives no agent two operations",
  { timeout: 120_000 },
  async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    await using server = await startServerProcess(dataDir);
    await using first = await startMember(join(folder, "1"), server, "r1");
    await using second = await startMember(join(folder, "2"), server, "r2");
    await server.client.modules.upload({ content: module });
    await server.client.assignments.create({ name: "all", selector: "*", modules: ["slow"] });
    const begun = await server.client.assignments.apply("all", {
      rollout: { batch: "100%", group_by: "rack" },
      wait_seconds: 0,
    });
    await eventually("one agent has begun", () => hasBegun(first) || hasBegun(second));
    // Never two racks at once, whatever the size of a batch.
    expect([hasBegun(first), hasBegun(second)].filter(Boolean)).toHaveLength(1);
    const [one, other] = hasBegun(first) ? [first, second] : [second, first];

    await server.program.end("SIGKILL");
    letGo(one);
    await using back = await startServerProcess(dataDir, Number(new URL(server.url).port));
    const { rollouts } = back.client;
    await eventually("the other has begun", () => hasBegun(other));
    await rollouts.pause(begun.rollout_id);
    expect(await rollouts.get(begun.rollout_id)).toMatchObject({ status: "paused" });
    letGo(other);
    await rollouts.resume(begun.rollout_id);
    await eventually(
      "the rollout has ended",
      async () => (await rollouts.get(begun.rollout_id)).status !== "running",
    );
    expect(await rollouts.get(begun.rollout_id)).toMatchObject({
      status: "succeeded",
      counts: { succeeded: 2 },
      operations: [{ status: "succeeded" }, { status: "succeeded" }],
    });
    expect([runs(first), runs(second)]).toEqual(["ran\n", "ran\n"]);

    for (const { root } of [first, second])
      for (const name of ["runs", "left", "go"]) rmSync(join(root, name));
    const again = await back.client.assignments.apply("all", { rollout: { batch: 1 }, wait_seconds: 0 });
    await eventually("one agent has begun", () => hasBegun(first) || hasBegun(second));
    const [running, waiting] = hasBegun(first) ? [first, second] : [second, first];
    expect(await rollouts.cancel(again.rollout_id)).toMatchObject({ status: "stopping" });
    letGo(running);
    await eventually(
      "the rollout has ended",
      async () => (await rollouts.get(again.rollout_id)).status !== "stopping",
    );
    const cancelled = await rollouts.get(again.rollout_id);
    expect(cancelled).toMatchObject({ status: "cancelled", counts: { succeeded: 1, cancelled: 1 } });
    expect(hasBegun(waiting)).toBe(false);
    const done = cancelled.operations.find(({ operation_id }) => operation_id !== undefined);
    expect(await endOf(back.client, done?.operation_id ?? "")).toMatchObject({ status: "succeeded" });
  },
);
