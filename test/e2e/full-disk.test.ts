/** A real server on a real disk that is full: it is killed there, starts again, and goes on when there is space. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Client } from "fleetwright/client";
import { fill, mountSmallDisk, reasonNotToMount } from "../support/mounts.ts";
import { startServerProcess } from "../support/processes.ts";

const reason = reasonNotToMount();
if (reason !== null) console.info(`The tests of a server on a full disk are skipped: ${reason}`);

const moduleText = (name: string): string =>
  `name: ${name}\nparams:\n  text: { type: string, default: "" }\nresources: []\n`;

/** Makes changes until none goes in any more, and returns how many were answered. */
async function changeUntilFull(client: Client): Promise<number> {
  let answered = 0;
  for (const chars of [20_000, 0]) {
    const outcome = await (async () => {
      for (;;) {
        const params = { text: "x".repeat(chars) };
        await client.assignments.create({ name: `a${answered}`, selector: "*", modules: ["first"], params });
        answered += 1;
      }
    })().catch((error: unknown) => error);
    expect(outcome).toMatchObject({ code: "STORAGE_FULL", status: 503 });
  }
  return answered;
}

test.skipIf(reason !== null)(
  "a server that was killed on a full disk starts, reads, refuses changes, and writes again when there is space",
  { timeout: 120_000 },
  async () => {
    const mount = mountSmallDisk("24m");
    const dataDir = join(mount, "data");
    const ballast = join(mount, "ballast");
    let answered: number;
    {
      await using server = await startServerProcess(dataDir);
      await server.client.modules.upload({ content: moduleText("first") });
      fill(ballast);
      answered = await changeUntilFull(server.client);
      expect(answered).toBeGreaterThan(50);
      await server.program.end("SIGKILL");
    }
    // What the killed process left is all that there is.
    fill(ballast);
    await using server = await startServerProcess(dataDir);
    const { client, url } = server;
    const upload = (name: string) => client.modules.upload({ content: moduleText(name) });
    const storage = async () => {
      const { status, checks } = await client.status.get();
      return [status, checks?.find(({ name }) => name === "storage")?.status];
    };
    // Without a change that was refused before: the first look tells.
    expect(await storage()).toEqual(["degraded", "failed"]);
    expect((await client.assignments.get(`a${answered - 1}`)).name).toBe(`a${answered - 1}`);
    await expect(upload("second")).rejects.toMatchObject({ code: "STORAGE_FULL" });
    await expect(client.assignments.remove("a0")).rejects.toMatchObject({ code: "STORAGE_FULL" });
    expect((await fetch(`${url}/readyz`)).status).toBe(200);

    rmSync(ballast);
    await expect.poll(storage, { timeout: 30_000 }).toEqual(["ok", "ok"]);
    await upload("second");
    await client.assignments.remove("a0");
    await server.program.end("SIGKILL");
    await using again = await startServerProcess(dataDir);
    expect((await again.client.modules.get("second")).name).toBe("second");
    await expect(again.client.assignments.get("a0")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await again.client.assignments.get("a1")).name).toBe("a1");
    expect(await again.client.audit.verify()).toMatchObject({ valid: true });
  },
);
