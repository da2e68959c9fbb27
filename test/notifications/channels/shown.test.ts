/** What is shown and recorded of channels and of what they were told: field by field. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { approved, leave } from "../../support/leaving-agents.ts";
import { startReceiver } from "../../support/receiver.ts";

let test: TestOrchestrator;
beforeEach(async () => {
  test = await createNotifying();
});
afterEach(() => test[Symbol.asyncDispose]());

const told = (type: string) =>
  test.events
    .filter(({ event_type }) => event_type === `channel.${type}`)
    .map(({ summary, target, metadata }) => ({ summary, target, metadata }));
const nowhere = "http://[::1]:9/";

describe("what is recorded of a channel", () => {
  it("that is created, changed and removed is what it is told, and which fields were given", async () => {
    const { id } = await webhook(test, nowhere, { events: ["operator.*"] });
    await test.orchestrator.channels.update(systemCaller, { id, name: "pager", enabled: false });
    await test.orchestrator.channels.remove(systemCaller, { id });
    const target = { type: "channel", id, name: "hook" };
    const facts = { channel_type: "webhook", enabled: true, events: ["operator.*"] };
    expect(told("created")).toEqual([{ summary: "Channel hook was created", target, metadata: facts }]);
    const renamed = { ...target, name: "pager" };
    expect(told("updated")).toEqual([
      {
        summary: "Channel pager was updated",
        target: renamed,
        metadata: { ...facts, enabled: false, changed: ["enabled", "name"] },
      },
    ]);
    expect(told("removed")).toMatchObject([{ summary: "Channel pager was removed", target: renamed }]);
  });

  it.each([
    ["delivered", 200, "Channel hook was tested: delivered", { delivered: true }],
    [
      "refused",
      404,
      "Channel hook was tested: it answered 404",
      { delivered: false, error: "it answered 404" },
    ],
  ])("that is tested is what came of it: %s", async (_what, status, summary, metadata) => {
    const { url, received } = await startReceiver((response) => response.writeHead(status).end());
    const { id } = await webhook(test, url);
    const outcome = await test.orchestrator.channels.test(systemCaller, { id });
    expect(outcome).toStrictEqual({
      ...metadata,
      status_code: status,
      duration_ms: expect.any(Number) as number,
    });
    const target = { type: "channel", id, name: "hook" };
    expect(told("tested")).toEqual([{ summary, target, metadata }]);
    expect(JSON.parse(received[0]!.body)).toMatchObject({
      type: "channel.tested",
      data: {
        severity: "info",
        title: "Test of channel hook",
        body: "system asked for this message. Nothing has happened.",
        subject: target,
      },
    });
  });
});

describe("a message of a channel", () => {
  const shown = { event_type: "operator.added", severity: "info", title: expect.any(String) as string };
  const time = expect.stringMatching(/^20.*Z$/) as string;

  it.each([
    [
      "that was delivered",
      200,
      { status: "delivered", attempts: 1, last_attempt_at: time, status_code: 200 },
    ],
    [
      "that was refused for good",
      404,
      { status: "dead", attempts: 1, last_attempt_at: time, status_code: 404, error: "it answered 404" },
    ],
    [
      "that waits to be sent again",
      503,
      {
        status: "pending",
        attempts: 1,
        last_attempt_at: time,
        next_attempt_at: time,
        status_code: 503,
        error: "it answered 503",
      },
    ],
  ] as const)("%s is shown with these fields alone", async (_what, status, fields) => {
    const { url, received } = await startReceiver((response) => response.writeHead(status).end());
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    await addOperator(test, "ada");
    await pass(test, 3_000);
    await expect.poll(() => received.length).toBe(1);
    await expect
      .poll(async () => {
        const { items } = await test.orchestrator.channels.deliveries(systemCaller, { id });
        return items[0]?.attempts;
      })
      .toBe(1);
    const [delivery] = await deliveriesOf(test, id, [fields.status]);
    const { severity } = delivery!;
    const made = { id: delivery!.id, channel_id: id, created_at: time };
    expect(delivery).toStrictEqual({ ...shown, severity, ...made, ...fields });
  });

  it("that was not sent yet has no attempt", async () => {
    const { id } = await webhook(test, nowhere, { events: ["operator.*"], enabled: true });
    await addOperator(test, "ada");
    await pass(test, 3_000);
    const [delivery] = await deliveriesOf(test, id, ["dead"]);
    expect(delivery).not.toHaveProperty("status_code");
    expect(delivery).not.toHaveProperty("next_attempt_at");
    expect(delivery!.error).toMatch(/which channelNetworks does not allow$/);
  });

  it("of one event has its facts as data, of agents together how many and which", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    await webhook(test, url, { events: ["operator.*", "agent.offline"] });
    const operatorId = await addOperator(test, "ada");
    const agents = [await approved(test, 1), await approved(test, 2)];
    await leave(test, ...agents);
    await pass(test, 66_000);
    await expect.poll(() => received.length).toBeGreaterThanOrEqual(2);
    const bodies = received.map(({ body }) => JSON.parse(body) as { type: string; data: { data: object } });
    const dataOf = (wanted: string): object => bodies.find(({ type }) => type === wanted)!.data.data;
    const { items } = await test.orchestrator.audit.list(systemCaller, { limit: 500 });
    const added = items.find(({ target }) => target?.id === operatorId)!;
    expect(dataOf("operator.added")).toEqual(added.metadata);
    const node_ids = agents.map(({ nodeId }) => nodeId);
    const { count, node_ids: named } = dataOf("agent.offline") as { count: number; node_ids: string[] };
    expect([count, named.toSorted()]).toEqual([2, node_ids.toSorted()]);
  });
});

it("an orchestrator that has stopped sends nothing more, however late it gets", async () => {
  const { url, received } = await startReceiver((response) => response.writeHead(503).end());
  const { id } = await webhook(test, url, { events: ["operator.*"] });
  await addOperator(test, "ada");
  await pass(test, 3_000);
  await expect.poll(() => received.length).toBe(1);
  await deliveriesOf(test, id, ["pending"]);
  await test[Symbol.asyncDispose]();
  await pass(test, 600_000, 10_000);
  expect(received).toHaveLength(1);
});

it("whoever names a channel that is not there is told which", async () => {
  const id = "0190a6c4-5b1e-7d3a-8f00-000000000000";
  const { channels } = test.orchestrator;
  const refusal = { code: "NOT_FOUND", message: `There is no channel ${id}.` };
  await expect(channels.get(systemCaller, { id })).rejects.toMatchObject(refusal);
  await expect(channels.update(systemCaller, { id, name: "pager" })).rejects.toMatchObject(refusal);
  await expect(channels.remove(systemCaller, { id })).rejects.toMatchObject(refusal);
  await expect(channels.test(systemCaller, { id })).rejects.toMatchObject(refusal);
  await expect(channels.deliveries(systemCaller, { id })).rejects.toMatchObject(refusal);
  const made = await webhook(test, nowhere);
  const delivery_id = id;
  await expect(channels.redeliver(systemCaller, { id: made.id, delivery_id })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: `There is no delivery ${id} of the channel.`,
  });
});
