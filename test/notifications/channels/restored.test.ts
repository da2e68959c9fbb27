/**
 * What channels are told after a restore. Symptom: messages that waited in the backup, and events of it that were not told yet, were sent
 * again by the restored server, which the server that made the backup had done. Cause: the outbox did not know of restores.
 */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { dayMs } from "../../../lib/internal/durations.ts";
import { MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { startReceiver } from "../../support/receiver.ts";

it("sends nothing that waited in the backup, tells what came since once it may go on, and sends what waited where that is asked for", async () => {
  let status = 503;
  const { url, received } = await startReceiver((response) => {
    response.statusCode = status;
    response.end();
  });
  await using before = await createNotifying();
  const { clock } = before;
  const { id } = await webhook(before, url);
  for (const name of ["ada", "grace"]) await addOperator(before, name);
  await pass(before, 3_000);
  await deliveriesOf(before, id, ["pending", "pending"]);
  // Nobody has told of this one when the backup is made.
  await addOperator(before, "hopper");
  const data = (before.storage as MemoryStorage).restoredCopy();
  await before[Symbol.asyncDispose]();
  const sent = received.length;
  status = 200;

  await using restored = await createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
  await pass({ clock }, 60_000);
  const [ada, , since] = await deliveriesOf(restored, id, ["dead", "dead", "pending"]);
  expect(ada!.error).toBe("it waited in the backup that was restored, and may have been delivered since");
  expect(since!.event_type).toBe("storage.restored");
  expect(received).toHaveLength(sent);
  const { items } = await restored.orchestrator.notifications.list(systemCaller, {});
  expect(items.map(({ event_type, subject }) => `${event_type} ${subject.name}`)).toEqual([
    expect.stringContaining("storage.restored"),
    "operator.added hopper",
    "operator.added grace",
    "operator.added ada",
  ]);

  await restored.orchestrator.restores.resume(systemCaller);
  await addOperator(restored, "lovelace");
  await pass({ clock }, 60_000);
  const [, , , resumed] = await deliveriesOf(restored, id, ["dead", "dead", "delivered", "delivered"]);
  expect(received.slice(sent).map(({ headers }) => headers["webhook-id"])).toEqual([since!.id, resumed!.id]);
  const channel = await restored.orchestrator.channels.get(systemCaller, { id });
  expect(channel.last_delivery).toMatchObject({ delivered: true });
  await restored.orchestrator.channels.redeliver(systemCaller, { id, delivery_id: ada!.id });
  await deliveriesOf(restored, id, ["delivered", "dead", "delivered", "delivered"]);
  expect(received.at(-1)!.headers["webhook-id"]).toBe(ada!.id);
});

it("tells of a second restore, too, and what waited while it was paused is told once", async () => {
  const { url, received } = await startReceiver((response) => response.end());
  await using before = await createNotifying();
  const { clock } = before;
  const { id } = await webhook(before, url);
  const first = (before.storage as MemoryStorage).restoredCopy();
  await before[Symbol.asyncDispose]();
  await using once = await createNotifying({ clock, storage: new MemoryStorage({ clock, data: first }) });
  await pass({ clock }, 3_000);
  await addOperator(once, "ada");
  await pass({ clock }, 3_000);
  await deliveriesOf(once, id, ["pending", "pending"]);
  expect(received).toEqual([]);
  await once.orchestrator.restores.resume(systemCaller);
  await pass({ clock }, 3_000);
  await deliveriesOf(once, id, ["delivered", "delivered"]);
  const second = (once.storage as MemoryStorage).restoredCopy();
  await once[Symbol.asyncDispose]();
  await using twice = await createNotifying({ clock, storage: new MemoryStorage({ clock, data: second }) });
  await twice.orchestrator.restores.resume(systemCaller);
  await pass({ clock }, 3_000);
  const told = await deliveriesOf(twice, id, ["delivered", "delivered", "delivered"]);
  expect(told.map(({ event_type }) => event_type)).toEqual([
    "storage.restored",
    "operator.added",
    "storage.restored",
  ]);
  expect(received).toHaveLength(3);
});

it("keeps what waited for a week from the restore on, however old the backup is, and from its last attempt once that is asked for", async () => {
  const { url } = await startReceiver((response) => {
    response.statusCode = 503;
    response.end();
  });
  await using before = await createNotifying();
  const { clock } = before;
  const { id } = await webhook(before, url);
  await addOperator(before, "ada");
  await pass(before, 3_000);
  await deliveriesOf(before, id, ["pending"]);
  const data = (before.storage as MemoryStorage).restoredCopy();
  await before[Symbol.asyncDispose]();

  clock.leap(30 * dayMs);
  await using restored = await createNotifying({ clock, storage: new MemoryStorage({ clock, data }) });
  const days = (count: number) => pass({ clock }, count * dayMs, 3_600_000);
  await days(3);
  const [waited] = await deliveriesOf(restored, id, ["dead", "pending"]);
  expect(waited!.attempts).toBe(1);
  await days(3.5);
  await deliveriesOf(restored, id, ["dead", "pending"]);
  await restored.orchestrator.restores.resume(systemCaller);
  await restored.orchestrator.channels.redeliver(systemCaller, { id, delivery_id: waited!.id });
  await days(6);
  const kept = async () =>
    (await restored.orchestrator.channels.deliveries(systemCaller, { id })).items.flatMap((each) =>
      each.id === waited!.id ? [each.status] : [],
    );
  expect(await kept()).toEqual(["dead"]);
  await days(3);
  expect(await kept()).toEqual([]);
});
