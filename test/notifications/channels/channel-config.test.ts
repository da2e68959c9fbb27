/** What is secret of a channel: where it is kept, who sees it, and what reads it. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { systemCaller, type Channel } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import { createNotifying, webhook } from "../../support/channel-scene.ts";
import { startReceiver } from "../../support/receiver.ts";

const canary = "c4nary0f-a-channel";

let test: TestOrchestrator;
beforeEach(async () => {
  test = await createNotifying();
});
afterEach(() => test[Symbol.asyncDispose]());

const channels = () => test.orchestrator.channels;
const send = (id: string) => channels().test(systemCaller, { id });

/** Everything that is stored, told or listed, as text. */
async function everything(): Promise<string> {
  const stored: unknown[] = [];
  for (const collection of ["channels", "secret_values", "channel_states", "deliveries", "idempotency"])
    stored.push((await test.storage.list(collection, { limit: 1000 }).catch(() => ({ items: [] }))).items);
  for (const log of ["events", "audit"])
    stored.push((await test.storage.readLog(log, { limit: 1000 })).entries);
  const listed = await channels().list(systemCaller);
  return JSON.stringify([stored, listed, test.events, test.loggedErrors]);
}

describe("a secret field of a channel", () => {
  it("is nowhere to be read, and arrives", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    const created = await webhook(test, url, { config: { url, headers: { authorization: canary } } });
    expect(created.config).toEqual({ url, headers: "********" });
    expect((await send(created.id)).delivered).toBe(true);
    expect(received[0]!.headers.authorization).toBe(canary);
    expect(await everything()).not.toContain(canary);
  });

  it("stays where its mask is sent back, is changed where it is not, and goes with the channel", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    const { id, config } = await webhook(test, url, { config: { url, headers: { "x-key": "one" } } });
    await channels().update(systemCaller, { id, config, name: "other" });
    await send(id);
    await channels().update(systemCaller, { id, config: { url, headers: { "x-key": "two" } } });
    await send(id);
    await channels().update(systemCaller, { id, config: { url } });
    await send(id);
    expect(received.map(({ headers }) => headers["x-key"])).toEqual(["one", "two", undefined]);
    expect(await test.storage.count("secret_values")).toBe(0);
    await channels().update(systemCaller, { id, config: { url, headers: { "x-key": "three" } } });
    expect(await test.storage.count("secret_values")).toBe(1);
    await channels().remove(systemCaller, { id });
    expect(await test.storage.count("secret_values")).toBe(0);
  });

  it("is read with another key after the keys of secrets have changed", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    const { id } = await webhook(test, url, { config: { url, headers: { "x-key": "one" } } });
    expect((await test.orchestrator.secrets.rotateKey(systemCaller)).rewrapped).toBe(1);
    await send(id);
    expect(received[0]!.headers["x-key"]).toBe("one");
  });

  it("may name a secret, whose newest value is read for each message, and which is in use then", async () => {
    const one = await startReceiver((response) => response.end());
    const two = await startReceiver((response) => response.end());
    const { secrets } = test.orchestrator;
    await secrets.create(systemCaller, { name: "hook", value: one.url });
    const created: Channel = await channels().create(systemCaller, {
      name: "chat",
      type: "slack",
      config: { url: "secret:hook" },
    });
    expect(created.config).toEqual({ url: "secret:hook" });
    await send(created.id);
    await secrets.update(systemCaller, { name: "hook", value: two.url });
    await send(created.id);
    expect([one.received.length, two.received.length]).toEqual([1, 1]);
    expect((await secrets.get(systemCaller, { name: "hook" })).used_by).toEqual(["channel chat"]);
    await expect(secrets.remove(systemCaller, { name: "hook" })).rejects.toMatchObject({ code: "IN_USE" });
    await secrets.update(systemCaller, { name: "hook", value: "no address" });
    expect(await send(created.id)).toMatchObject({
      delivered: false,
      error: expect.stringContaining("config.url") as string,
    });
    await channels().remove(systemCaller, { id: created.id });
    await secrets.remove(systemCaller, { name: "hook" });
  });

  it.each(["\n", "\r\n"])("may name a secret that ends with a line break: %j", async (end) => {
    const { url, received } = await startReceiver((response) => response.end());
    const { secrets } = test.orchestrator;
    const name = `ended-${end.length}`;
    await secrets.create(systemCaller, { name, value: url + end });
    const config = { url: `secret:${name}` };
    const { id } = await channels().create(systemCaller, { name, type: "slack", config });
    expect(await send(id)).toMatchObject({ delivered: true });
    expect(received).toHaveLength(1);
    await secrets.update(systemCaller, { name, value: `${url}${end}${end}` });
    expect(await send(id)).toMatchObject({ delivered: false });
  });

  it("takes a secret as it is where any text will do", async () => {
    const sent: unknown[] = [];
    await using own = await createNotifying({
      channelTypes: {
        any: {
          config: z.strictObject({ phrase: z.string(), token: z.string().regex(/^\w+$/) }) as never,
          secretFields: ["phrase", "token"],
          send: (_message, { phrase, token }) => (
            sent.push([phrase, token]),
            Promise.resolve({ delivered: true, duration_ms: 1 })
          ),
        },
      },
    });
    await own.orchestrator.secrets.create(systemCaller, { name: "phrase", value: "open\n" });
    await own.orchestrator.secrets.create(systemCaller, { name: "token", value: "abc\n" });
    const config = { phrase: "secret:phrase", token: "secret:token" };
    const made = { name: "any", type: "any", config };
    const { id } = await own.orchestrator.channels.create(systemCaller, made);
    await own.orchestrator.channels.test(systemCaller, { id });
    expect(sent).toEqual([["open\n", "abc"]]);
  });

  it("names a secret as a text alone: in a list or a map the same words are a value", async () => {
    const sent: unknown[] = [];
    await using own = await createNotifying({
      channelTypes: {
        listing: {
          config: z.strictObject({ tokens: z.json() }) as never,
          secretFields: ["tokens"],
          send: (_message, { tokens }) => {
            sent.push(tokens);
            return Promise.resolve({ delivered: true, duration_ms: 1 });
          },
        },
      },
    });
    const { channels: all, secrets } = own.orchestrator;
    await secrets.create(systemCaller, { name: "hook", value: canary });
    const values = [["secret:hook"], [["secret:hook"]], { of: "secret:hook" }];
    for (const tokens of values) {
      const made = await all.create(systemCaller, { name: "list", type: "listing", config: { tokens } });
      expect(made.config).toEqual({ tokens: "********" });
      expect(await all.test(systemCaller, { id: made.id })).toMatchObject({ delivered: true });
    }
    expect(sent).toEqual(values);
    expect((await secrets.get(systemCaller, { name: "hook" })).used_by).toEqual([]);
    const refused = webhook(own, "https://a.test", {
      config: { url: "https://a.test", secret: ["secret:hook"] },
    });
    await expect(refused).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["config", "secret"] }],
    });
  });

  it.each([
    ["by itself", z.string(), canary],
    ["in an object", z.record(z.string(), z.string()), { authorization: canary }],
    ["in a list", z.array(z.string()), ["other", canary]],
    ["deeper", z.json(), { all: [{ of: canary }] }],
  ])("is not told by a type that fails with it in its words: %s", async (_, schema, token) => {
    await using own = await createNotifying({
      channelTypes: {
        loud: {
          config: z.strictObject({ token: schema }) as never,
          secretFields: ["token"],
          send: () =>
            Promise.resolve({ delivered: false, error: `the token ${canary}\nis wrong`, duration_ms: 1 }),
        },
      },
    });
    const channel = { name: "loud", type: "loud", config: { token } };
    const { id } = await own.orchestrator.channels.create(systemCaller, channel);
    const outcome = await own.orchestrator.channels.test(systemCaller, { id });
    expect(outcome.error).toBe("the token ******** is wrong");
  });
});

describe("a change of a channel", () => {
  it("is made to the version that was seen alone", async () => {
    const { id, version } = await webhook(test, "https://hooks.example.com");
    await channels().update(systemCaller, { id, name: "b" }, { ifVersion: [version] });
    const stale = channels().update(systemCaller, { id, name: "c" }, { ifVersion: [version] });
    await expect(stale).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
    const removed = channels().remove(systemCaller, { id }, { ifVersion: [version] });
    await expect(removed).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
  });

  it("of two at once loses neither", async () => {
    const { id } = await webhook(test, "https://hooks.example.com");
    await Promise.all([
      channels().update(systemCaller, { id, name: "b" }),
      channels().update(systemCaller, { id, config: { url: "https://c.test", headers: { a: "b" } } }),
      channels().update(systemCaller, { id, min_severity: "critical" }),
    ]);
    expect(await channels().get(systemCaller, { id })).toMatchObject({
      name: "b",
      config: { url: "https://c.test", headers: "********" },
      min_severity: "critical",
    });
  });
});
