/** Messages that are sent once more, and receivers that ask for a rest. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../../lib/json.ts";
import { itemsOf } from "../../support/all-pages.ts";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { startReceiver } from "../../support/receiver.ts";

const dayMs = 86_400_000;
const operators = { events: ["operator.*"] };

/** A channel whose receiver answers with a status, and one message of it that is dead. */
async function withDead(test: TestOrchestrator) {
  let status = 404;
  const { url, received } = await startReceiver((response) => response.writeHead(status).end());
  const { id } = await webhook(test, url, operators);
  await addOperator(test, "ada");
  await pass(test, 3_000);
  const [dead] = await deliveriesOf(test, id, ["dead"]);
  const answer = (next: number): void => void (status = next);
  return { id, dead: dead!, received, answer };
}

it("a message that is sent once more is tried as often and as long as a new one", async () => {
  await using test = await createNotifying();
  const { id, dead, received, answer } = await withDead(test);
  const { channels } = test.orchestrator;
  expect(dead).toMatchObject({ attempts: 1 });
  await pass(test, 2 * dayMs, 3_600_000);
  answer(503);
  const again = await channels.redeliver(systemCaller, { id, delivery_id: dead.id });
  expect(again).toMatchObject({ status: "pending", attempts: 0 });
  await expect
    .poll(async () => (await channels.deliveries(systemCaller, { id })).items)
    .toMatchObject([{ status: "pending", attempts: 1 }]);
  const once = received.length;
  await pass(test, dayMs / 2, 3_600_000);
  await expect.poll(() => received.length).toBeGreaterThan(once + 3);
  await deliveriesOf(test, id, ["pending"]);
  await pass(test, dayMs, 3_600_000);
  await deliveriesOf(test, id, ["dead"]);
}, 60_000);

it("a message is sent once more by the channel that it is of, where it does not wait already", async () => {
  await using test = await createNotifying();
  const { id, dead, received, answer } = await withDead(test);
  const { channels } = test.orchestrator;
  const { received: others, url } = await startReceiver((response) => response.end());
  const other = await webhook(test, url, { events: ["agent.*"] });
  await expect(
    channels.redeliver(systemCaller, { id: other.id, delivery_id: dead.id }),
  ).rejects.toMatchObject({ code: "NOT_FOUND" });
  await pass(test, 5_000);
  expect([received.length, others.length]).toEqual([1, 0]);
  expect(await deliveriesOf(test, id, ["dead"])).toEqual([dead]);
  answer(503);
  await channels.redeliver(systemCaller, { id, delivery_id: dead.id });
  await expect(channels.redeliver(systemCaller, { id, delivery_id: dead.id })).rejects.toMatchObject({
    code: "INVALID_TRANSITION",
  });
});

it("a message that was given up and sent once more is kept for a week from its last attempt on", async () => {
  await using test = await createNotifying();
  const { id, dead, answer } = await withDead(test);
  const stored = (await test.storage.get<JsonObject>("deliveries", dead.id))!;
  const value = { ...stored.value, given_up_at: new Date(test.clock.now()).toISOString() };
  await test.storage.commit([{ kind: "put", collection: "deliveries", key: dead.id, value }]);
  await pass(test, 5 * dayMs, 3_600_000);
  answer(200);
  await test.orchestrator.channels.redeliver(systemCaller, { id, delivery_id: dead.id });
  await deliveriesOf(test, id, ["delivered"]);
  await pass(test, 5 * dayMs, 3_600_000);
  expect(await deliveriesOf(test, id, ["delivered"])).toMatchObject([{ id: dead.id }]);
  await pass(test, 3 * dayMs, 3_600_000);
  await deliveriesOf(test, id, []);
}, 60_000);

