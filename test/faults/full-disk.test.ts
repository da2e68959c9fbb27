/** A real file system of 6 MiB that runs full. Needs the right to mount one; elsewhere it is skipped with the reason. */
import { spawnSync } from "node:child_process";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { isOrchestratorError } from "../../lib/errors.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sizes = { segmentBytes: 256 * 1_024, minJournalBytes: 512 * 1_024, logSegmentBytes: 64 * 1_024 };
const pad = "x".repeat(3_000);

test("a full disk refuses commits whole, reads go on, and writing goes on when there is space", async ({
  skip,
}) => {
  const folder = temporaryFolder();
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs", folder], {
    encoding: "utf8",
  });
  const refusal = mounted.error ? String(mounted.error) : mounted.stderr.trim();
  if (mounted.status !== 0) console.log(`Skipped: a tmpfs can't be mounted here (${refusal}).`);
  if (mounted.status !== 0) skip(refusal);
  onTestFinished(() => void spawnSync("umount", [folder]));
  const data = join(folder, "data");
  const storage = await openStorage({ folder: data, ...sizes });
  const acknowledged = new Map<string, number>();
  const blob: string[] = [];
  let refusals = 0;
  let n = 0;

  const write = async (): Promise<boolean> => {
    n++;
    const key = `k${n}`;
    try {
      await storage.commit(change(key, n, pad));
      acknowledged.set(key, n);
      await storage.appendBlob("blob", Buffer.from(`[${n}]`));
      blob.push(`[${n}]`);
      return true;
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
      refusals++;
      return false;
    }
  };

  const ballast = join(folder, "ballast");
  for (let round = 0; round < 3; round++) {
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(ballast, Buffer.alloc(Math.max(0, (bavail - 24) * bsize)));
    while (await write());
    for (let tries = 0; tries < 20; tries++) await write();
    const { items } = await storage.list("agents", { limit: 1_000 });
    expect(items.map((item) => item.value["n"]).sort()).toEqual([...acknowledged.values()].sort());
    rmSync(ballast);
    for (let more = 0; more < 50; more++) expect(await write()).toBe(true);
  }
  expect(refusals).toBeGreaterThan(20);
  await storage.close();

  const again = await openStorage({ folder: data, ...sizes });
  const { items } = await again.list("agents", { limit: 1_000 });
  expect(new Map(items.map((item) => [item.key, item.value["n"]]))).toEqual(
    new Map([...acknowledged].sort()),
  );
  expect((await again.readLog("audit", { limit: 1_000 })).entries.map((entry) => entry.value["n"])).toEqual([
    ...acknowledged.values(),
  ]);
  expect(Buffer.from((await again.readBlob("blob")) ?? []).toString()).toBe(blob.join(""));
  await again.close();
});
