/** A real server whose data goes away: under it, and while it is down. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { reasonNotToMount } from "../support/mounts.ts";
import { startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const reason = reasonNotToMount();
if (reason !== null) console.info(`The test of a data folder that is unmounted is skipped: ${reason}`);

const moduleText = (n: number): string => `name: m${n}\nresources: []\n`;

test(
  "a server whose data folder is removed answers no change any more and is not ready",
  { timeout: 120_000 },
  async () => {
    const dataDir = join(temporaryFolder(), "data");
    const server = await startServerProcess(dataDir);
    onTestFinished(() => server[Symbol.asyncDispose]());
    await server.client.modules.upload({ content: moduleText(1) });
    rmSync(dataDir, { recursive: true });
    await expect(server.client.modules.upload({ content: moduleText(2) })).rejects.toMatchObject({
      code: "STORAGE_FAILED",
    });
    const ready = async () => (await fetch(new URL("/readyz", server.url))).status;
    await expect.poll(ready, { timeout: 30_000 }).toBe(503);
    const status = await server.client.status.get();
    expect(JSON.stringify(status)).toContain("removed, replaced or unmounted");
  },
);

test.skipIf(reason !== null)(
  "a server whose data folder is unmounted notices within a second, and stops writing",
  { timeout: 120_000 },
  async () => {
    const dataDir = temporaryFolder();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", dataDir]);
    await using server = await startServerProcess(dataDir);
    await server.client.modules.upload({ content: moduleText(1) });
    const ready = async () => (await fetch(new URL("/readyz", server.url))).status;
    expect(await ready()).toBe(200);
    // The mount lives on for those who have files of it open, and is at no path any more.
    execFileSync("umount", ["-l", dataDir]);
    const unmountedAt = performance.now();
    await expect.poll(ready, { timeout: 30_000, interval: 20 }).toBe(503);
    expect(performance.now() - unmountedAt).toBeLessThan(1_000);
    expect((await (await fetch(new URL("/readyz", server.url))).json()) as object).toMatchObject({
      code: "STORAGE_FAILED",
    });
    await expect(server.client.modules.upload({ content: moduleText(2) })).rejects.toMatchObject({
      code: "STORAGE_FAILED",
    });
    const { status, checks } = await server.client.status.get();
    expect(status).toBe("degraded");
    expect(checks?.find(({ name }) => name === "storage")?.detail).toContain("unmounted");
    expect(readdirSync(dataDir)).toEqual([]);
    expect(await server.program.end("SIGTERM")).toBe(0);
  },
);

test(
  "a server that was killed and lost its newest changes refuses to start, and goes on without them when it is told to",
  { timeout: 120_000 },
  async () => {
    const dataDir = join(temporaryFolder(), "data");
    const server = await startServerProcess(dataDir);
    for (let n = 0; n < 5; n++) await server.client.modules.upload({ content: moduleText(n) });
    await server.program.end("SIGKILL");
    const journal = join(dataDir, readdirSync(dataDir).find((name) => name.startsWith("journal-")) ?? "");
    const content = readFileSync(journal);
    // From the record on that has the last module.
    content.fill(0, content.lastIndexOf("\n", content.indexOf('"m4"')) + 1);
    writeFileSync(journal, content);
    await expect(startServerProcess(dataDir)).rejects.toThrow(/were answered and are missing/);

    await using again = await startServerProcess(dataDir, 0, {}, ["--accept-loss"]);
    const { items } = await again.client.modules.list();
    expect(items.map(({ name }) => name)).toEqual(["m0", "m1", "m2", "m3"]);
    const told = (await again.client.audit.list({ limit: 50 })).items.filter(
      ({ event_type }) => event_type === "storage.lossAccepted",
    );
    expect(told.map(({ summary }) => summary)).toEqual([expect.stringContaining("answered and are missing")]);
    expect(await again.client.audit.verify()).toMatchObject({ valid: true });
    await again.client.modules.upload({ content: moduleText(5) });
    expect(await again.program.end("SIGTERM")).toBe(0);

    // Once is enough: from then on nothing is missing, and it is not told again.
    await using third = await startServerProcess(dataDir);
    expect((await third.client.modules.list()).items).toHaveLength(5);
    const tellings = (await third.client.audit.list({ limit: 50 })).items.filter(
      ({ event_type }) => event_type === "storage.lossAccepted",
    );
    expect(tellings).toHaveLength(1);
  },
);
