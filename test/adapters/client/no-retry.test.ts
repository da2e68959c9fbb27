/** A call after which none may follow: what is under way is waited for, what would come next is not sent. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { createClient, type Fetch } from "fleetwright/client";
import { createTestOrchestrator } from "fleetwright/testing";
import { deferred } from "../../support/deferred.ts";
import { OwnTime } from "../../support/own-time.ts";
import { serve } from "../../support/server.ts";
import { waitFor } from "../../support/wait-for.ts";

const busy = (retryAfter: number): Response => {
  const problem = { type: "x", title: "x", detail: "x", status: 503, code: "UNAVAILABLE" };
  const headers = { "retry-after": String(retryAfter) };
  return new Response(JSON.stringify(problem), { status: 503, headers });
};
const ok = (): Response => Response.json({ items: [], next_cursor: null });

function scene(answer: (time: number) => Response | Promise<Response>, firstPauseMs = 1) {
  let sent = 0;
  const fetch: Fetch = async () => answer((sent += 1));
  const stop = new AbortController();
  const client = createClient({ url: "http://127.0.0.1:1", token: "fw_x", fetch, retry: { firstPauseMs } });
  return { client, stop, sent: () => sent, list: () => client.agents.list({}, { noRetry: stop.signal }) };
}

test.each([
  ["that the server asked for", () => busy(15)],
  ["of its own", () => busy(0)],
])("a pause %s ends at once, with the failure before it", async (_, answer) => {
  const { stop, sent, list } = scene(answer, 10_000);
  using time = new OwnTime();
  const listed = list().catch((error: unknown) => error);
  await waitFor(() => expect(getEventListeners(stop.signal, "abort")).toHaveLength(1));
  stop.abort();
  expect(await listed).toMatchObject({ status: 503, code: "UNAVAILABLE" });
  expect(time.ms).toBeLessThan(2_000);
  expect([sent(), getEventListeners(stop.signal, "abort")]).toEqual([1, []]);
});

test("what is under way is waited for, and its answer is given", async () => {
  const answered = deferred<Response>();
  const { stop, sent, list } = scene(() => answered.promise);
  const listed = list();
  await waitFor(() => expect(sent()).toBe(1));
  stop.abort();
  answered.resolve(ok());
  expect(await listed).toEqual({ items: [], next_cursor: null });
});

test("what is under way and fails is not sent again", async () => {
  const answered = deferred<Response>();
  const { stop, sent, list } = scene(() => answered.promise);
  const listed = list().catch((error: unknown) => error);
  await waitFor(() => expect(sent()).toBe(1));
  stop.abort();
  answered.resolve(busy(0));
  expect(await listed).toMatchObject({ status: 503 });
  expect(sent()).toBe(1);
});

test("a call that begins after it is sent once", async () => {
  const { stop, sent, list } = scene((time) => (time === 1 ? busy(0) : ok()));
  stop.abort();
  await expect(list()).rejects.toMatchObject({ status: 503 });
  expect(sent()).toBe(1);
});

test("a call that is not stopped is sent again", async () => {
  const { sent, list } = scene((time) => (time === 1 ? busy(0) : ok()));
  expect(await list()).toEqual({ items: [], next_cursor: null });
  expect(sent()).toBe(2);
});

test.each(["a\nb", "a\u0000", "a\u007fb", "ключ", "a\u0100", "a\ufeff", "\u2028a", "a\u3000"])(
  "what no header can hold is refused before anything is sent: %j",
  async (idempotencyKey) => {
    const { client, sent } = scene(ok);
    const removed = client.agents.remove("x", { idempotencyKey }).catch((error: unknown) => error);
    const error = await removed;
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(/"idempotency-key"/);
    expect((error as Error).message).not.toContain(idempotencyKey);
    expect(sent()).toBe(0);
  },
);

test("what a header can hold is sent as fetch writes it, and once: the server says what is no key", async () => {
  const seen: unknown[] = [];
  const fetch: Fetch = async (_, { headers }) => (
    seen.push(new Headers(headers).get("idempotency-key")),
    ok()
  );
  const client = createClient({ url: "http://127.0.0.1:1", token: "fw_x", fetch });
  for (const idempotencyKey of ["a-1~", "x\n", 5 as never, "", "a\tb", "\u00fc\u0080"])
    await client.agents.remove("x", { idempotencyKey });
  expect(seen).toEqual(["a-1~", "x", "5", "", "a\tb", "\u00fc\u0080"]);
});

test.each(["", " ", "a b", "\u00fc", "a".repeat(256)])(
  "a key that a header can hold and that is none is refused by the server: %j",
  async (idempotencyKey) => {
    await using product = await createTestOrchestrator();
    await using server = await serve(product.orchestrator);
    const { token } = await product.signIn("Admin");
    const client = createClient({ url: server.url, token });
    const removed = client.agents.remove("x", { idempotencyKey });
    await expect(removed).rejects.toMatchObject({ status: 400, code: "VALIDATION_FAILED" });
  },
);
