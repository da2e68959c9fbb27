/** What the status of a real server says while something is really wrong, and that it stops when that is over. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Client } from "fleetwright/client";
import { fill, mountSmallDisk, reasonNotToMount } from "../support/mounts.ts";
import { startFleetMember, startServerProcess } from "../support/processes.ts";
import { SetClock } from "../support/set-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const reason = reasonNotToMount();
if (reason !== null) console.info(`The test of an agent on a full disk is skipped: ${reason}`);

async function checkOf(client: Client, name: string): Promise<object> {
  const { status, checks } = await client.status.get();
  const check = checks?.find((one) => one.name === name);
  // Every check that fails makes the whole degraded, and nothing else does.
  expect(status).toBe(checks?.every((one) => one.status === "ok") === true ? "ok" : "degraded");
  return check ?? {};
}

test.skipIf(reason !== null)(
  "an agent whose disk is full refuses every command: the status names it until it takes one",
  { timeout: 180_000 },
  async () => {
    const folder = mountSmallDisk("2m");
    mkdirSync(join(folder, "agent"));
    await using server = await startServerProcess(join(temporaryFolder(), "data"));
    const { client, url } = server;
    await using agent = await startFleetMember(join(folder, "agent"), server);
    await client.modules.upload({
      content: "name: motd\nresources: [{ type: file, path: /motd, content: hi }]\n",
    });
    const plan = () => client.state.plan(agent.nodeId, { modules: ["motd"] });
    expect((await plan()).status).toBe("succeeded");
    expect(await checkOf(client, "agents")).toEqual({ name: "agents", status: "ok" });

    fill(join(folder, "ballast"));
    // A page that the journal has already takes what fits into the rest of it.
    let first = await plan();
    for (let n = 0; n < 20 && first.status === "succeeded"; n++) first = await plan();
    const refused = [first, await plan(), await plan()];
    expect(refused.map(({ status }) => status)).toEqual(["failed", "failed", "failed"]);
    const code = refused[2]?.error?.code ?? "";
    expect(await checkOf(client, "agents")).toEqual({
      name: "agents",
      status: "failed",
      detail: `Refuse every command: ${agent.nodeId} (${code}).`,
    });
    expect((await fetch(`${url}/readyz`)).status).toBe(200);

    rmSync(join(folder, "ballast"));
    expect((await plan()).status).toBe("succeeded");
    expect(await checkOf(client, "agents")).toEqual({ name: "agents", status: "ok" });
  },
);

test("a clock that was set is told until it is right again", { timeout: 120_000 }, async () => {
  const folder = temporaryFolder();
  const clock = new SetClock(join(folder, "clock"));
  await using server = await startServerProcess(join(folder, "data"), 0, clock.environment);
  const { client, url } = server;
  expect(await checkOf(client, "clock")).toEqual({ name: "clock", status: "ok" });
  for (const [seconds, how] of [
    [7_200, "ahead by 7200 seconds"],
    [-7_200, "back by 7200 seconds"],
  ] as const) {
    clock.set(seconds);
    expect(await checkOf(client, "clock")).toMatchObject({
      status: "failed",
      detail: expect.stringContaining(how),
    });
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    clock.set(0);
    expect(await checkOf(client, "clock")).toEqual({ name: "clock", status: "ok" });
  }
});
