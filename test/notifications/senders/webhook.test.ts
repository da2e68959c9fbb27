import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { webhookChannelType } from "../../../lib/notifications/senders/webhook.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { startReceiver } from "../../support/receiver.ts";
import { messageOf, send } from "./scene.ts";

const keyOf = (bytes: number): string => `whsec_${randomBytes(bytes).toString("base64")}`;

describe("a webhook", () => {
  it.each([24, 32, 64])("is signed as Standard Webhooks verify it, with %d bytes", async (bytes) => {
    const secret = keyOf(bytes);
    const { url, received } = await startReceiver((response) => response.end());
    const message = messageOf({ title: "Zoë & „web-1“ 🚒" });
    const attempt = await send(webhookChannelType, { url: `${url}/hook?a=b`, secret }, { message });
    expect(attempt).toEqual({ delivered: true, status_code: 200, duration_ms: expect.any(Number) as number });
    const [{ method, path, headers, body }] = received as [(typeof received)[0]];
    expect([method, path, headers["content-type"]]).toEqual(["POST", "/hook?a=b", "application/json"]);
    const signed = headers as Record<string, string>;
    expect(new Webhook(secret).verify(body, signed)).toEqual({
      type: "agent.offline",
      timestamp: message.created_at,
      data: {
        id: message.id,
        severity: "critical",
        title: message.title,
        body: message.body,
        subject: message.subject,
        data: { seconds: 60 },
        url: message.url,
      },
    });
    expect(headers["webhook-id"]).toBe(message.id);
    expect(() => new Webhook(keyOf(bytes)).verify(body, signed)).toThrow("No matching signature");
    expect(() => new Webhook(secret).verify(`${body} `, signed)).toThrow("No matching signature");
    expect(() => new Webhook(secret).verify(body, { ...signed, "webhook-id": "other" })).toThrow(
      "No matching",
    );
  });

  it("carries the time of the attempt, and one id for all attempts", async () => {
    const clock = new FakeClock();
    const { url, received } = await startReceiver((response) => response.writeHead(503).end());
    const config = { url, secret: keyOf(24) };
    await send(webhookChannelType, config, { clock });
    await clock.advance(60_000);
    await send(webhookChannelType, config, { clock });
    const [one, two] = received.map(({ headers }) => headers);
    expect(Number(two?.["webhook-timestamp"]) - Number(one?.["webhook-timestamp"])).toBe(60);
    expect(Number(one?.["webhook-timestamp"])).toBe(1_893_456_000);
    expect(two?.["webhook-id"]).toBe(one?.["webhook-id"]);
    expect(two?.["webhook-signature"]).not.toBe(one?.["webhook-signature"]);
  });

  it("is not signed without a secret, and has headers of its own", async () => {
    const { url, received } = await startReceiver((response) => response.end());
    await send(webhookChannelType, { url, headers: { Authorization: "Bearer abc", "x-team": "ops" } });
    expect(received[0]?.headers).toMatchObject({ authorization: "Bearer abc", "x-team": "ops" });
    expect(received[0]?.headers).not.toHaveProperty("webhook-signature");
  });

  it.each([
    ["no url", {}],
    ["another scheme", { url: "ftp://a.example" }],
    ["a user in the url", { url: "https://user:word@a.example/" }],
    ["a port that is none", { url: "https://a.example:99999/" }],
    ["a field that is not known", { url: "https://a.example", retries: 3 }],
    ["a secret without its prefix", { url: "https://a.example", secret: randomBytes(32).toString("base64") }],
    ["a short secret", { url: "https://a.example", secret: keyOf(23) }],
    ["a long secret", { url: "https://a.example", secret: keyOf(65) }],
    ["a secret that is no base64", { url: "https://a.example", secret: `whsec_${"*".repeat(40)}` }],
    ...[
      "webhook-id",
      "Webhook-Signature",
      "WEBHOOK-TIMESTAMP",
      "Host",
      "content-length",
      "content-type",
      "transfer-encoding",
      "connection",
    ].map((name): [string, object] => [
      `the header ${name}`,
      { url: "https://a.example", headers: { [name]: "x" } },
    ]),
    ["a line end in a header", { url: "https://a.example", headers: { "x-a": "b\r\nhost: c" } }],
    ["a line end in the name of a header", { url: "https://a.example", headers: { "x-a\r\nb": "c" } }],
    ["a header beyond ASCII", { url: "https://a.example", headers: { "x-a": "Zoë" } }],
  ])("is not configured with %s", (_what, config) => {
    expect(webhookChannelType.config.safeParse(config).success).toBe(false);
  });
});

describe("what an answer means", () => {
  const nothing = {};
  it.each([
    [200, nothing, { delivered: true }],
    [204, nothing, { delivered: true }],
    [301, { location: "/elsewhere" }, { delivered: false, permanent: true, error: "it redirects (301)" }],
    [307, { location: "/elsewhere" }, { delivered: false, permanent: true, error: "it redirects (307)" }],
    [400, nothing, { delivered: false, permanent: true, error: "it answered 400" }],
    [401, nothing, { delivered: false, permanent: true, error: "it answered 401" }],
    [404, nothing, { delivered: false, permanent: true, error: "it answered 404" }],
    [410, nothing, { delivered: false, permanent: true, error: "it answered 410" }],
    [300, nothing, { delivered: false, permanent: true, error: "it redirects (300)" }],
    [399, nothing, { delivered: false, permanent: true, error: "it redirects (399)" }],
    [408, nothing, { delivered: false, error: "it answered 408" }],
    [425, nothing, { delivered: false, error: "it answered 425" }],
    [499, nothing, { delivered: false, permanent: true, error: "it answered 499" }],
    [599, nothing, { delivered: false, error: "it answered 599" }],
    [299, nothing, { delivered: true }],
    [429, { "retry-after": "7" }, { delivered: false, error: "it answered 429", retry_after_ms: 7000 }],
    [429, { "retry-after": "0.5" }, { delivered: false, error: "it answered 429", retry_after_ms: 500 }],
    [
      503,
      { "retry-after": "999999" },
      { delivered: false, error: "it answered 503", retry_after_ms: 3_600_000 },
    ],
    [
      503,
      { "retry-after": "Tue, 01 Jan 2030 00:02:00 GMT" },
      { delivered: false, error: "it answered 503", retry_after_ms: 120_000 },
    ],
    [
      503,
      { "retry-after": "Mon, 31 Dec 2029 00:00:00 GMT" },
      { delivered: false, error: "it answered 503", retry_after_ms: 0 },
    ],
    [503, { "retry-after": "soon" }, { delivered: false, error: "it answered 503" }],
    [500, nothing, { delivered: false, error: "it answered 500" }],
  ])("%d %j", async (status, headers, expected) => {
    const { url, received } = await startReceiver((response) =>
      response.writeHead(status, headers).end(status === 204 ? undefined : "do not tell: tiger"),
    );
    const attempt = await send(webhookChannelType, { url }, { clock: new FakeClock() });
    expect(attempt).toEqual({ ...expected, status_code: status, duration_ms: 0 });
    expect(received).toHaveLength(1);
  });

  it("is measured", async () => {
    const { url } = await startReceiver((response) => void setTimeout(() => response.end(), 120));
    const { duration_ms } = await send(webhookChannelType, { url }, { clock: systemClock });
    expect(duration_ms).toBeGreaterThanOrEqual(110);
    expect(duration_ms).toBeLessThan(3000);
  });
});
