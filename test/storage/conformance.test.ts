import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { storageConformance, type CreateStorage } from "../../lib/testing/storage-conformance.ts";
import { LimitedDisk } from "../support/limited-disk.ts";

const createMemory: CreateStorage = async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const again = () => new MemoryStorage({ clock, data });
  const setFull = (full: boolean): void => void (data.freeBytes = full ? 0 : Infinity);
  return { storage: again(), clock, again, setFull, dispose: async () => {} };
};

const createFile: CreateStorage = async () => {
  const clock = new FakeClock();
  const folder = await mkdtemp(join(tmpdir(), "fleetwright-storage-"));
  const disk = new LimitedDisk();
  // Small segments: the cases then cross their borders.
  const sizes = { segmentBytes: 64 * 1_024, minJournalBytes: 128 * 1_024, logSegmentBytes: 4_096 };
  const again = () => new FileStorage({ folder, clock, disk, ...sizes });
  return {
    storage: again(),
    clock,
    again,
    setFull: (full) => void (disk.freeBytes = full ? 0 : Infinity),
    async crash() {
      const copy = join(folder, `crash-${randomUUID()}`);
      const names = (await readdir(folder)).filter((name) => name !== "lock" && !name.startsWith("crash-"));
      for (const name of names) await cp(join(folder, name), join(copy, name), { recursive: true });
      return new FileStorage({ folder: copy, clock, ...sizes });
    },
    dispose: () => rm(folder, { recursive: true }),
  };
};

describe("the memory storage", () => {
  for (const { name, promise, needs, run } of storageConformance(createMemory)) {
    // It does not outlive its process, and is for one.
    test.skipIf(needs === "crash" || needs === "shared")(`${promise}. ${name}`, run);
  }
});

describe("the file storage", () => {
  for (const { name, promise, needs, run } of storageConformance(createFile)) {
    // It is for one process.
    test.skipIf(needs === "shared")(`${promise}. ${name}`, run);
  }
});
