import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createClient } from "fleetwright/client";
import { readSigner } from "fleetwright/client/node";
import {
  endOf,
  eventually,
  startAgentProcess,
  startFleetMember,
  startServerProcess,
} from "../support/processes.ts";
import type { AgentProcess, ServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A script that says that it runs, waits for the test, and leaves something. */
const module = `name: slow
resources:
  - id: slow
    type: script
    creates: /left
    run: |
      echo ran >> runs
      while [ ! -e go ]; do sleep 0.05; done
      touch left
`;

describe("an apply in the middle of which a process is killed", () => {
  it("succeeds when it was the server, and has run once", async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    await using server = await startServerProcess(dataDir);
    await using agent = await startFleetMember(join(folder, "web-1"), server);
    const operationId = await beginSlowApply(server, agent);

    await server.program.end("SIGKILL");
    writeFileSync(join(agent.root, "go"), "");
    await using back = await startServerProcess(dataDir, Number(new URL(server.url).port));

    const operation = await endOf(back.client, operationId);
    expect(operation).toMatchObject({ status: "succeeded", counts: { total: 1, changed: 1 } });
    expect(readFileSync(join(agent.root, "runs"), "utf8")).toBe("ran\n");
    expect(await back.client.audit.verify()).toMatchObject({ valid: true });
  });

  it("ends as interrupted when it was the agent, and is not run again", async () => {
    const folder = temporaryFolder();
    await using server = await startServerProcess(join(folder, "data"));
    await using agent = await startFleetMember(join(folder, "web-1"), server);
    const operationId = await beginSlowApply(server, agent);

    await agent.program.end("SIGKILL");
    // The script outlives the agent; it ends here.
    writeFileSync(join(agent.root, "go"), "");
    // The next agent ends what it finds running.
    await eventually("the script has left something", () => existsSync(join(agent.root, "left")));
    await using back = await startAgentProcess(join(folder, "web-1"), server.url);

    expect(back.nodeId).toBe(agent.nodeId);
    expect(await endOf(server.client, operationId)).toMatchObject({ status: "interrupted" });
    expect(readFileSync(join(agent.root, "runs"), "utf8")).toBe("ran\n");

    const next = await server.client.state.apply(agent.nodeId, { modules: ["slow"] });
    expect(next).toMatchObject({ status: "succeeded", counts: { unchanged: 1 } });
    expect(readFileSync(join(agent.root, "runs"), "utf8")).toBe("ran\n");
  });
});

it("a call with a key, killed after it took effect and before it was answered, is answered and not made again", async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, "data");
  await using server = await startServerProcess(dataDir);
  await using agent = await startFleetMember(join(folder, "web-1"), server);
  await server.client.modules.upload({ content: module });
  const { port } = new URL(server.url);
  let token = "";
  const signer = readSigner(join(dataDir, "admin-key"));
  await createClient({ url: server.url, signer, onToken: (made) => (token = made) }).auth.session();
  const apply = (): Promise<Response> =>
    fetch(`${server.url}/api/v1/agents/${agent.nodeId}/apply`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "idempotency-key": "apply-1",
      },
      body: JSON.stringify({ modules: ["slow"], wait_seconds: 60 }),
    });
  const unanswered = apply().then(
    () => "answered",
    () => "broken off",
  );
  await eventually("the script runs", () => existsSync(join(agent.root, "runs")));

  await server.program.end("SIGKILL");
  expect(await unanswered).toBe("broken off");
  writeFileSync(join(agent.root, "go"), "");
  await using back = await startServerProcess(dataDir, Number(port));

  const again = await apply();
  const { items } = await back.client.operations.list({ kind: "apply" });
  expect(items).toHaveLength(1);
  const { operation_id } = items[0]!;
  // What it committed.
  expect([again.status, await again.json()]).toEqual([
    202,
    expect.objectContaining({ operation_id, status: "queued" }),
  ]);
  expect(await endOf(back.client, operation_id)).toMatchObject({ status: "succeeded" });
  expect(readFileSync(join(agent.root, "runs"), "utf8")).toBe("ran\n");
});

it("an agent that finds no server waits for one", async () => {
  const folder = temporaryFolder();
  const dataDir = join(folder, "data");
  const { url, program } = await startServerProcess(dataDir);
  await program.end();
  await using agent = await startAgentProcess(join(folder, "web-1"), url);
  await using server = await startServerProcess(dataDir, Number(new URL(url).port));
  await eventually("the agent is known", async () => {
    const { items } = await server.client.agents.list({ status: "pending" });
    return items.some(({ node_id }) => node_id === agent.nodeId);
  });
  expect(await agent.program.end()).toBe(0);
});

/** Begins an apply and waits until its script runs. */
async function beginSlowApply({ client }: ServerProcess, { nodeId, root }: AgentProcess): Promise<string> {
  await client.modules.upload({ content: module });
  const { operation_id } = await client.state.apply(nodeId, { modules: ["slow"], wait_seconds: 0 });
  await eventually("the script runs", () => existsSync(join(root, "runs")));
  return operation_id;
}
