import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { systemCaller } from "fleetwright";
import { createClient } from "fleetwright/client";
import type { Fetch } from "fleetwright/client";
import { createTestOrchestrator } from "fleetwright/testing";
import { pause, unlessAborted } from "../../../adapters/client/retry.ts";
import { serve } from "../../support/server.ts";
import { waitFor } from "../../support/wait-for.ts";

const quick = { firstPauseMs: 1 };
const url = "http://127.0.0.1:1";

/** Answers with each in turn, then with the last, and writes down what was asked. */
function scripted(...answers: (() => Response | Promise<Response>)[]) {
  const asked: { url: string; init: RequestInit }[] = [];
  const fetch: Fetch = async (to, init) => {
    asked.push({ url: to, init });
    return answers[Math.min(asked.length, answers.length) - 1]!();
  };
  const keys = (): (string | null)[] =>
    asked.map(({ init }) => new Headers(init.headers).get("idempotency-key"));
  return { fetch, asked, keys };
}

const ok = (): Response => Response.json({ items: [], next_cursor: null });
const reset = (): Response => {
  throw new TypeError("fetch failed");
};
const refusal =
  (status: number, code: string, headers: Record<string, string> = {}) =>
  () =>
    new Response(JSON.stringify({ type: "x", title: "x", detail: "x", status, code }), { status, headers });

describe("a call that fails by chance", () => {
  it("is sent again until it is answered", async () => {
    const { fetch, asked } = scripted(
      reset,
      refusal(503, "UNAVAILABLE"),
      () => new Response("", { status: 502 }),
      ok,
    );
    const client = createClient({ url, token: "fw_x", fetch, retry: quick });
    expect(await client.agents.list()).toEqual({ items: [], next_cursor: null });
    expect(asked).toHaveLength(4);
  });

  it("is given up after the attempts it has", async () => {
    const { fetch, asked } = scripted(refusal(503, "UNAVAILABLE"));
    const client = createClient({ url, token: "fw_x", fetch, retry: { ...quick, attempts: 2 } });
    await expect(client.agents.list()).rejects.toMatchObject({ status: 503, code: "UNAVAILABLE" });
    expect(asked).toHaveLength(2);
  });

  it("is given up after four attempts where their number is none", async () => {
    const { fetch, asked } = scripted(...Array.from({ length: 20 }, () => reset), ok);
    const client = createClient({ url, token: "fw_x", fetch, retry: { ...quick, attempts: Number.NaN } });
    await expect(client.agents.list()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(asked).toHaveLength(4);
  });

  it("is not sent again at once where the server asks for more time than a timer holds", async () => {
    const { fetch, asked } = scripted(refusal(503, "UNAVAILABLE", { "retry-after": "3000000" }), ok);
    const client = createClient({ url, token: "fw_x", fetch, retry: { longestPauseMs: Infinity } });
    await expect(client.agents.list()).rejects.toMatchObject({ status: 503 });
    expect(asked).toHaveLength(1);
  });

  it("is sent again where the server asks for just as long as the longest pause is", async () => {
    const { fetch, asked } = scripted(refusal(503, "UNAVAILABLE", { "retry-after": "0" }), ok);
    const client = createClient({ url, token: "fw_x", fetch, retry: { longestPauseMs: 0 } });
    await client.agents.list();
    expect(asked).toHaveLength(2);
  });

  it("is a change with the same key each time, and another call has another", async () => {
    const { fetch, keys } = scripted(reset, ok);
    const client = createClient({ url, token: "fw_x", fetch, retry: quick });
    await client.modules.upload({ content: "name: web" });
    await client.modules.remove("web");
    const [first, again, other] = keys();
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(again).toBe(first);
    expect(other).toMatch(/^[0-9a-f-]{36}$/);
    expect(other).not.toBe(first);
  });

  it("waits as long as the server asks", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { fetch, asked } = scripted(refusal(429, "RATE_LIMITED", { "retry-after": "7" }), ok);
    const answer = createClient({ url, token: "fw_x", fetch, retry: quick }).agents.list();
    await vi.advanceTimersByTimeAsync(6_999);
    expect(asked).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await answer).toEqual({ items: [], next_cursor: null });
  });

  it("is given up at once where the server asks for more patience than there is", async () => {
    const { fetch, asked } = scripted(refusal(429, "RATE_LIMITED", { "retry-after": "3600" }));
    const client = createClient({ url, token: "fw_x", fetch, retry: quick });
    await expect(client.agents.list()).rejects.toMatchObject({
      code: "RATE_LIMITED",
      retryAfterMs: 3_600_000,
    });
    expect(asked).toHaveLength(1);
  });

  it("ends with the signal, also in a pause", async () => {
    const stop = new AbortController();
    const { fetch, asked } = scripted(() => {
      queueMicrotask(() => stop.abort());
      return refusal(503, "UNAVAILABLE")();
    });
    const client = createClient({
      url,
      token: "fw_x",
      fetch,
      retry: { firstPauseMs: 3_600_000, longestPauseMs: 3_600_000 },
    });
    await expect(client.agents.list({}, { signal: stop.signal })).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    expect(asked).toHaveLength(1);
  });
});

