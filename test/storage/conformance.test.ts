import { describe, test } from "vitest";
import { createMemoryStorage, MemoryData } from "../../lib/storage/memory-storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { storageConformance, type CreateStorage } from "../../lib/testing/storage-conformance.ts";

const createMemory: CreateStorage = async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const again = () => createMemoryStorage({ clock, data });
  const setFull = (full: boolean): void => void (data.freeBytes = full ? 0 : Infinity);
  return { storage: again(), clock, again, setFull, dispose: async () => {} };
};

describe("the memory storage", () => {
  for (const { name, promise, run } of storageConformance(createMemory)) test(`${promise}. ${name}`, run);
});
