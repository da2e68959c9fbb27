import { describe, expect, test } from "vitest";
import { startToy } from "./server.ts";

const authorization = "Bearer fw_good";
const json = { authorization, "content-type": "application/json" };

/** The same requests within the process and on a socket. */
const cases: [name: string, path: string, init: RequestInit][] = [
  ["a GET", "/api/v1/machines/web-1", { headers: { authorization } }],
  ["a query", "/api/v1/machines?limit=3&tags=a&tags=b", { headers: { authorization } }],
  ["HEAD", "/api/v1/machines/web-1", { method: "HEAD", headers: { authorization } }],
  ["OPTIONS", "/api/v1/machines", { method: "OPTIONS" }],
  ["a POST", "/api/v1/machines", { method: "POST", headers: json, body: '{"name":"a","level":1}' }],
  ["an empty POST", "/api/v1/machines/web-1/ping", { method: "POST", headers: { authorization } }],
  ["malformed JSON", "/api/v1/machines", { method: "POST", headers: json, body: "{" }],
  ["a stranger", "/api/v1/me", {}],
  ["an unknown path", "/api/v1/nothing", {}],
  ["a wrong method", "/api/v1/me", { method: "DELETE" }],
  ["a stream", "/api/v1/machines/web-1/transcript", { headers: { authorization } }],
  [
    "a body that is too large",
    "/api/v1/machines",
    { method: "POST", headers: json, body: "x".repeat(2 << 20) },
  ],
];

describe("REST within the process answers as on a socket", () => {
  test.each(cases)("%s", async (_name, path, init) => {
    await using server = await startToy({ createRequestId: () => "r" });
    const near = await server.app.h3.fetch(new Request(`http://local${path}`, init));
    const far = await fetch(server.url + path, init);
    expect(near.status).toBe(far.status);
    expect(await near.text()).toBe(await far.text());
    for (const header of ["content-type", "allow", "location", "etag", "x-request-id", "www-authenticate"]) {
      expect(near.headers.get(header)).toBe(far.headers.get(header));
    }
  });
});

test("a body that broke off and ends like a whole one, as with Hono over HTTP/2, does not pass for none", async () => {
  await using server = await startToy();
  const body = new ReadableStream({ start: (controller) => controller.close() });
  const init = { method: "POST", headers: { authorization }, body, duplex: "half" as const };
  const signal = AbortSignal.abort();
  const answer = await server.app.h3.fetch(
    new Request("http://local/api/v1/machines/web-1/ping", { ...init, signal }),
  );
  expect(await answer.json()).toMatchObject({ code: "VALIDATION_FAILED", detail: "The body broke off." });
});

test("a body of no bytes that a host has read before is none, and nothing that it said is lost", async () => {
  await using server = await startToy();
  const sent = async (length: string) => {
    const body = new ReadableStream({ start: (controller) => controller.close() });
    const headers = { authorization, "content-length": length };
    const request = new Request("http://local/api/v1/machines/web-1/ping", {
      method: "POST",
      headers,
      body,
      duplex: "half",
    });
    await request.text();
    return server.app.h3.fetch(request);
  };
  expect((await sent("0")).status).toBe(204);
  expect(await (await sent("2")).json()).toMatchObject({ status: 400, code: "VALIDATION_FAILED" });
});

test("a request that tells nothing of being broken off, as of a host of its own, is one that was not", async () => {
  await using server = await startToy();
  const body = JSON.stringify({ name: "web-9", level: 1 });
  const request = new Request("http://local/api/v1/machines", { method: "POST", headers: json, body });
  Object.defineProperty(request, "signal", { value: undefined });
  expect((await server.app.h3.fetch(request)).status).toBe(201);
});
