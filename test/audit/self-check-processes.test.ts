/** The self check of the audit log where processes die, stand still, or are several on one storage, and where events are removed meanwhile. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FileStorage, MemoryStorage, MemoryTransport, nodeCrypto, systemCaller } from "fleetwright";
import type { Storage } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { CheckRecord, type AuditCheck } from "../../lib/audit/check-record.ts";
import { SelfCheck } from "../../lib/audit/self-check.ts";
import { Context } from "../../lib/context.ts";
import { resolveOptions } from "../../lib/options.ts";
import { storageSchema } from "../../lib/storage-schema.ts";
import { editEvent } from "../support/audit-files.ts";
import { settle } from "../support/deferred.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const hourMs = 3_600_000;
const weekMs = 7 * 24 * hourMs;
/** Events of a page of the check, and of one commit here. */
const pageEvents = 200;
const atOnce = 500;
/** So small that events are soon in files of their own. */
const sizes = { segmentBytes: 65_536, minJournalBytes: 65_536, logSegmentBytes: 16_384 };

/** Adds events as they are stored. */
async function add(storage: Storage, count: number, at: number): Promise<void> {
  const value = { event_type: "audit.retentionChanged", summary: "Kept for 5 days" };
  const append = { kind: "append", log: "audit", at, value } as const;
  for (let left = count; left > 0; left -= atOnce)
    await storage.commit(Array.from({ length: Math.min(left, atOnce) }, () => append));
}

async function checkOf(storage: Storage): Promise<AuditCheck | undefined> {
  return (await storage.get<AuditCheck>("settings", "audit_check"))?.value;
}

/** The first sequences of the pages that the check reads from now on. */
function pagesOf(storage: Storage): () => number[] {
  const readLog = vi.spyOn(storage, "readLog");
  return () =>
    readLog.mock.calls.flatMap(([log, query]) =>
      log === "audit" && query?.limit === pageEvents ? [query.from ?? 0] : [],
    );
}

/** Lets an hour pass whenever no check is under way, until something of it holds. */
async function checked(
  { storage, clock }: Pick<TestOrchestrator, "storage" | "clock">,
  holds: (check: AuditCheck | undefined) => boolean,
): Promise<AuditCheck> {
  return vi.waitFor(
    async () => {
      const check = await checkOf(storage);
      if (holds(check)) return check!;
      const idle = await storage.lease("audit_check", 1);
      await idle?.release();
      if (idle) clock.leap(hourMs);
      await clock.advance(100);
      throw new Error(`Not yet: ${JSON.stringify(check)}`);
    },
    { timeout: 30_000, interval: 1 },
  );
}

async function toldBad({ orchestrator }: TestOrchestrator): Promise<unknown[]> {
  const { items } = await orchestrator.audit.list(systemCaller, { event_type: "audit.invalid" });
  return items.map(({ metadata }) => metadata["first_bad_sequence"]);
}