it("ends in the middle of a pause, sends nothing more and leaves nothing at the signal", async () => {
  const stop = new AbortController();
  const { fetch, asked } = scripted(refusal(503, "UNAVAILABLE"));
  const retry = { firstPauseMs: 3_600_000, longestPauseMs: 3_600_000 };
  const call = createClient({ url, token: "fw_x", fetch, retry }).agents.list({}, { signal: stop.signal });
  await waitFor(() => expect(getEventListeners(stop.signal, "abort")).toHaveLength(1));
  stop.abort();
  await expect(call).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(asked).toHaveLength(1);
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
});

it("a pause that begins after the end of its signal is over at once", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  await pause(3_600_000, AbortSignal.abort());
  expect(vi.getTimerCount()).toBe(0);
});

it("a signal that outlives many calls keeps nothing of them", async () => {
  const { signal } = new AbortController();
  const { fetch } = scripted(refusal(503, "UNAVAILABLE"), reset, ok);
  await createClient({ url, token: "fw_x", fetch, retry: quick }).agents.list({}, { signal });
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it.each<[string, () => Response | Promise<Response>]>([
  ["429 with the problem of the server", refusal(429, "RATE_LIMITED")],
  ["503 with the problem of the server", refusal(503, "UNAVAILABLE")],
  ["503 of an orchestrator that was stopped", refusal(503, "STORAGE_CLOSED")],
  ...[429, 502, 503, 504].map(
    (status) =>
      [`${status} of a gateway`, () => new Response("busy", { status })] as [string, () => Response],
  ),
  ["no answer", reset],
])("%s passes, and the call is sent again", async (_, failing) => {
  const { fetch, asked } = scripted(failing, ok);
  const client = createClient({ url, token: "fw_x", fetch, retry: quick });
  expect(await client.agents.list()).toEqual({ items: [], next_cursor: null });
  expect(asked).toHaveLength(2);
});

it.each([400, 401, 403, 404, 408, 409, 413, 421, 500, 501, 505])(
  "%s without the problem of the server is for good, and told at once",
  async (status) => {
    const { fetch, asked } = scripted(() => new Response("no", { status }));
    const client = createClient({ url, token: "fw_x", fetch, retry: quick });
    await expect(client.agents.list()).rejects.toMatchObject({ status, code: "PEER_ERROR" });
    expect(asked).toHaveLength(1);
  },
);

it.each([
  [400, "VALIDATION_FAILED"],
  [409, "AGENT_OFFLINE"],
  [500, "INTERNAL"],
  [503, "STORAGE_FAILED"],
])("a refusal %s %s is for good, and told at once", async (status, code) => {
  const { fetch, asked } = scripted(refusal(status, code));
  const client = createClient({ url, token: "fw_x", fetch, retry: quick });
  await expect(client.agents.list()).rejects.toMatchObject({ status, code });
  expect(asked).toHaveLength(1);
});

describe("against a server", () => {
  it("a change whose answer was lost on the way is made once, and answered as it was", async () => {
    await using product = await createTestOrchestrator();
    await using server = await serve(product.orchestrator);
    const { token } = await product.signIn("Admin");
    let lost = 0;
    const lossy: Fetch = async (to, init) => {
      const answer = await fetch(to, init);
      if (init.method !== "POST" || lost++ > 0) return answer;
      await answer.text();
      throw new TypeError("fetch failed");
    };
    const client = createClient({ url: server.url, token, fetch: lossy, retry: quick });
    const content = "name: web\nresources:\n  - { type: directory, path: /etc/web }\n";
    expect(await client.modules.upload({ content })).toMatchObject({ revision: 1, created: true });
    const uploads = product.events.filter(({ event_type }) => event_type === "module.uploaded");
    expect(uploads).toHaveLength(1);
    expect(lost).toBe(2);
  });

  it("a change of what was read is refused where somebody else was faster", async () => {
    await using product = await createTestOrchestrator();
    await using server = await serve(product.orchestrator);
    const { token } = await product.signIn("Admin");
    const { operator_id } = await product.signIn("Viewer");
    const client = createClient({ url: server.url, token });
    const read = await client.operators.get(operator_id);
    await product.orchestrator.operators.setRole(systemCaller, { operator_id, role: "Operator" });
    await expect(
      client.operators.setRole(operator_id, { role: "Admin" }, { ifVersion: read.version }),
    ).rejects.toMatchObject({
      code: "PRECONDITION_FAILED",
    });
    const fresh = await client.operators.get(operator_id);
    expect(
      await client.operators.setRole(operator_id, { role: "Admin" }, { ifVersion: fresh.version }),
    ).toMatchObject({
      role: "Admin",
    });
  });
});

it.each<[string, () => Promise<unknown>]>([
  ["is there", () => Promise.resolve("x")],
  ["has failed", () => Promise.reject(new Error("x"))],
])("a wait for what %s leaves nothing at the signal that could have ended it", async (_, work) => {
  const { signal } = new AbortController();
  await unlessAborted(work(), signal).catch(() => {});
  await waitFor(() => expect(getEventListeners(signal, "abort")).toEqual([]));
});
