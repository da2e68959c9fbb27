import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { type Disk, nodeDisk } from "../../../lib/storage/file/disk.ts";
import { change, openStorage } from "../../support/file-storages.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const entries = 2_100;
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** A disk that counts how often a file of the log is opened to be read. */
function countingDisk(): { disk: Disk; reads: () => number } {
  let reads = 0;
  const disk: Disk = {
    ...nodeDisk,
    open(path, mode) {
      if (mode === "read" && path.includes(join("logs", "audit"))) reads += 1;
      return nodeDisk.open(path, mode);
    },
  };
  return { disk, reads: () => reads };
}

it("a page of many entries is read in few pieces, in both directions, and one of a single entry in one", async () => {
  const { disk, reads } = countingDisk();
  const storage = await openStorage({ folder: temporaryFolder(), disk });
  await storage.commit(range(1, entries).flatMap((n) => change("web", n)));
  const sequences = async (query: object): Promise<number[]> =>
    (await storage.readLog("audit", query)).entries.map(({ sequence }) => sequence);

  // They are put into files behind the commit.
  await vi.waitFor(async () => {
    await sequences({ from: 1_101, limit: 1 });
    expect(reads()).toBeGreaterThan(0);
  });
  const begun = reads();

  const all = { from: 101, to: 1_100, limit: 1_000 };
  expect(await sequences(all)).toEqual(range(101, 1_100));
  const forwards = reads();
  expect(forwards - begun).toBeLessThan(10);
  expect(await sequences({ ...all, reverse: true })).toEqual(range(101, 1_100).reverse());
  expect(reads() - forwards).toBeLessThan(10);

  const before = reads();
  expect(await sequences({ from: 300, limit: 1 })).toEqual([300]);
  expect(await sequences({ to: 300, limit: 1, reverse: true })).toEqual([300]);
  expect(reads() - before).toBe(2);
  expect(await storage.readLog("audit", { to: 0 })).toMatchObject({
    entries: [],
    head: { sequence: entries },
  });
  expect(reads() - before).toBe(2);
});
