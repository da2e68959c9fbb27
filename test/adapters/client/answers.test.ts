/** What a client makes of an answer, and of none, and what it puts into a request. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createClient } from "fleetwright/client";
import type { ClientOptions, Fetch } from "fleetwright/client";
import { ApiError, isLasting, toApiError, unreachable } from "../../../adapters/client/api-error.ts";
import { isPassing, resolveRetry } from "../../../adapters/client/retry.ts";

const problem = { type: "/problems/x", title: "x", status: 409, detail: "It is so.", code: "NEW_CODE" };
const gateway = { status: 502, code: "PEER_ERROR", message: /status 502 and no explanation/ };

describe("a refusal", () => {
  test("is told by the problem that came with it, also with a code that nobody here knows", () => {
    const error = toApiError(418, JSON.stringify({ ...problem, request_id: "r" }));
    expect(error).toMatchObject({ name: "ApiError", status: 409, code: "NEW_CODE", message: "It is so." });
    expect(error.problem).toEqual({ ...problem, request_id: "r" });
    expect([error.retryAfterMs, "cause" in error]).toEqual([null, false]);
  });

  test.each([
    "",
    "<h1>Bad gateway</h1>",
    "null",
    "7",
    "[]",
    "{}",
    JSON.stringify({ ...problem, code: 7 }),
    JSON.stringify({ ...problem, detail: undefined }),
    JSON.stringify({ ...problem, status: "409" }),
  ])("without a problem, such as %j, is one of something in between", (body) => {
    const error = toApiError(502, body);
    expect(error).toMatchObject({ ...gateway, message: expect.stringMatching(gateway.message) as string });
    expect(error.problem).toMatchObject({ type: "about:blank", title: "Unexpected answer" });
  });

  test.each<[string | null, number | null]>([
    ["0", 0],
    ["7", 7_000],
    ["999999999", 999_999_999_000],
    ["Thu, 01 Jan 2026 00:00:09 GMT", 9_000],
    ["Wed, 31 Dec 2025 00:00:00 GMT", 0],
    ["soon", null],
    ["", null],
    [null, null],
  ])("with Retry-After %j is to be asked again after %j ms", (header, expected) => {
    vi.useFakeTimers({ now: Date.parse("2026-01-01T00:00:00Z") });
    onTestFinished(() => void vi.useRealTimers());
    expect(toApiError(503, "", header).retryAfterMs).toBe(expected);
    expect(toApiError(503, JSON.stringify(problem), header).retryAfterMs).toBe(expected);
  });
});

describe("a server that can't be reached", () => {
  const failed = (...codes: (string | undefined)[]): Error =>
    codes.reduceRight<Error>(
      (cause, code) => Object.assign(new Error("x", { cause }), code !== undefined && { code }),
      new TypeError("fetch failed"),
    );

  test.each<[string, unknown, string]>([
    ["without a reason", new TypeError("fetch failed"), "http://a can't be reached."],
    ["by what is no error", "gone", "http://a can't be reached."],
    [
      "with the innermost reason",
      failed(undefined, "OUTER", "ECONNREFUSED"),
      "http://a can't be reached (ECONNREFUSED).",
    ],
  ])("is named %s", (_how, cause, detail) => {
    const error = unreachable("http://a", cause);
    expect(error).toMatchObject({ status: 0, code: "UNAVAILABLE", message: detail, cause });
    expect(error.problem).toMatchObject({ type: "about:blank", title: "The server can't be reached." });
  });

  test.each([
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", true],
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", true],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", true],
    ["SELF_SIGNED_CERT_IN_CHAIN", true],
    ["CERT_HAS_EXPIRED", false],
    ["CERT_NOT_YET_VALID", false],
    ["ERR_TLS_CERT_ALTNAME_INVALID", false],
  ])("for %s has the advice to trust an authority: %s", (code, isAdvised) => {
    const { message } = unreachable("https://a", failed(code));
    expect(message).toContain(`(${code})`);
    expect(message.includes("NODE_EXTRA_CA_CERTS")).toBe(isAdvised);
    expect(message).toContain("can't be reached: its certificate ");
  });

  test.each([
    ["SELF_SIGNED_CERT_IN_CHAIN", "its certificate is not trusted here"],
    ["CERT_HAS_EXPIRED", "its certificate has expired by the clock of this machine"],
    ["CERT_NOT_YET_VALID", "its certificate is not valid yet by the clock of this machine"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another name"],
    ["ERR_SSL_HTTP_REQUEST", "it does not speak TLS, as https:// asks for"],
  ])("for %s says that %s, and that no waiting takes that away", (code, words) => {
    const error = unreachable("https://a", failed(code));
    expect(error.message).toContain(`https://a can't be reached: ${words} (${code}).`);
    expect([isLasting(error), isPassing(error)]).toEqual([true, false]);
    // The same words in an answer of a server are no such reason.
    const answered = new ApiError({ ...problem, status: 503, code: "UNAVAILABLE" }, failed(code));
    expect([isLasting(answered), isPassing(answered)]).toEqual([false, true]);
  });

  test.each(["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "NOT_CERT_HAS_EXPIRED", undefined])(
    "for %s may be reached a little later",
    (code) => {
      const error = unreachable("https://a", failed(code));
      expect([isLasting(error), isPassing(error)]).toEqual([false, true]);
    },
  );

  test.each(["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG", "ERR_SSL_HTTP_REQUEST"])(
    "for %s says that no TLS is spoken there",
    (code) => {
      const { message } = unreachable("https://a", failed(code));
      expect(message).toBe(
        `https://a can't be reached: it does not speak TLS, as https:// asks for (${code}).`,
      );
    },
  );
});

test.each<[number, string, boolean]>([
  [0, "UNAVAILABLE", true],
  [429, "RATE_LIMITED", true],
  [502, "PEER_ERROR", true],
  [503, "PEER_ERROR", true],
  [504, "PEER_ERROR", true],
  [502, "UNAVAILABLE", true],
  [503, "UNAVAILABLE", true],
  [504, "UNAVAILABLE", true],
  [502, "PROTOCOL_ERROR", false],
  [503, "STORAGE_FULL", false],
  [500, "UNAVAILABLE", false],
  [500, "PEER_ERROR", false],
  [404, "PEER_ERROR", false],
  [401, "UNAUTHENTICATED", false],
])("a failure %s %s passes by itself: %s", (status, code, expected) => {
  expect(isPassing(new ApiError({ ...problem, status, code }))).toBe(expected);
});

test("what is no answer of a server does not pass by itself", () => {
  for (const thrown of [new Error("x"), { status: 0 }, null, undefined])
    expect(isPassing(thrown)).toBe(false);
});

test.each([
  [{}, { attempts: 4, firstPauseMs: 250, longestPauseMs: 20_000 }],
  [
    { attempts: 0, firstPauseMs: -1, longestPauseMs: -1 },
    { attempts: 1, firstPauseMs: 0, longestPauseMs: 0 },
  ],
  [
    { attempts: 11, firstPauseMs: Infinity, longestPauseMs: Infinity },
    { attempts: 10, firstPauseMs: 2_147_483_647, longestPauseMs: 2_147_483_647 },
  ],
  [
    { attempts: 7, firstPauseMs: 1, longestPauseMs: 2 },
    { attempts: 7, firstPauseMs: 1, longestPauseMs: 2 },
  ],
  [
    { attempts: NaN, firstPauseMs: NaN, longestPauseMs: NaN },
    { attempts: 4, firstPauseMs: 250, longestPauseMs: 20_000 },
  ],
])("of the retry options %j come %j", (given, resolved) => {
  expect(resolveRetry(given)).toEqual(resolved);
});

test("pauses double from the first to the longest, half of each by chance", async () => {
  vi.useFakeTimers({ now: 0 });
  const chance = vi.spyOn(Math, "random");
  onTestFinished(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
  const times: number[] = [];
  const fetch: Fetch = () => {
    times.push(Date.now());
    chance.mockReturnValue(times.length % 2);
    return Promise.reject(new TypeError("fetch failed"));
  };
  const retry = { attempts: 6, firstPauseMs: 100, longestPauseMs: 800 };
  const call = createClient({ url: "http://a", fetch, retry }).status.get();
  const refusal = call.catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await refusal).toMatchObject({ code: "UNAVAILABLE" });
  expect(times.slice(1).map((time, at) => time - times[at]!)).toEqual([100, 100, 400, 400, 800]);
});

/** What a client sends for one call, answered with this. */
async function sent(
  call: (client: ReturnType<typeof createClient>) => Promise<unknown>,
  {
    answer = new Response(null, { status: 204 }),
    ...options
  }: Partial<ClientOptions> & { answer?: Response } = {},
) {
  const asked: { url: string; init: RequestInit }[] = [];
  const fetch: Fetch = (url, init) => {
    asked.push({ url, init });
    return Promise.resolve(answer);
  };
  const result = await call(createClient({ url: "http://a.example//", fetch, ...options })).catch(
    (error: unknown) => error,
  );
  const { url, init } = asked[0]!;
  return { url, init, headers: init.headers as Record<string, string>, result };
}