describe("kill -9 in the middle of a pass", () => {
  it(
    "has the next process go on where it was noted, and find what is behind that",
    { timeout: 90_000 },
    async () => {
      const folder = join(temporaryFolder(), "data");
      const clock = new FakeClock();
      {
        const storage = new FileStorage({ folder, clock, ...sizes });
        await using test = await createTestOrchestrator({ storage, clock });
        await add(storage, 60_000, clock.now());
        await checked({ storage, clock }, (check) => (check?.verified.sequence ?? 0) >= 60_000);
        await test.orchestrator.stop();
      }
      const program = fileURLToPath(new URL("../support/checking-process.ts", import.meta.url));
      const laterMs = clock.now() + weekMs;
      const child = spawn(process.execPath, ["--import", "tsx", program, folder, String(laterMs)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      const [said] = (await once(child.stdout, "data")) as [Buffer];
      const ended = once(child, "close");
      child.kill("SIGKILL");
      expect(await ended).toEqual([null, "SIGKILL"]);
      expect(String(said)).toBe("20000\n");

      editEvent(folder, 50_000);
      const later = new FakeClock(laterMs + weekMs);
      const storage = new FileStorage({ folder, clock: later, ...sizes });
      const pages = pagesOf(storage);
      await using test = await createTestOrchestrator({ storage, clock: later });
      const { sequence } = (await checkOf(storage))!.pass!;
      const { pass, bad } = await checked({ storage, clock: later }, (check) => check?.pass === null);
      expect(Math.min(...pages())).toBe(sequence + 1);
      expect([pass, bad, await toldBad(test)]).toEqual([null, 50_000, [50_000]]);
    },
  );
});

/** A process with a clock of its own, so that it can stand still: that is all that the others see of one that was killed. */
function createProcess(shared: Storage, signer: Context["identity"]) {
  const clock = new FakeClock();
  const pages: number[] = [];
  const storage = new Proxy(shared, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (name !== "readLog") return member.bind(target) as unknown;
      return (...[log, query]: Parameters<Storage["readLog"]>) => {
        if (query?.limit === pageEvents) pages.push(query.from ?? 0);
        return target.readLog(log, query);
      };
    },
  });
  const context = new Context(resolveOptions({ storage, clock, transport: new MemoryTransport() }));
  context.identity = signer;
  const end = new SelfCheck(context, new CheckRecord(context)).keep();
  return { clock, pages, end };
}

type Process = ReturnType<typeof createProcess>;

async function twoProcesses(events: number) {
  const shared = new FakeClock();
  const storage = new MemoryStorage({ clock: shared });
  await storage.open(storageSchema);
  await add(storage, events, shared.now());
  const signer = nodeCrypto.createSigner(new Uint8Array(32).fill(9));
  const [first, second] = [createProcess(storage, signer), createProcess(storage, signer)];
  /** Lets time pass for the storage and for those who live. */
  const pass = async (living: readonly Process[], steps: number, stepMs = 50): Promise<void> => {
    for (let step = 0; step < steps; step += 1) {
      shared.leap(stepMs);
      for (const { clock } of living) await clock.advance(stepMs);
      for (let turn = 0; turn < 5; turn += 1) await settle();
    }
  };
  const until = async (
    living: readonly Process[],
    holds: () => boolean | Promise<boolean>,
  ): Promise<void> => {
    for (let steps = 0; !(await holds()); steps += 1) {
      expect(steps).toBeLessThan(20_000);
      await pass(living, 1);
    }
  };
  return { storage, shared, first, second, pass, until };
}

/** The pages of a look at so many events, each once. */
const eachOnce = (events: number): number[] =>
  Array.from({ length: Math.ceil(events / pageEvents) }, (_, page) => page * pageEvents + 1);

describe("of two processes on one storage", () => {
  it("one checks, and reads each event once", async () => {
    const { storage, first, second, pass, until } = await twoProcesses(5_000);
    const both = [first, second];
    await until(both, async () => (await checkOf(storage))?.verified.sequence === 5_000);
    expect([...first.pages, ...second.pages].toSorted((a, b) => a - b)).toEqual(eachOnce(5_000));
    expect([first.pages.length, second.pages.length].toSorted((a, b) => a - b)[0]).toBe(0);
    await pass(both, 100);
    await Promise.all(both.map(({ end }) => end()));
    await storage.close();
  });

  it("the other goes on where it was noted when the first is gone, and not while its lease lasts", async () => {
    const { storage, shared, first, second, pass, until } = await twoProcesses(30_000);
    await until([first, second], () => first.pages.length + second.pages.length >= 120);
    const lives = first.pages.length > 0 ? second : first;
    expect(lives.pages).toEqual([]);
    expect((await checkOf(storage))?.verified.sequence).toBe(20_000);
    // Its next look comes while the lease of the other still lasts, and then one that finds it over.
    shared.leap(14_000);
    await lives.clock.advance(hourMs);
    await pass([lives], 5);
    expect(lives.pages).toEqual([]);
    shared.leap(2_000);
    await lives.clock.advance(hourMs);
    await until([lives], async () => (await checkOf(storage))?.verified.sequence === 30_000);
    expect(lives.pages).toEqual(eachOnce(30_000).filter((from) => from > 20_000));
    await Promise.all([first.end(), second.end()]);
    await storage.close();
  });

  it("one that stood still, and lost the lease, reads no further and notes nothing", async () => {
    const { storage, shared, first, second, pass, until } = await twoProcesses(30_000);
    await until([first, second], () => first.pages.length + second.pages.length >= 20);
    const [late, other] = first.pages.length > 0 ? [first, second] : [second, first];
    shared.leap(16_000);
    await other.clock.advance(hourMs);
    await until([other], () => other.pages.length >= 20);
    const read = late.pages.length;
    await pass([late, other], 200);
    expect(late.pages.length - read).toBeLessThanOrEqual(1);
    await until([late, other], async () => (await checkOf(storage))?.verified.sequence === 30_000);
    expect(late.pages.length - read).toBeLessThanOrEqual(1);
    expect(other.pages).toEqual(eachOnce(30_000));
    await Promise.all([first.end(), second.end()]);
    await storage.close();
  });
});

