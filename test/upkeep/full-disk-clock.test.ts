/**
 * The reserve of a full disk is there for those who make space.
 *
 * Symptom: after nine days on a full disk nobody could sign in, and nothing old was removed any more. Cause: each round of retention wrote
 * down what time it is with the reserve, several times an hour.
 */
import { expect, it } from "vitest";
import { FileStorage, isOrchestratorError } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { RetentionClock, retentionClockCollections } from "../../lib/upkeep/retention-clock.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const hour = 3_600_000;
const day = 24 * hour;

async function onFullDisk() {
  const [disk, clock, logger] = [new LimitedDisk(), new FakeClock(), new RecordingLogger()];
  // As large a reserve as there is.
  const storage = new FileStorage({
    folder: temporaryFolder(),
    disk,
    clock,
    logger,
    segmentBytes: 1_048_576,
    minJournalBytes: 1_048_576,
  });
  await storage.open({
    version: 1,
    collections: { ...retentionClockCollections, things: { indexes: {} } },
    logs: {},
  });
  const time = new RetentionClock({ storage, clock, logger });
  await time.now();
  disk.freeBytes = 0;
  try {
    for (let n = 0; ; n += 1)
      await storage.commit([
        { kind: "put", collection: "things", key: "a", value: { n, text: "x".repeat(4_096) } },
      ]);
  } catch (error) {
    if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
  }
  const signIn = (): Promise<unknown> =>
    storage.commit([{ kind: "put", collection: "things", key: "session", value: { at: clock.now() } }], {
      reserve: true,
    });
  return { storage, clock, time, logger, signIn, disk };
}

it("four months of rounds on a full disk leave room to sign in, and follow the time", async () => {
  const { storage, clock, time, signIn } = await onFullDisk();
  for (let round = 0; round < 120 * 24; round += 1) {
    await clock.advance(hour);
    expect(await time.now()).toBe(clock.now());
  }
  await signIn();
  await storage.close();
});

it("what was believed on a full disk is known to a process that starts within hours", async () => {
  const { storage, clock, time, logger } = await onFullDisk();
  for (let round = 0; round < 48; round += 1) {
    await clock.advance(hour);
    await time.now();
  }
  const written = (await storage.get("retention_clock", "now"))!.value as { believed_ms: number };
  expect(clock.now() - written.believed_ms).toBeLessThanOrEqual(6 * hour);
  const restarted = new RetentionClock({ storage, clock, logger });
  expect(await restarted.now()).toBe(clock.now());
  expect(restarted.isHeld).toBe(false);
  await storage.close();
});

it("a clock that jumps on a full disk is not believed, also after a restart", async () => {
  const { storage, clock, time, logger } = await onFullDisk();
  const before = clock.now();
  clock.jump(400 * day);
  expect(await time.now()).toBeLessThanOrEqual(before + hour);
  const restarted = new RetentionClock({ storage, clock, logger });
  expect(await restarted.now()).toBeLessThanOrEqual(before + hour);
  await storage.close();
});

it("is written down often again once there is space", async () => {
  const { storage, clock, time, disk } = await onFullDisk();
  await clock.advance(hour);
  await time.now();
  disk.freeBytes = Infinity;
  await clock.advance(hour);
  await time.now();
  expect((await storage.get("retention_clock", "now"))!.value).toMatchObject({ believed_ms: clock.now() });
  await storage.close();
});