describe("a request", () => {
  test("of a stranger has no token, no key and no body, and follows no redirect", async () => {
    const { url, init, headers, result } = await sent(({ request }) => request("GET", "/x"));
    expect([url, init.method, init.redirect, result]).toEqual([
      "http://a.example/api/v1/x",
      "GET",
      "error",
      null,
    ]);
    expect(headers).toEqual({ accept: "application/json" });
    expect("body" in init || "signal" in init).toBe(false);
    const change = await sent(({ request }) => request("POST", "/x"));
    expect(change.headers).toEqual({ accept: "application/json" });
  });

  test.each([
    ["GET", false],
    ["HEAD", false],
    ["POST", true],
    ["DELETE", true],
  ])("%s of who has a token has a key to be carried out once: %s", async (method, hasKey) => {
    const { headers } = await sent(({ request }) => request(method, "/x"), { token: "fw_t" });
    expect(headers["authorization"]).toBe("Bearer fw_t");
    expect("idempotency-key" in headers).toBe(hasKey);
    if (hasKey)
      expect(headers["idempotency-key"]).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
  });

  test("has body, version, key, headers and signal as they are given", async () => {
    const { signal } = new AbortController();
    const extras = { body: null, ifVersion: 0, idempotencyKey: "k", headers: { "x-a": "1" }, signal };
    const { init, headers } = await sent(({ request }) => request("PUT", "/x", extras));
    expect([init.body, init.signal]).toEqual(["null", signal]);
    expect(headers).toEqual({
      accept: "application/json",
      "x-a": "1",
      "content-type": "application/json",
      "if-match": '"0"',
      "idempotency-key": "k",
    });
  });

  test("has in its query what is not undefined, and each value of a list", async () => {
    const query = { a: 0, b: false, c: undefined, d: ["x y", "&"], e: [], f: "" };
    expect((await sent(({ request }) => request("GET", "/x", { query }))).url).toBe(
      "http://a.example/api/v1/x?a=0&b=false&d=x+y&d=%26&f=",
    );
    const nothing = { a: undefined };
    expect((await sent(({ request }) => request("GET", "/x", { query: nothing }))).url).toMatch(/\/x$/);
  });

  test("that is answered with what is no JSON was answered by something in between", async () => {
    const { result } = await sent(({ request }) => request("GET", "/x"), { answer: new Response("<html>") });
    expect(result).toMatchObject({ status: 200, code: "PEER_ERROR" });
  });

  test("for a stream gets the bytes as they come, or the refusal", async () => {
    const read = ({ request }: ReturnType<typeof createClient>) => request("GET", "/x", { asStream: true });
    const { result } = await sent(read, { answer: new Response("some bytes") });
    expect(await new Response(result as ReadableStream).text()).toBe("some bytes");
    const refused = await sent(read, { answer: Response.json(problem, { status: 409 }) });
    expect(refused.result).toMatchObject({ status: 409, code: "NEW_CODE" });
  });

  test("that its caller ends fails with what ended it, and is not taken for an unreachable server", async () => {
    const stop = new AbortController();
    const fetch: Fetch = () => {
      stop.abort();
      return Promise.reject(stop.signal.reason as Error);
    };
    const call = createClient({ url: "http://a", fetch }).status.get({ signal: stop.signal });
    await expect(call).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("a client without a signer", () => {
  const fetch: Fetch = () => Promise.reject(new Error("asked"));

  test("can't sign in, and asks nobody", async () => {
    await expect(createClient({ url: "http://a", fetch }).signIn()).rejects.toMatchObject({
      status: 401,
      code: "UNAUTHENTICATED",
      message: expect.stringContaining("neither a key nor a session") as string,
    });
  });

  test("and without a session has nothing to sign out of", async () => {
    await expect(createClient({ url: "http://a", fetch }).signOut()).resolves.toBeUndefined();
  });

  test.each([
    [401, true],
    [503, false],
  ])("that signs out and is answered %s is signed out: %s", async (status, isFine) => {
    const asked: string[] = [];
    const answering: Fetch = (url, { method, headers }) => {
      asked.push(`${method} ${url} ${(headers as Record<string, string>)["authorization"]}`);
      return Promise.resolve(Response.json({ ...problem, status }, { status }));
    };
    const client = createClient({ url: "http://a", token: "fw_t", fetch: answering });
    const ended = await client.signOut().then(
      () => true,
      () => false,
    );
    expect([ended, asked]).toEqual([isFine, ["DELETE http://a/api/v1/auth/session Bearer fw_t"]]);
    await client.signOut();
    expect(asked).toHaveLength(1);
  });
});

test.each(["", "f".repeat(63), "f".repeat(65), "g".repeat(64), `${"A".repeat(42)}=`])(
  "an orchestrator key that is none is refused when the client is made: %j",
  (orchestratorKey) => {
    expect(() => createClient({ url: "http://a", orchestratorKey })).toThrow(TypeError);
  },
);

test.each(["f".repeat(64), "F".repeat(64), `${"A".repeat(43)}=`])(
  "an orchestrator key is 64 hex digits or base64: %j",
  (orchestratorKey) => {
    expect(createClient({ url: "http://a", orchestratorKey }).url).toBe("http://a");
  },
);