/** Has something happen right before a page of the pass is read. */
function beforePage(storage: Storage, from: number, happen: () => Promise<unknown>): void {
  const readLog = storage.readLog.bind(storage);
  storage.readLog = async (log, query) => {
    if (log === "audit" && query?.limit === pageEvents && query.from === from) {
      storage.readLog = readLog;
      await happen();
    }
    return readLog(log, query);
  };
}

/** So many events, verified, with one a day after; a week later. */
async function aWeekLater(folder: string, clock: FakeClock) {
  const storage = new FileStorage({ folder, clock, ...sizes });
  const test = await createTestOrchestrator({ storage, clock });
  await add(storage, 2_000, clock.now());
  const before = new Date(clock.now() + 1).toISOString();
  clock.leap(1_000);
  await add(storage, 1_000, clock.now());
  await checked({ storage, clock }, (check) => (check?.verified.sequence ?? 0) >= 3_000);
  const { passed_at } = (await checkOf(storage))!;
  clock.leap(weekMs);
  const passed = () => checked({ storage, clock }, (check) => check!.passed_at > passed_at);
  const prune = () => test.orchestrator.audit.prune(systemCaller, { before });
  return { test, storage, before, prune, passed };
}

describe("a prune in the middle of the weekly pass", () => {
  it.each([
    ["behind the page", 601],
    ["at the end of the page", 1_801],
    ["before the page", 2_201],
  ])("that removes up to %s raises no alarm, and the rest is looked at", async (_what, from) => {
    const [folder, clock] = [join(temporaryFolder(), "data"), new FakeClock()];
    const { test: scene, storage, prune, passed } = await aWeekLater(folder, clock);
    await using test = scene;
    const pages = pagesOf(storage);
    let deleted = 0;
    beforePage(storage, from, async () => ({ deleted } = await prune()));
    expect(await passed()).toMatchObject({ bad: null, new_bad: null });
    expect(deleted).toBe(2_000);
    expect(Math.max(...pages())).toBeGreaterThanOrEqual(2_801);
    expect(await toldBad(test)).toEqual([]);
    expect(await test.orchestrator.audit.verify(systemCaller)).toMatchObject({
      valid: true,
      from_sequence: 2_001,
    });
  });

  it("does not hide what was changed in the rest", async () => {
    const [folder, clock] = [join(temporaryFolder(), "data"), new FakeClock()];
    const { test: scene, before } = await aWeekLater(folder, clock);
    await scene.orchestrator.stop();
    editEvent(folder, 2_500);
    const storage = new FileStorage({ folder, clock, ...sizes });
    await using test = await createTestOrchestrator({ storage, clock });
    const prune = vi.fn<() => Promise<{ deleted: number }>>(() =>
      test.orchestrator.audit.prune(systemCaller, { before }),
    );
    beforePage(storage, 601, prune);
    await checked({ storage, clock }, (check) => check?.bad === 2_500);
    expect(prune).toHaveResolvedWith({ deleted: 2_000 });
    expect(await toldBad(test)).toEqual([2_500]);
    expect(await test.orchestrator.audit.verify(systemCaller)).toMatchObject({ first_bad_sequence: 2_500 });
  });
});
