/** A process that was killed at any moment starts again on a disk that is full by then, and reads what was answered. */
import { expect, test } from "vitest";
import { isOrchestratorError } from "../../lib/errors.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { change, schema } from "../support/file-storages.ts";
import { seededRandom } from "../support/random.ts";
import { VolatileDisk } from "../support/volatile-disk.ts";

const sizes = { segmentBytes: 2_048, minJournalBytes: 4_096, logSegmentBytes: 1_024 };

async function openOn(disk: VolatileDisk): Promise<FileStorage> {
  const storage = new FileStorage({ folder: "/data", clock: new FakeClock(), disk, ...sizes });
  await storage.open(schema);
  return storage;
}

/** Commits and blobs, until the process dies. Notes the last change that was answered. */
async function liveOn(disk: VolatileDisk): Promise<{ answered: number }> {
  const life = { answered: 0 };
  const work = async (): Promise<void> => {
    const storage = await openOn(disk);
    for (let n = 1; n <= 60; n++) {
      const committed = storage
        .commit(change("a", n, "x".repeat(150)))
        .then(() => (life.answered = n), ignoreFull);
      await storage.appendBlob("b", Buffer.from(`${n} `)).catch(ignoreFull);
      await committed;
    }
  };
  await Promise.race([work(), disk.lost]);
  return life;
}

function ignoreFull(error: unknown): void {
  if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
}

test.each([0, 0.3])(
  "killed after any change to its disk (share of writes without space: %f), a process starts again on a full one",
  async (share) => {
    const random = seededRandom(17);
    for (let changes = 1; changes < 300; changes += 2) {
      const disk = new VolatileDisk(random, Infinity);
      await (await openOn(disk)).close();
      const dying = disk.afterKill(changes);
      dying.trouble = { full: share };
      const { answered } = await liveOn(dying);

      const full = dying.afterKill(Infinity);
      full.trouble = { full: 1 };
      const storage = await openOn(full);
      expect(Number((await storage.get("agents", "a"))?.value["n"] ?? 0)).toBeGreaterThanOrEqual(answered);
      for (const refused of [
        () => storage.commit(change("a", 98)),
        () => storage.appendBlob("b", new Uint8Array(9)),
        () => storage.check(),
      ])
        await expect(refused()).rejects.toMatchObject({ code: "STORAGE_FULL" });

      full.trouble = {};
      await storage.commit(change("a", 99));
      await storage.appendBlob("b", Buffer.from("end"));
      const blob = Buffer.from((await storage.readBlob("b")) ?? []).toString();
      // What was believed for lack of space was made certain before anything was built on it.
      const last = await openOn(full.afterPowerLoss(Infinity));
      expect((await last.get("agents", "a"))?.value["n"]).toBe(99);
      expect(Buffer.from((await last.readBlob("b")) ?? []).toString()).toBe(blob);
      await last.close();
    }
  },
  120_000,
);