it.each(["notifications", "audit"] as const)(
  "a receiver of %s that asks for a rest has it, and is told after it",
  async (source) => {
    const { url, received } = await startReceiver((response) =>
      response.writeHead(503, { "retry-after": "600" }).end(),
    );
    await using test = await createNotifying();
    await webhook(test, url, { events: ["operator.*"], source });
    await addOperator(test, "ada");
    await pass(test, 3_000);
    await expect.poll(() => received.length).toBe(1);
    await pass(test, 590_000, 10_000);
    expect(received).toHaveLength(1);
    await pass(test, 20_000);
    await expect.poll(() => received.length).toBe(2);
  },
);

it.each(["notifications", "audit"] as const)(
  "a channel of %s tells nothing below its least severity, and all that is not below it",
  async (source) => {
    await using test = await createNotifying();
    const severities = ["info", "warning", "critical"] as const;
    const receivers = await Promise.all(severities.map(() => startReceiver((response) => response.end())));
    for (const [at, min_severity] of severities.entries())
      await webhook(test, receivers[at]!.url, { events: ["operator.*"], source, min_severity });
    const operator_id = await addOperator(test, "ada");
    await test.orchestrator.operators.remove(systemCaller, { operator_id });
    await pass(test, 3_000);
    const typesOf = (at: number): string[] =>
      receivers[at]!.received.map(({ body }) => (JSON.parse(body) as { type: string }).type);
    await expect
      .poll(() => severities.map((_, at) => typesOf(at)))
      .toEqual([["operator.added", "operator.removed"], ["operator.removed"], []]);
  },
);

it("that a channel fails is told by others, and not by itself", async () => {
  let status = 404;
  const failing = await startReceiver((response) => response.writeHead(status).end());
  const working = await startReceiver((response) => response.end());
  await using test = await createNotifying();
  const { id } = await webhook(test, failing.url, { events: ["operator.*", "channel.failed"] });
  const other = await webhook(test, working.url, { events: ["channel.failed"] });
  await addOperator(test, "ada");
  await pass(test, 3_000);
  await deliveriesOf(test, id, ["dead"]);
  status = 200;
  await pass(test, 5_000);
  const [told] = await deliveriesOf(test, other.id, ["delivered"]);
  expect(told).toMatchObject({ event_type: "channel.failed" });
  await deliveriesOf(test, id, ["dead"]);
});

it("messages are listed by how they stand, page by page, newest first, and a cursor is of one such list", async () => {
  let status = 404;
  const { url } = await startReceiver((response) => response.writeHead(status).end());
  await using test = await createNotifying();
  const { id } = await webhook(test, url, operators);
  const other = await webhook(test, url, operators);
  const names = ["a", "b", "c", "d", "e", "f"];
  for (const [at, name] of names.entries()) {
    status = at % 2 === 0 ? 404 : 200;
    await addOperator(test, name);
    await pass(test, 3_000);
    const so = names.slice(0, at + 1).map((_, n) => (n % 2 === 0 ? "dead" : "delivered"));
    for (const channel of [id, other.id]) await deliveriesOf(test, channel, so);
  }
  const { channels } = test.orchestrator;
  const all = (await channels.deliveries(systemCaller, { id })).items;
  expect(all.map(({ id: key }) => key)).toEqual(
    all
      .map(({ id: key }) => key)
      .toSorted()
      .toReversed(),
  );
  expect(new Set(all.map(({ channel_id }) => channel_id))).toEqual(new Set([id]));
  for (const wanted of ["dead", "delivered", "pending"] as const) {
    const asked = { id, status: wanted };
    const found = await itemsOf((page) => channels.deliveries(systemCaller, { ...asked, ...page }), 2);
    expect(found).toEqual(all.filter(({ status: stands }) => stands === wanted));
  }
  const { next_cursor } = await channels.deliveries(systemCaller, { id, status: "dead", limit: 1 });
  for (const asked of [{ id }, { id, status: "delivered" }, { id: other.id, status: "dead" }] as const)
    await expect(channels.deliveries(systemCaller, { ...asked, cursor: next_cursor! })).rejects.toMatchObject(
      { code: "CURSOR_INVALID" },
    );
}, 60_000);
