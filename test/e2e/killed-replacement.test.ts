import { join } from "node:path";
import { expect, it } from "vitest";
import type { Agent } from "fleetwright";
import { createClient, type Client } from "fleetwright/client";
import { readSigner } from "fleetwright/client/node";
import {
  eventually,
  startAgentProcess,
  startServerProcess,
  type ServerProcess,
} from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const rounds = 10;

it("an agent takes the place of another, and gives it back, all of it or nothing, whenever the server is killed", async () => {
  const dataDir = join(temporaryFolder(), "data");
  let server: ServerProcess = await startServerProcess(dataDir);
  const { port, origin: url } = new URL(server.url);
  const signer = readSigner(join(dataDir, "admin-key"));
  const ids: string[] = [];
  for (let each = 0; each < 2; each += 1) {
    await using agent = await startAgentProcess(temporaryFolder(), server.url);
    ids.push(agent.nodeId);
    await eventually("the agent is known", async () =>
      (await server.client.agents.list()).items.some(({ node_id }) => node_id === agent.nodeId),
    );
  }
  const [first, second] = ids as [string, string];
  for (const [id, name, role] of [
    [first, "web-1", "web"],
    [second, "db-7", "db"],
  ] as const) {
    await server.client.agents.setStatus(id, { status: "approved", name });
    await server.client.tags.replace(id, { tags: { role } });
  }
  await eventually("both are away", async () =>
    (await server.client.agents.list()).items.every(({ connected }) => !connected),
  );

  let inPlace = first;
  for (let round = 0; round < rounds; round += 1) {
    const client: Client = createClient({ url, signer, retry: { attempts: 1 } });
    const { status } = await client.agents.get(second);
    // Whoever was there by mistake is let in again by somebody.
    if (status === "rejected") await client.agents.setStatus(second, { status: "approved" });
    const answered = client.agents
      .replace(inPlace, { by: inPlace === first ? second : first, force: true })
      .then(
        () => true,
        () => false,
      );
    // Right behind the answer, and somewhere before it.
    if (round % 2 === 1) await answered;
    else await new Promise((resolve) => setTimeout(resolve, (round * 7) % 12));
    await server.program.end("SIGKILL");
    const isAnswered = await answered;
    server = await startServerProcess(dataDir, Number(port));
    const { items } = await server.client.agents.list();
    const before = inPlace;
    inPlace = items.find(({ name }) => name === "web-1")?.node_id ?? "";
    const wanted = inPlace === first ? whereFirst : whereSecond;
    expect(
      Object.fromEntries(items.map((each) => [each.node_id === first ? "first" : "second", factsOf(each)])),
    ).toEqual(wanted(second, before === second));
    if (isAnswered) expect(inPlace).not.toBe(before);
    else expect(round % 2).toBe(0);
  }
  expect(await server.client.audit.verify()).toMatchObject({ valid: true });
  await server.program.end();
});

const factsOf = ({ name, status, tags, replaced_by }: Agent) => ({ name, status, tags, replaced_by });

/** The first is in its place; the other waits for an approval where it has just given the place back. */
function whereFirst(_second: string, isBack: boolean): object {
  return {
    first: { name: "web-1", status: "approved", tags: { role: "web" }, replaced_by: undefined },
    second: {
      name: "db-7",
      status: isBack ? "rejected" : "approved",
      tags: { role: "db" },
      replaced_by: undefined,
    },
  };
}

function whereSecond(second: string): object {
  return {
    first: { name: undefined, status: "rejected", tags: {}, replaced_by: second },
    second: { name: "web-1", status: "approved", tags: { role: "web" }, replaced_by: undefined },
  };
}
