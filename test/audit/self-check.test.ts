/** Whether the audit log was changed is looked at by itself: what is new every hour, all of it every week. */
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { FileStorage, isOrchestratorError, systemCaller } from "fleetwright";
import type { FileStorageOptions } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { AuditCheck } from "../../lib/audit/check-record.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { itemsOf } from "../support/all-pages.ts";
import { editEvent } from "../support/audit-files.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { copyAsKilled } from "../support/live-folder.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sizes = { segmentBytes: 65_536, minJournalBytes: 65_536, logSegmentBytes: 16_384 };
const hourMs = 3_600_000;
const weekMs = 7 * 24 * hourMs;
/** Events of one commit. */
const atOnce = 500;

/** A life of a server over a folder; `clock` of it is the one that is given. */
async function live(folder: string, clock: FakeClock, options: Partial<FileStorageOptions> = {}) {
  const storage = new FileStorage({ folder, clock, ...sizes, ...options });
  return Object.assign(await createTestOrchestrator({ storage, clock }), { clock });
}

const newFolder = (): string => join(temporaryFolder(), "data");

/** Adds events as they are stored. */
async function add({ storage, clock }: TestOrchestrator, count: number): Promise<void> {
  for (let left = count; left > 0; left -= atOnce) {
    const value = { event_type: "audit.retentionChanged", summary: "Kept for 5 days" };
    const append = { kind: "append", log: "audit", at: clock.now(), value } as const;
    await storage.commit(Array.from({ length: Math.min(left, atOnce) }, () => append));
  }
}

async function checkOf({ storage }: TestOrchestrator): Promise<AuditCheck | undefined> {
  return (await storage.get<AuditCheck>("settings", "audit_check"))?.value;
}

/** Lets the check go on until something of it holds: an hour passes whenever none is under way, and while one reads no more than its lease allows. */
async function checked(
  test: TestOrchestrator,
  holds: (check: AuditCheck | undefined) => boolean,
  timeoutMs = 30_000,
): Promise<AuditCheck> {
  return vi.waitFor(
    async () => {
      const check = await checkOf(test);
      if (holds(check)) return check!;
      const idle = await test.storage.lease("audit_check", 1);
      await idle?.release();
      if (idle) test.clock.leap(hourMs);
      await test.clock.advance(100);
      throw new Error(`Not yet: ${JSON.stringify(check)}`);
    },
    { timeout: timeoutMs, interval: 1 },
  );
}

/** Waits until what is new was verified. */
async function caughtUp(test: TestOrchestrator): Promise<void> {
  const { head } = await test.storage.readLog("audit", { limit: 1 });
  await checked(test, (check) => (check?.verified.sequence ?? 0) >= head.sequence);
}

/** Lets a week pass, and waits for the end of the pass that is due then. */
async function passed(test: TestOrchestrator): Promise<AuditCheck> {
  const before = (await checkOf(test))?.passed_at ?? 0;
  test.clock.leap(weekMs);
  return checked(test, (check) => check?.pass === null && check.passed_at > before);
}

async function told({ orchestrator }: TestOrchestrator): Promise<unknown[]> {
  const asked = { event_type: "audit.invalid", order: "asc" } as const;
  const events = await itemsOf((page) => orchestrator.audit.list(systemCaller, { ...asked, ...page }));
  return events.map(({ metadata }) => metadata["first_bad_sequence"]);
}

