/**
 * A clock that was wrong for days, and right again after a restart, dated what operators had read after what comes next: new notifications
 * stood behind the old ones, and counted as read by everybody who had read all at once.
 */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import type { Write } from "../../../lib/storage/storage.ts";
import { itemsOf } from "../../support/all-pages.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { startReceiver } from "../../support/receiver.ts";
import { waitFor } from "../../support/wait-for.ts";

const day = 86_400_000;

/** Starts one over and over on the same data and clock. */
function lives(): { clock: FakeClock; start: () => Promise<TestOrchestrator> } {
  const clock = new FakeClock();
  const data = new MemoryData();
  const start = async (): Promise<TestOrchestrator> => {
    const test = await createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
    onTestFinished(() => test[Symbol.asyncDispose]());
    return { ...test, clock };
  };
  return { clock, start };
}

async function tell(test: TestOrchestrator, ...names: string[]): Promise<void> {
  for (const name of names) {
    await addOperator(test, name);
    await pass(test, 3_000);
  }
}

async function listed({ orchestrator }: TestOrchestrator): Promise<[who: string, isRead: boolean][]> {
  const items = await itemsOf((page) => orchestrator.notifications.list(systemCaller, page), 2);
  return items.map(({ subject, read_at }) => [subject.name!, read_at !== null]);
}

it.each([
  ["three days behind since the restart", 0, -3 * day],
  ["ten years ahead before the restart", 3_650 * day, -3_650 * day],
])("what comes is unread and stands first where the clock was %s", async (_, before, atRestart) => {
  const { clock, start } = lives();
  const first = await start();
  await tell(first, "ada");
  clock.jump(before);
  await tell(first, "grace");
  await first.orchestrator.notifications.readAll(systemCaller);
  await first[Symbol.asyncDispose]();
  clock.jump(atRestart);
  const second = await start();
  await tell(second, "mary", "joan");
  expect(await listed(second)).toEqual([
    ["joan", false],
    ["mary", false],
    ["grace", true],
    ["ada", true],
  ]);
  const { unread } = await second.orchestrator.notifications.list(systemCaller);
  expect(unread).toBe(2);
  await second.orchestrator.notifications.readAll(systemCaller);
  expect((await second.orchestrator.notifications.list(systemCaller)).unread).toBe(0);
});

it("what comes is unread also where what was read when the clock was ahead is gone", async () => {
  const { clock, start } = lives();
  const first = await start();
  clock.jump(3_650 * day);
  await tell(first, "ada");
  const { notifications } = first.orchestrator;
  await notifications.readAll(systemCaller);
  // As where there are too many.
  const { id } = (await notifications.list(systemCaller)).items[0]!;
  await first.storage.commit([{ kind: "delete", collection: "notifications", key: id }]);
  await first[Symbol.asyncDispose]();
  clock.jump(-3_650 * day);
  const second = await start();
  await tell(second, "mary");
  expect(await listed(second)).toEqual([["mary", false]]);
});

it("what came after a clock that was ahead goes when it is old, as all else does", async () => {
  const { clock, start } = lives();
  const first = await start();
  clock.jump(3_650 * day);
  await tell(first, "ada");
  await first[Symbol.asyncDispose]();
  clock.jump(-3_650 * day);
  const second = await start();
  await tell(second, "mary");
  for (let days = 0; days < 29; days += 1) await clock.advance(day);
  expect((await listed(second)).map(([name]) => name)).toEqual(["mary", "ada"]);
  for (let days = 0; days < 70; days += 1) await clock.advance(day);
  // The one is as old as it says once that time has come. It keeps nothing else: the audit log tells that old events went from it, too.
  expect((await listed(second)).map(([name]) => name)).toEqual(["audit log", "ada"]);
});

it("what waits for a channel from when the clock was ahead is delivered before what comes after", async () => {
  let status = 503;
  const { url, received } = await startReceiver((response) => {
    response.statusCode = status;
    response.end();
  });
  const { clock, start } = lives();
  const first = await start();
  const { id } = await webhook(first, url, { events: ["operator.*"] });
  clock.jump(3_650 * day);
  await tell(first, "ada");
  await deliveriesOf(first, id, ["pending"]);
  await first[Symbol.asyncDispose]();
  clock.jump(-3_650 * day);
  const second = await start();
  await tell(second, "mary");
  status = 200;
  await waitFor(async () => {
    await pass(second, 10_000);
    const bodies = received.slice(-2).map(({ body }) => body);
    expect([bodies[0]!.includes("ada"), bodies[1]!.includes("mary")]).toEqual([true, true]);
  }, 50);
});

it("what is old is removed however many stand behind one of a clock that was ahead", async () => {
  const { clock, start } = lives();
  const first = await start();
  const idOf = (at: number): string => `0199d3a0-5f3c-7c1e-9a55-${String(at).padStart(12, "0")}`;
  const puts = Array.from({ length: 250 }, (_, at): Write => {
    const created_at = at === 1 ? "2040-01-01T00:00:00.000Z" : "2020-01-01T00:00:00.000Z";
    const told = { event_type: "agent.offline", severity: "warning", title: "x", body: "", count: 1 };
    const value = { ...told, id: idOf(at), subject: { type: "agent", id: "a" }, created_at, muted: false };
    return { kind: "put", collection: "notifications", key: idOf(at), value };
  });
  await first.storage.commit(puts);
  await first[Symbol.asyncDispose]();
  const second = await start();
  await waitFor(async () => {
    await clock.advance(1_000);
    const { items } = await second.orchestrator.notifications.list(systemCaller, { limit: 500 });
    expect(items.map(({ id }) => id)).toEqual([idOf(1)]);
  });
  expect(clock.now() - Date.parse("2030-01-01T00:00:00.000Z")).toBeLessThan(1_800_000);
});
