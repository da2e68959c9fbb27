import { describe, expect, it } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { encodeCursor } from "../../lib/internal/cursor.ts";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import { pagesOf } from "../support/all-pages.ts";
import { settle } from "../support/deferred.ts";

const dayMs = 86_400_000;

describe("audit", () => {
  it("holds an event for each change, newest first, with who did it and from where", async () => {
    await using test = await createTestOrchestrator();
    const { caller } = await test.signIn("Admin", "ada");
    const origin = { request_id: "r-1", source_address: "192.0.2.9" };
    const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";
    await test.orchestrator.modules.upload({ ...caller, origin }, { content });
    const { items } = await test.orchestrator.audit.list(systemCaller);
    expect(items.map((item) => item.event_type)).toEqual([
      "module.uploaded",
      "operator.signedIn",
      "operator.added",
    ]);
    expect(items[0]).toMatchObject({ actor: { name: "ada" }, target: { id: "motd" }, ...origin });
  });

  it("verifies, and still verifies after pruning, and names the first event that does not fit", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    for (let i = 1; i <= 10; i += 1) {
      await audit.setRetention(systemCaller, { retention_days: i });
      await test.clock.advance(1000);
    }
    expect(await audit.verify(systemCaller)).toMatchObject({
      valid: true,
      from_sequence: 1,
      to_sequence: 10,
    });
    const before = new Date(test.clock.now() - 5500).toISOString();
    expect(await audit.prune(systemCaller, { before })).toEqual({ deleted: 5 });
    expect(await audit.verify(systemCaller)).toMatchObject({
      valid: true,
      from_sequence: 6,
      to_sequence: 11,
    });
    const forged = { sequence: 3, hash: "0".repeat(64), signature: "00".repeat(64) };
    await test.storage.commit([{ kind: "put", collection: "settings", key: "audit_anchor", value: forged }]);
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: false });
    await audit.verify(systemCaller);
    await settle();
    // Told once, however often somebody looks.
    const told = test.events.filter(({ event_type }) => event_type === "audit.invalid");
    expect(told.map(({ metadata }) => metadata)).toEqual([{ first_bad_sequence: 1 }]);
  });

  it("verifies although the process ended between the anchor of a removal and the removal", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    for (let i = 1; i <= 4; i += 1) {
      await audit.setRetention(systemCaller, { retention_days: i });
      await test.clock.advance(1000);
    }
    const trimLog = test.storage.trimLog.bind(test.storage);
    test.storage.trimLog = () => Promise.reject(new Error("killed"));
    const before = new Date(test.clock.now() - 1500).toISOString();
    await expect(audit.prune(systemCaller, { before })).rejects.toThrow("killed");
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: 4, to_sequence: 5 });
    test.storage.trimLog = trimLog;
    expect(await audit.prune(systemCaller, { before })).toEqual({ deleted: 3 });
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: 4, to_sequence: 5 });
  });

  it("verifies while old events are being removed, and not where they were removed behind its back", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    for (let i = 1; i <= 4; i += 1) {
      await audit.setRetention(systemCaller, { retention_days: i });
      await test.clock.advance(1000);
    }
    const before = new Date(test.clock.now() - 1500).toISOString();
    const readLog = test.storage.readLog.bind(test.storage);
    test.storage.readLog = async (log, query) => {
      test.storage.readLog = readLog;
      await audit.prune(systemCaller, { before });
      return readLog(log, query);
    };
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: true, from_sequence: 4 });
    await test.storage.trimLog("audit", 99);
    expect(await audit.verify(systemCaller)).toMatchObject({ valid: false, first_bad_sequence: 4 });
  });

  it("refuses a cursor that names no place in the log", async () => {
    await using test = await createTestOrchestrator();
    const cursor = encodeCursor("audit", {}, "x");
    await expect(test.orchestrator.audit.list(systemCaller, { cursor })).rejects.toMatchObject({
      code: "CURSOR_INVALID",
    });
  });

  it("prunes by itself what is older than the retention", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    await audit.setRetention(systemCaller, { retention_days: 2 });
    await test.clock.advance(2 * dayMs + 7_200_000);
    const { items } = await audit.list(systemCaller);
    expect(items.map((item) => item.event_type)).toEqual(["audit.pruned"]);
  });

  it("prunes by itself what is old, past what a clock recorded that was years ahead for an hour", async () => {
    const [hourMs, tenYearsMs] = [3_600_000, 3_650 * dayMs];
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    await audit.setRetention(systemCaller, { retention_days: 2 });
    const named = async (name: string): Promise<number> =>
      (await audit.list(systemCaller, { event_type: "operator.added", target: name })).items.length;
    await test.clock.advance(dayMs);
    test.clock.jump(tenYearsMs);
    await test.signIn("Viewer", "ada");
    await test.clock.advance(hourMs);
    test.clock.jump(-tenYearsMs);
    await test.clock.advance(dayMs);
    await test.signIn("Viewer", "bob");
    await test.clock.advance(dayMs);
    expect([await named("ada"), await named("bob")]).toEqual([1, 1]);
    await test.clock.advance(dayMs + 2 * hourMs);
    expect([await named("ada"), await named("bob")]).toEqual([0, 0]);
  });

  it("holds what a clock that jumped far ahead says is old, until it has said so for a day", async () => {
    const data = new MemoryData();
    const year = 365 * dayMs;
    const clock = new FakeClock();
    const open = () => createTestOrchestrator({ storage: new MemoryStorage({ data, clock }), clock });
    const signIns = async ({ orchestrator }: Awaited<ReturnType<typeof open>>) => {
      const { items } = await orchestrator.audit.list(systemCaller, { event_type: "operator.added" });
      return items.length;
    };
    {
      await using test = await open();
      await test.signIn("Admin", "ada");
      await clock.advance(dayMs);
      clock.jump(year);
      await clock.advance(dayMs - 2 * 3_600_000);
      expect(await signIns(test)).toBe(1);
      clock.jump(-year);
      await clock.advance(7_200_000);
      clock.jump(year);
      await clock.advance(7_200_000);
      expect(await signIns(test)).toBe(1);
    }
    // A restart does not make it true.
    await using test = await open();
    await clock.advance(20 * 3_600_000);
    expect(await signIns(test)).toBe(1);
    await clock.advance(7 * 3_600_000);
    expect(await signIns(test)).toBe(0);
  });

  it("finds events by type, category, actor, target, time and text", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    await test.signIn("Admin", "ada");
    await test.clock.advance(60_000);
    const from = new Date(test.clock.now()).toISOString();
    await audit.setRetention(systemCaller, { retention_days: null });
    const typesOf = async (filter: Parameters<typeof audit.list>[1]) =>
      (await audit.list(systemCaller, filter)).items.map((item) => item.event_type);
    expect(await typesOf({ event_type: "operator.added" })).toEqual(["operator.added"]);
    expect(await typesOf({ category: "access" })).toEqual(["operator.signedIn", "operator.added"]);
    expect(await typesOf({ actor: "ada" })).toEqual(["operator.signedIn"]);
    expect(await typesOf({ target: "ada" })).toEqual(["operator.added"]);
    expect(await typesOf({ from })).toEqual(["audit.retentionChanged"]);
    expect(await typesOf({ to: from })).toEqual(["operator.signedIn", "operator.added"]);
    expect(await typesOf({ search: "no such words" })).toEqual([]);
    expect(await typesOf({ search: "Kept FOR ever" })).toEqual(["audit.retentionChanged"]);
  });

  it("refuses a cursor of another filter", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    await test.signIn("Admin", "ada");
    const { next_cursor: cursor } = await audit.list(systemCaller, { limit: 1 });
    expect(cursor).not.toBeNull();
    const other = audit.list(systemCaller, { limit: 1, cursor: cursor!, category: "access" });
    await expect(other).rejects.toMatchObject({ code: "CURSOR_INVALID" });
    const handMade = audit.list(systemCaller, { cursor: "x'; drop" });
    await expect(handMade).rejects.toMatchObject({ code: "CURSOR_INVALID" });
  });

  it("looks at 10,000 events at most in one call, and goes on from there with the cursor", async () => {
    await using test = await createTestOrchestrator();
    const actor = { type: "operator", id: "x", name: "x" };
    const event = (n: number) => ({
      id: `${n}`,
      timestamp: "2030-01-01T00:00:00.000Z",
      event_type: "audit.pruned",
      severity: "info",
      actor: n === 3 ? { ...actor, name: "ada" } : actor,
      summary: "",
      metadata: {},
    });
    const writes = Array.from({ length: 25_000 }, (_, n) => {
      return { kind: "append", log: "audit", at: 0, value: event(n) } as const;
    });
    await test.storage.commit(writes);
    const { audit } = test.orchestrator;
    const found = await pagesOf((page) => audit.list(systemCaller, { actor: "ada", ...page }));
    expect(found.map((items) => items.map(({ id }) => id))).toEqual([[], [], ["3"]]);
    expect((await audit.list(systemCaller, { event_type: "agent.enrolled" })).next_cursor).not.toBeNull();
  });

  it.each(["asc", "desc"] as const)(
    "tells each event once where a call ends and the next goes on, %s",
    async (order) => {
      await using test = await createTestOrchestrator();
      const { head } = await test.storage.readLog("audit", { reverse: true, limit: 1 });
      // What is searched for stands at both ends of each block of a thousand.
      const isAtEnd = (sequence: number): boolean => [0, 1].includes(sequence % 1_000);
      const sequences = Array.from({ length: 25_000 }, (_, n) => head.sequence + 1 + n);
      const writes = sequences.map((sequence) => {
        const value = {
          id: `${sequence}`,
          timestamp: "2030-01-01T00:00:00.000Z",
          event_type: "audit.pruned",
          severity: "info",
          actor: { type: "operator", id: "x", name: "x" },
          summary: isAtEnd(sequence) ? "a needle" : "hay",
          metadata: {},
        };
        return { kind: "append", log: "audit", at: 0, value } as const;
      });
      await test.storage.commit(writes);
      const { audit } = test.orchestrator;
      const pages = await pagesOf((page) => audit.list(systemCaller, { search: "needle", order, ...page }));
      const found = pages.flat().map(({ sequence }) => sequence);
      expect(pages.length).toBeGreaterThan(2);
      const wanted = sequences.filter(isAtEnd);
      expect(found).toEqual(order === "asc" ? wanted : wanted.toReversed());
    },
  );
});
