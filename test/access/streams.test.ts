/** Streams that operators hold open: how many, and what is left of those that ended. */
import { expect, it } from "vitest";
import { OrchestratorError, systemCaller, type Caller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { StoredDocument } from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { waitFor } from "../support/wait-for.ts";

async function open({ orchestrator }: TestOrchestrator, caller: Caller, signal?: AbortSignal) {
  const stream = orchestrator.events.stream(caller, { types: ["module.*"] }, signal);
  await stream.next();
  return stream;
}

const openMany = (test: TestOrchestrator, caller: Caller, count: number) =>
  Promise.all(Array.from({ length: count }, () => open(test, caller)));

/** A storage that can't tell of sessions for a while. */
class ForgetfulStorage extends MemoryStorage {
  isLost = false;
  /** The sessions that somebody looked at. */
  readonly looked: string[] = [];

  override async get<T>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    if (collection === "sessions") this.looked.push(key);
    if (this.isLost && collection === "sessions") throw new OrchestratorError("UNAVAILABLE");
    return super.get(collection, key);
  }
}

it("the streams of a session, and of nobody else, are counted up to 32 and down to none", async () => {
  await using test = await createTestOrchestrator();
  const [one, other] = [await test.signIn("Viewer", "one"), await test.signIn("Viewer", "two")];
  const before = test.clock.pendingTimers;
  for (let round = 0; round < 2; round += 1) {
    const streams = await openMany(test, one.caller, 32);
    await expect(open(test, one.caller)).rejects.toMatchObject({
      code: "RATE_LIMITED",
      message: "A session may hold 32 streams open.",
      details: { retry_after_seconds: 1 },
    });
    const others = [await open(test, other.caller), ...(await openMany(test, systemCaller, 40))];
    for (const stream of [...streams, ...others]) await stream.return();
    expect(test.clock.pendingTimers).toBe(before);
  }
});

it("a stream that is left while its reader waits for the next item ends at once, and counts no more", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Viewer");
  const before = test.clock.pendingTimers;
  const streams = await openMany(test, caller, 32);
  const waiting = streams.map((stream) => stream.next());
  const left = streams.map((stream) => stream.return());
  const over = { done: true, value: undefined };
  expect(await Promise.allSettled([...waiting, ...left])).toEqual(
    Array.from({ length: 64 }, () => ({ status: "fulfilled", value: over })),
  );
  const again = await open(test, caller);
  const failing = [again.next(), again.throw(new Error("of its reader"))];
  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(test.clock.pendingTimers).toBe(before);
});

it("a stream ends with the signal of whoever reads it, and others of the session go on", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Viewer");
  const reader = new AbortController();
  const [left, stays] = [await open(test, caller, reader.signal), await open(test, caller)];
  const ended = left.next();
  reader.abort();
  expect(await ended).toEqual({ done: true, value: undefined });
  const told = stays.next();
  await test.orchestrator.modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
  expect((await told).value).toMatchObject({ item: { event: { event_type: "module.uploaded" } } });
  await stays.return();
});

it("when the orchestrator lets go, streams of the process itself end, and none begins after it", async () => {
  await using test = await createTestOrchestrator();
  const stream = await open(test, systemCaller);
  const ended = stream.next();
  test.orchestrator.letGo();
  expect(await ended).toEqual({ done: true, value: undefined });
  await expect(open(test, systemCaller)).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

it("a stream that is let go twice is counted once", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Viewer");
  const { streams } = servicesOf(test.orchestrator);
  const [once, ...others] = Array.from({ length: 32 }, () => streams.open(caller));
  for (let time = 0; time < 3; time += 1) once!.close();
  others.push(streams.open(caller));
  expect(() => streams.open(caller)).toThrow("32 streams");
  for (const each of others) each.close();
});

it("a stream ends with a session that nobody used for too long, however often it was looked at before", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Viewer");
  const stream = await open(test, caller);
  let end: unknown;
  void stream.next().then((item) => (end = item));
  for (let minute = 0; minute < 59; minute += 1) await test.clock.advance(60_000);
  await settleAll();
  expect(end).toBeUndefined();
  await test.clock.advance(60_000);
  await waitFor(() => expect(end).toEqual({ done: true, value: undefined }));
});

it("nobody looks at the session of a stream that has ended", async () => {
  const storage = new ForgetfulStorage();
  await using test = await createTestOrchestrator({ storage });
  const { caller } = await test.signIn("Viewer", "one");
  await (await open(test, caller)).return();
  const other = await test.signIn("Viewer", "two");
  storage.looked.length = 0;
  await test.orchestrator.access.signOut(other.caller);
  await test.clock.advance(60_000);
  expect(storage.looked).not.toContain(caller.session_id);
});

it("a stream of a session that ended between its look at the token and the opening ends at once", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Viewer");
  // It is over by its time: nobody has ended it, so that nobody was told.
  await test.clock.advance(3_600_000);
  const stream = await open(test, caller);
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

it("a stream of a session that somebody ended before it is opened is refused", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Viewer");
  await test.orchestrator.access.signOut(caller);
  await expect(open(test, caller)).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    details: { reason: "invalid_token" },
  });
});

it("a stream ends where nobody can tell whether its session lives, and may be opened again after that", async () => {
  const storage = new ForgetfulStorage();
  await using test = await createTestOrchestrator({ storage });
  const { caller } = await test.signIn("Viewer");
  const stream = await open(test, caller);
  let end: unknown;
  void stream.next().then((item) => (end = item));
  storage.isLost = true;
  await test.clock.advance(30_000);
  await waitFor(() => expect(end).toEqual({ done: true, value: undefined }));
  storage.isLost = false;
  for (const each of await openMany(test, caller, 32)) await each.return();
});
