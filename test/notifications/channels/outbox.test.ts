/** Messages from the event to the receiver. */
import { createHmac } from "node:crypto";
import type { ServerResponse } from "node:http";
import { describe, expect, it, vi } from "vitest";
import { systemCaller } from "fleetwright";
import { addOperator, createNotifying, deliveriesOf, pass, webhook } from "../../support/channel-scene.ts";
import { startReceiver } from "../../support/receiver.ts";

interface Body {
  type: string;
  data: { id: string; title: string };
}

const bodies = (received: { body: string }[]): Body[] => received.map(({ body }) => JSON.parse(body) as Body);

describe("a channel", () => {
  it("is told of what happens, signed, once", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    await using test = await createNotifying();
    const secret = `whsec_${Buffer.alloc(32, 5).toString("base64")}`;
    const { id } = await webhook(test, url, { config: { url, secret } });
    await addOperator(test, "ada");
    await pass(test, 3_000);
    const [delivery] = await deliveriesOf(test, id, ["delivered"]);
    expect(delivery).toMatchObject({ attempts: 1, status_code: 200, event_type: "operator.added" });
    expect(received).toHaveLength(1);
    const { headers, body } = received[0]!;
    const signed = `${headers["webhook-id"] as string}.${headers["webhook-timestamp"] as string}.${body}`;
    const key = Buffer.alloc(32, 5);
    const signature = createHmac("sha256", key).update(signed).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${signature}`);
    expect(bodies(received)[0]).toMatchObject({ type: "operator.added", data: { id: delivery!.id } });
    const channel = await test.orchestrator.channels.get(systemCaller, { id });
    expect(channel).toMatchObject({
      config: { url, secret: "********" },
      last_delivery: { delivered: true, status_code: 200 },
    });
  });

  it("tries again, later each time, in order; what is refused for good is dead, and told once", async () => {
    let status = 503;
    const { url, received } = await startReceiver((response) => {
      response.statusCode = status;
      // It asks for no rest at all, and gets one.
      response.setHeader("retry-after", "0");
      response.end();
    });
    await using test = await createNotifying();
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    for (const name of ["a", "b", "c"]) await addOperator(test, name);
    await pass(test, 3_000);
    await expect.poll(() => received.length).toBe(1);
    await deliveriesOf(test, id, ["pending", "pending", "pending"]);
    // 5 s, 10 s, 20 s, each a quarter more or less.
    await pass(test, 60_000);
    await expect.poll(() => received.length).toBeGreaterThanOrEqual(4);
    expect(received.length).toBeLessThanOrEqual(6);
    expect(new Set(bodies(received).map(({ data }) => data.id)).size).toBe(1);
    status = 200;
    await pass(test, 120_000);
    const told = await deliveriesOf(test, id, ["delivered", "delivered", "delivered"]);
    const ids = bodies(received).map(({ data }) => data.id);
    expect([...new Set(ids)]).toEqual(told.map((each) => each.id));
    status = 404;
    for (const name of ["d", "e"]) await addOperator(test, name);
    await pass(test, 5_000);
    await deliveriesOf(test, id, ["delivered", "delivered", "delivered", "dead", "dead"]);
    await pass(test, 5_000);
    const failed = test.events.filter(({ event_type }) => event_type === "channel.failed");
    expect(failed).toHaveLength(1);
    const { items } = await test.orchestrator.notifications.list(systemCaller, {});
    expect(items[0]).toMatchObject({ event_type: "channel.failed", subject: { type: "channel", id } });
  });

  it("is failing until something arrives, however many messages that takes, and that is told once", async () => {
    let status = 404;
    const { url, received } = await startReceiver((response) => {
      response.statusCode = status;
      response.end();
    });
    await using test = await createNotifying();
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    const failed = () => test.events.filter(({ event_type }) => event_type === "channel.failed");
    await addOperator(test, "given-up");
    await pass(test, 5_000);
    await deliveriesOf(test, id, ["dead"]);
    expect(failed()).toHaveLength(1);
    // The first attempts of the next message fail as well, before it is given up.
    status = 503;
    await addOperator(test, "tried-again");
    await pass(test, 15_000);
    await expect.poll(() => received.length).toBeGreaterThanOrEqual(2);
    status = 404;
    await pass(test, 60_000);
    await deliveriesOf(test, id, ["dead", "dead"]);
    expect(failed()).toHaveLength(1);
    status = 200;
    await addOperator(test, "arrived");
    await pass(test, 5_000);
    await deliveriesOf(test, id, ["dead", "dead", "delivered"]);
    status = 404;
    await addOperator(test, "refused-anew");
    await pass(test, 5_000);
    await deliveriesOf(test, id, ["dead", "dead", "delivered", "dead"]);
    expect(failed()).toHaveLength(2);
  });

  it("is told what waited while it was disabled once it is enabled again", async () => {
    let status = 503;
    const { url, received } = await startReceiver((response) => response.writeHead(status).end());
    await using test = await createNotifying();
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    await addOperator(test, "ada");
    await pass(test, 3_000);
    await expect.poll(() => received.length).toBe(1);
    await deliveriesOf(test, id, ["pending"]);
    await test.orchestrator.channels.update(systemCaller, { id, enabled: false });
    status = 200;
    await pass(test, 60_000);
    expect(received).toHaveLength(1);
    await test.orchestrator.channels.update(systemCaller, { id, enabled: true });
    await pass(test, 1_000);
    await deliveriesOf(test, id, ["delivered"]);
  });

  it("that is down for a day gives a message up, and holds up no other channel; it may be sent again", async () => {
    const up = await startReceiver((response) => response.end());
    let isDown = true;
    const down = await startReceiver((response) => {
      if (isDown) response.socket?.destroy();
      else response.end();
    });
    await using test = await createNotifying();
    const { id } = await webhook(test, down.url, { events: ["operator.*"] });
    const other = await webhook(test, up.url, { events: ["operator.*"] });
    await addOperator(test, "a");
    await pass(test, 3_000);
    await deliveriesOf(test, other.id, ["delivered"]);
    await pass(test, 86_400_000, 600_000);
    await pass(test, 7_200_000, 600_000);
    const [dead] = await deliveriesOf(test, id, ["dead"]);
    expect(dead!.attempts).toBeGreaterThan(20);
    expect(dead!.error).toBe("the other side broke the connection off");
    isDown = false;
    const again = { id, delivery_id: dead!.id };
    expect((await test.orchestrator.channels.redeliver(systemCaller, again)).status).toBe("pending");
    await deliveriesOf(test, id, ["delivered"]);
    expect(bodies(down.received).at(-1)!.data.id).toBe(dead!.id);
  }, 60_000);

  it.each([
    ["its type refuses", "dead", { value: "no address" }],
    ["reads a secret that is over", "pending", { expires_at: "2030-01-01T00:00:01.000Z" }],
  ] as const)("with a config that %s has its message %s after one attempt", async (_what, status, spoilt) => {
    const { url, received } = await startReceiver((response) => response.end());
    await using test = await createNotifying();
    const { secrets } = test.orchestrator;
    await secrets.create(systemCaller, { name: "hook", value: url });
    const config = { url: "secret:hook" };
    const { id } = await webhook(test, url, { type: "slack", events: ["operator.*"], config });
    await secrets.update(systemCaller, { name: "hook", ...spoilt });
    await pass(test, 2_000);
    await addOperator(test, "ada");
    await pass(test, 3_000);
    const [delivery] = await deliveriesOf(test, id, [status]);
    expect(delivery).toMatchObject({ attempts: 1, status });
    expect(received).toEqual([]);
  });

  it("says of a delivery what came of its last attempt, and nothing of those before", async () => {
    const answers: ((response: ServerResponse) => void)[] = [
      (response) => response.writeHead(503).end(),
      (response) => response.destroy(),
      (response) => response.writeHead(204).end(),
    ];
    const { url, received } = await startReceiver((response) => answers[received.length - 1]!(response));
    await using test = await createNotifying();
    const { id } = await webhook(test, url, { events: ["operator.*"] });
    await addOperator(test, "ada");
    const said: unknown[] = [];
    for (const status of ["pending", "pending", "delivered"] as const) {
      const attempts = said.length + 1;
      const delivery = await vi.waitFor(async () => {
        await pass(test, 1_000);
        const { items } = await test.orchestrator.channels.deliveries(systemCaller, { id });
        expect(items).toMatchObject([{ attempts, status }]);
        return items[0]!;
      }, 30_000);
      const { status_code, error } = delivery;
      said.push({ ...(status_code !== undefined && { status_code }), ...(error !== undefined && { error }) });
    }
    expect(said).toEqual([
      { status_code: 503, error: "it answered 503" },
      { error: "the other side broke the connection off" },
      { status_code: 204 },
    ]);
  });

  it("tells what its filters let pass", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    await using test = await createNotifying();
    await webhook(test, url, { events: ["agent.*"] });
    await webhook(test, url, { min_severity: "warning" });
    await webhook(test, url, { enabled: false });
    await webhook(test, url, { selector: "role=web" });
    const last = await webhook(test, url, { events: ["operator.added"] });
    await addOperator(test, "a");
    await pass(test, 3_000);
    await deliveriesOf(test, last.id, ["delivered"]);
    expect(received).toHaveLength(1);
  });

  it("is tested at once, and says what came of it", async () => {
    let status = 200;
    const { url, received } = await startReceiver((response) => {
      response.statusCode = status;
      response.end("words of the receiver");
    });
    await using test = await createNotifying();
    const { id } = await webhook(test, url, { enabled: false });
    const { channels } = test.orchestrator;
    expect(await channels.test(systemCaller, { id })).toMatchObject({ delivered: true, status_code: 200 });
    status = 500;
    const failed = await channels.test(systemCaller, { id });
    expect(failed).toMatchObject({ delivered: false, status_code: 500, error: "it answered 500" });
    expect(received).toHaveLength(2);
    const loopback = await webhook(test, "http://[::1]:9/");
    expect(await channels.test(systemCaller, { id: loopback.id })).toMatchObject({
      delivered: false,
      error: "the host is a loopback address, which channelNetworks does not allow",
    });
  });
});
