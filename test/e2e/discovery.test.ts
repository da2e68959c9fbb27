/** A real server and a real agent that were told nothing of each other, on a network of their own. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Discovered } from "fleetwright";
import { joinTwoMachines, reasonNoNetwork } from "../support/network-namespaces.ts";
import { eventually, Program } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const reason = reasonNoNetwork();
if (reason !== null) console.warn(`No network can be made here, so discovery is not tried on one: ${reason}`);

test.skipIf(reason !== null)(
  "an agent that waits to be discovered is found, connects, and comes back by itself after a restart",
  { timeout: 120_000 },
  async () => {
    const [here, there] = joinTwoMachines();
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    const serve = ["serve", "--host", "0.0.0.0", "--allow-insecure", "--port", "4748", "--data-dir", dataDir];
    await using server = new Program([...serve, "--log-level", "warn"], {}, here.within);
    await server.says(/^Next .*\n/m);
    const environment = { HOME: join(folder, "home"), FLEETWRIGHT_URL: "http://127.0.0.1:4748" };
    const run = async (...args: string[]): Promise<string> => {
      await using program = new Program([...args], environment, here.within);
      if ((await program.exited()) !== 0) throw new Error(`${args.join(" ")}: ${program.stderr}`);
      return program.stdout;
    };
    const agents = async () =>
      (
        JSON.parse(await run("agents", "list", "--json")) as {
          items: { node_id: string; connected: boolean }[];
        }
      ).items;
    await run("login", "--key", join(dataDir, "admin-key"));

    const root = join(folder, "root");
    mkdirSync(root);
    const places = ["--root", root, "--state-dir", join(folder, "state")];
    const start = (): Program => new Program(["agent", "--discover", ...places], {}, there.within);
    await using agent = start();
    const [, nodeId = ""] = await agent.says(/^Node +(\w+)\n/m);
    expect(await agents()).toEqual([]);

    // A system without IPv6 gives the interface no address of the link, and nothing is sent from it.
    const groups = (await here.hasIPv6()) ? [`ff02::1%${here.interface}`] : [];
    const found = JSON.parse(await run("discover", "--json")) as Discovered;
    expect(found.sent_to).toEqual(expect.arrayContaining(["10.77.0.255", ...groups]));
    if (groups.length === 0) console.warn("This system has no IPv6, so discovery is tried over IPv4 alone.");
    expect(found.responses).toMatchObject([{ node_id: nodeId, agent_version: expect.any(String) }]);
    await eventually("it waits to be approved", async () => (await agents())[0]?.connected === true);
    expect(await agents()).toMatchObject([{ node_id: nodeId, status: "pending" }]);

    await agent.end("SIGKILL");
    await eventually("it is away", async () => (await agents())[0]?.connected === false);
    await using again = start();
    await again.says(/^Node/m);
    await eventually("it is back without being called", async () => (await agents())[0]?.connected === true);
  },
);