describe("the self check of the audit log", () => {
  it("finds an old event that was changed after it was verified, with the weekly pass, and tells it once", async () => {
    const [folder, clock] = [newFolder(), new FakeClock()];
    {
      await using test = await live(folder, clock);
      await add(test, 900);
      await caughtUp(test);
    }
    editEvent(folder, 300);
    {
      await using test = await live(folder, clock);
      await add(test, 10);
      await caughtUp(test);
      // It is old: what is new fits.
      expect(await told(test)).toEqual([]);
      expect(await passed(test)).toMatchObject({ bad: 300 });
      expect(await told(test)).toEqual([300]);
      expect(test.events).toContainEqual(
        expect.objectContaining({ event_type: "audit.invalid", severity: "critical" }),
      );
    }
    await using test = await live(folder, clock);
    await passed(test);
    await test.orchestrator.audit.verify(systemCaller);
    expect(await told(test)).toEqual([300]);
  });

  it("finds a new event that was changed with the next look, and tells it once over restarts", async () => {
    const [folder, clock] = [newFolder(), new FakeClock()];
    {
      await using test = await live(folder, clock);
      await add(test, 100);
      await caughtUp(test);
      await add(test, 700);
    }
    editEvent(folder, 350);
    for (let life = 0; life < 3; life += 1) {
      await using test = await live(folder, clock);
      await checked(test, (check) => check?.new_bad === 350);
      await clock.advance(3 * hourMs);
      // Whoever asks is told nothing new.
      expect(await test.orchestrator.audit.verify(systemCaller)).toMatchObject({ first_bad_sequence: 350 });
      expect(await told(test)).toEqual([350]);
    }
  });

  it("reads what is new, and no more", async () => {
    const [folder, clock] = [newFolder(), new FakeClock()];
    await using test = await live(folder, clock);
    await add(test, 900);
    await caughtUp(test);
    const readLog = vi.spyOn(test.storage, "readLog");
    await add(test, 10);
    await caughtUp(test);
    const places = readLog.mock.calls
      .filter(([log, query]) => log === "audit" && query?.limit === 200)
      .map(([, query]) => query?.from);
    expect(places).toEqual([901]);
  });

  it("tells another first event, and the same again where all fitted in between", async () => {
    const [folder, clock] = [newFolder(), new FakeClock()];
    {
      await using test = await live(folder, clock);
      await add(test, 900);
      await caughtUp(test);
    }
    const lifeAfterChange = async (change: () => void, expected: number[]): Promise<void> => {
      change();
      await using test = await live(folder, clock);
      await passed(test);
      expect(await told(test)).toEqual(expected);
    };
    const change = (sequence: number) => () => editEvent(folder, sequence);
    await lifeAfterChange(change(400), [400]);
    await lifeAfterChange(change(200), [400, 200]);
    // The summary the other way round, and round again.
    await lifeAfterChange(change(200), [400, 200, 400]);
    await lifeAfterChange(change(400), [400, 200, 400]);
    await lifeAfterChange(change(400), [400, 200, 400, 400]);
  });

  it("notices that another event is in the place that it had verified", async () => {
    await using test = await createTestOrchestrator();
    await add(test, 50);
    await caughtUp(test);
    const { value } = (await test.storage.get<AuditCheck>("settings", "audit_check"))!;
    const verified = { sequence: 50, hash: "ab".repeat(32) };
    const put = { kind: "put", collection: "settings", key: "audit_check" } as const;
    await test.storage.commit([{ ...put, value: { ...value, verified, pass: null } }]);
    await add(test, 5);
    await checked(test, (check) => check?.new_bad === 50);
    expect(await test.orchestrator.audit.verify(systemCaller)).toMatchObject({ first_bad_sequence: 50 });
    expect(await told(test)).toEqual([50]);
  });

  it("goes on behind what is pruned, also in the middle of a look, and raises no alarm", async () => {
    const [folder, clock] = [newFolder(), new FakeClock()];
    await using test = await live(folder, clock);
    await add(test, 500);
    await caughtUp(test);
    await add(test, 500);
    await clock.advance(1_000);
    const before = new Date(clock.now()).toISOString();
    await add(test, 100);
    const readLog = test.storage.readLog.bind(test.storage);
    let pruned = 0;
    test.storage.readLog = async (log, query) => {
      if (query?.limit === 200) {
        test.storage.readLog = readLog;
        ({ deleted: pruned } = await test.orchestrator.audit.prune(systemCaller, { before }));
      }
      return readLog(log, query);
    };
    await caughtUp(test);
    expect(pruned).toBe(1_000);
    await passed(test);
    expect(await told(test)).toEqual([]);
    expect(await test.orchestrator.audit.verify(systemCaller)).toMatchObject({ valid: true });
  });

  it.each([
    ["of no event", () => "0".repeat(64)],
    ["of the event that it names", (hash: string) => hash],
  ])("tells an anchor with the hash %s that the orchestrator did not sign", async (_, hashOf) => {
    await using test = await createTestOrchestrator();
    await add(test, 50);
    await caughtUp(test);
    const { entries } = await test.storage.readLog("audit", { from: 3, limit: 1 });
    const value = { sequence: 3, hash: hashOf(entries[0]!.hash!), signature: "00".repeat(64) };
    await test.storage.commit([{ kind: "put", collection: "settings", key: "audit_anchor", value }]);
    await checked(test, (check) => check?.new_bad === 1);
    await test.orchestrator.audit.verify(systemCaller);
    expect(await told(test)).toEqual([1]);
  });

  it("notes where it is while the log grows, and goes on there after a process that was killed", async () => {
    const [folder, clock] = [newFolder(), new FakeClock()];
    const killed = newFolder();
    {
      await using test = await live(folder, clock);
      await add(test, 25_000);
      await caughtUp(test);
      const reading = vi.spyOn(test.storage, "readLog");
      clock.leap(weekMs);
      const readings = () => reading.mock.calls.filter(([, query]) => query?.from === 1001).length;
      await checked(test, () => readings() > 0);
      await add(test, 10);
      await checked(test, (check) => (check?.pass?.sequence ?? 0) >= 20_000);
      expect(readings()).toBe(1);
      copyAsKilled(folder, killed);
      await test.storage.close();
    }
    await using test = await live(killed, clock);
    const readLog = vi.spyOn(test.storage, "readLog");
    await checked(test, (check) => check?.pass === null);
    const places = readLog.mock.calls.flatMap(([log, query]) =>
      log === "audit" && query?.limit === 200 ? [query.from ?? 0] : [],
    );
    expect(Math.min(...places)).toBe(20_001);
    expect(await told(test)).toEqual([]);
  });

  it("does not mind a wall clock that jumps or stands still, and goes over all of it after a week of running", async () => {
    const [folder, clock] = [newFolder(), new FakeClock()];
    await using test = await live(folder, clock);
    await add(test, 300);
    await caughtUp(test);
    const { passed_at } = (await checkOf(test))!;
    for (const byMs of [520 * weekMs, -1_040 * weekMs, 520 * weekMs]) {
      clock.jump(byMs);
      await add(test, 10);
      await caughtUp(test);
    }
    expect((await checkOf(test))!.passed_at).toBe(passed_at);
    // The wall clock stands still.
    for (let hours = 0; hours < weekMs / hourMs; hours += 1) {
      clock.leap(hourMs);
      clock.jump(-hourMs);
      await clock.advance(0);
    }
    const check = await checked(test, (now) => now!.passed_at > passed_at);
    expect(check.passed_at - passed_at).toBeGreaterThanOrEqual(weekMs);
    expect(await told(test)).toEqual([]);
  });

  it("raises no alarm where its place can't be noted on a full disk, and tells one that there is", async () => {
    const [folder, clock, disk] = [newFolder(), new FakeClock(), new LimitedDisk()];
    {
      await using test = await live(folder, clock, { disk });
      await add(test, 400);
      await caughtUp(test);
      await add(test, 500);
      disk.freeBytes = 0;
      await fill(test);
      const refused = vi.spyOn(test.storage, "commit");
      clock.leap(hourMs);
      await vi.waitFor(async () => {
        await clock.advance(100);
        expect(refused.mock.calls.some(([writes]) => isNote(writes))).toBe(true);
      }, 30_000);
      await clock.advance(1_000);
      expect(await checkOf(test)).toMatchObject({ verified: { sequence: 400 } });
      expect(await told(test)).toEqual([]);
      disk.freeBytes = Infinity;
      // So many that those before are put into files.
      await add(test, 1_000);
    }
    editEvent(folder, 600);
    {
      await using test = await live(folder, clock, { disk });
      disk.freeBytes = 0;
      await fill(test);
      await checked(test, (check) => check?.new_bad === 600);
      expect(await told(test)).toEqual([600]);
      disk.freeBytes = Infinity;
    }
    editEvent(folder, 600);
    await using test = await live(folder, clock, { disk });
    expect(await checked(test, (check) => check!.verified.sequence >= 900)).toMatchObject({ new_bad: null });
    expect(await told(test)).toEqual([600]);
  });

  it.each([
    { looks: "with the weekly pass", caught: true },
    { looks: "with the look at what is new", caught: false },
  ])(
    "tells on a full disk what it finds far behind its last note, $looks",
    { timeout: 90_000 },
    async ({ caught }) => {
      const [folder, clock, disk] = [newFolder(), new FakeClock(), new LimitedDisk()];
      {
        await using test = await live(folder, clock, { disk });
        await add(test, 26_000);
        await caughtUp(test);
        // As where nothing was looked at yet.
        const forget = { kind: "delete", collection: "settings", key: "audit_check" } as const;
        if (!caught) await test.storage.commit([forget]);
      }
      editEvent(folder, 24_000);
      await using test = await live(folder, clock, { disk });
      if (caught) await caughtUp(test);
      disk.freeBytes = 0;
      await fill(test);
      if (caught) clock.leap(weekMs);
      const found = (check: AuditCheck | undefined) => (caught ? check?.bad : check?.new_bad) === 24_000;
      await checked(test, found, 30_000);
      expect(await told(test)).toEqual([24_000]);
      // Told once, and not again with each hour that nothing can be noted.
      await clock.advance(3 * hourMs);
      expect(await told(test)).toEqual([24_000]);
    },
  );

  it("reads nothing twice on a full disk, and notes where it is when there is space", async () => {
    const [folder, clock, disk] = [newFolder(), new FakeClock(), new LimitedDisk()];
    await using test = await live(folder, clock, { disk });
    await add(test, 400);
    await caughtUp(test);
    await add(test, 500);
    disk.freeBytes = 0;
    await fill(test);
    const readLog = vi.spyOn(test.storage, "readLog");
    const places = (): unknown[] =>
      readLog.mock.calls.flatMap(([log, query]) =>
        log === "audit" && query?.limit === 200 && query.from! <= 900 ? [query.from] : [],
      );
    clock.leap(hourMs);
    await vi.waitFor(async () => {
      await clock.advance(100);
      expect(places().length).toBeGreaterThanOrEqual(3);
    }, 30_000);
    await clock.advance(3 * hourMs);
    expect(places()).toEqual([...new Set(places())]);
    expect(await checkOf(test)).toMatchObject({ verified: { sequence: 400 } });
    disk.freeBytes = Infinity;
    // And notes of what comes after that, too.
    for (let times = 0; times < 2; times += 1) {
      await add(test, 10);
      await caughtUp(test);
    }
    expect(places()).toEqual([...new Set(places())]);
    expect(await told(test)).toEqual([]);
  });

  it("is left to the process that has the duty", async () => {
    await using test = await createTestOrchestrator();
    const others = await test.storage.lease("audit_check", hourMs);
    await add(test, 50);
    for (let moments = 0; moments < 50; moments += 1) await test.clock.advance(60_000);
    expect(await checkOf(test)).toBeUndefined();
    await others!.release();
    await caughtUp(test);
  });
});

/** Changes something until there is no space for it. */
async function fill({ orchestrator }: TestOrchestrator): Promise<void> {
  try {
    for (let days = 1; ; days = (days % 3_000) + 1)
      await orchestrator.audit.setRetention(systemCaller, { retention_days: 90 + (days % 9) });
  } catch (error) {
    if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
  }
}

function isNote(writes: readonly Write[]): boolean {
  return writes.some((write) => write.kind === "put" && write.key === "audit_check");
}
