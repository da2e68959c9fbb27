import type { AnyProcedure } from "@trpc/server";
import { describe, expect, it } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import { createExposure } from "../../../adapters/h3/exposure.ts";
import { createOrchestratorApp } from "../../../adapters/h3/orchestrator-app.ts";
import { appRouter } from "../../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../../adapters/trpc/trpc.ts";

const proxies = ["10.0.0.0/8", "127.0.0.1"];

describe("a request", () => {
  it.each<[string, string[], string | null, boolean, Record<string, string>, boolean]>([
    ["over TLS", [], "203.0.113.9", true, {}, false],
    ["within the process", [], null, false, {}, false],
    ["at a socket of the file system", [], "", false, {}, false],
    ["from this machine", [], "127.0.0.1", false, {}, false],
    ["from this machine over IPv6", [], "::1", false, {}, false],
    ["from this machine at a dual-stack socket", [], "::ffff:127.0.0.1", false, {}, false],
    ["from another machine", [], "203.0.113.9", false, {}, true],
    [
      "from another machine that says it came over TLS",
      [],
      "203.0.113.9",
      false,
      { "x-forwarded-proto": "https" },
      true,
    ],
    ...Object.entries({
      "x-forwarded-for": "1.2.3.4",
      "x-forwarded-proto": "https",
      forwarded: "for=1.2.3.4;proto=https",
      via: "1.1 proxy",
    }).map(
      ([name, value]) =>
        [
          `that a proxy on this machine passes on with ${name}, whom nobody trusts`,
          [],
          "127.0.0.1",
          false,
          { [name]: value },
          true,
        ] as [string, string[], string, boolean, Record<string, string>, boolean],
    ),
    ...["https", "HTTPS", " Https ", "http,https"].map(
      (scheme) =>
        [
          `of a trusted proxy that says ${scheme}`,
          proxies,
          "10.1.1.1",
          false,
          { "x-forwarded-proto": scheme },
          false,
        ] as [string, string[], string, boolean, Record<string, string>, boolean],
    ),
    [
      "of a trusted proxy on this machine over TLS",
      proxies,
      "127.0.0.1",
      false,
      { "x-forwarded-proto": "https" },
      false,
    ],
    ["of a trusted proxy in the clear", proxies, "10.1.1.1", false, { "x-forwarded-proto": "http" }, true],
    [
      "of a trusted proxy that says nothing",
      proxies,
      "10.1.1.1",
      false,
      { "x-forwarded-for": "1.2.3.4" },
      true,
    ],
    [
      "of a trusted proxy that adds to what a client claims",
      proxies,
      "10.1.1.1",
      false,
      { "x-forwarded-proto": "https, http" },
      true,
    ],
    ["of this machine itself, which may be a proxy", proxies, "127.0.0.1", false, {}, false],
  ])("%s", (_how, trusted, remoteAddress, isEncrypted, headers, isExposed) => {
    const header = (name: string): string | undefined => headers[name];
    expect(createExposure(trusted)({ remoteAddress, isEncrypted, header })).toBe(isExposed);
  });
});

/** Every call that takes what is secret: the procedure, where it is over REST, and its input with what REST has in the path. */
const hook = { url: "https://hooks.example.com/x", headers: { authorization: "c4nary-on-the-wire" } };
const id = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";
const calls = [
  ["secrets.create", "POST", "/secrets", {}, { name: "db", value: "c4nary-on-the-wire" }],
  ["secrets.update", "PUT", "/secrets/db", { name: "db" }, { value: "c4nary-on-the-wire" }],
  ["channels.create", "POST", "/channels", {}, { name: "hook", type: "webhook", config: hook }],
  ["channels.update", "PUT", `/channels/${id}`, { id }, { config: hook }],
] as const;

describe("a secret over plain HTTP from another machine", () => {
  it("is in the calls that say that they refuse it, and in no others", () => {
    const procedures = Object.entries(appRouter._def.procedures as object as Record<string, AnyProcedure>);
    const refusing = procedures.filter(([, { _def }]) =>
      (_def.meta as ProcedureMeta).rest?.problems?.includes("INSECURE_CONNECTION"),
    );
    expect(refusing.map(([name]) => name).toSorted()).toEqual(calls.map(([name]) => name).toSorted());
  });

  const ways = calls.flatMap(([name, method, path, inPath, body]) => {
    const input = { ...inPath, ...body };
    return [
      [name, "REST", `/api/v1${path}`, method, body],
      [name, "tRPC", `/trpc/${name}`, "POST", input],
      [name, "tRPC, in a batch", `/trpc/${name},${name}?batch=1`, "POST", { 0: input, 1: input }],
    ] as const;
  });

  it.each(ways)(
    "is refused in %s by %s, and taken where a trusted proxy says TLS",
    async (_name, _way, path, method, body) => {
      await using test = await createTestOrchestrator({ secretsKey: new Uint8Array(32).fill(1) });
      const { token } = await test.signIn("Admin");
      const app = createOrchestratorApp({ orchestrator: test.orchestrator, trustedProxies: ["10.0.0.1"] });
      const send = (remoteAddress: string, more: Record<string, string> = {}): Promise<Response> => {
        const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", ...more };
        const init: RequestInit = { method, headers, body: JSON.stringify(body) };
        return app.fetch(new Request(`http://fleet.test${path}`, init), remoteAddress);
      };
      const refused = await send("203.0.113.9");
      expect(refused.status).toBe(403);
      const answer = await refused.text();
      expect(answer).toContain("INSECURE_CONNECTION");
      expect(answer).not.toContain("c4nary");
      expect((await send("203.0.113.9", { "x-forwarded-proto": "https" })).status).toBe(403);
      expect((await test.orchestrator.secrets.list({ kind: "system" })).items).toEqual([]);
      expect((await test.orchestrator.channels.list({ kind: "system" })).items).toEqual([]);
      const taken = await send("10.0.0.1", {
        "x-forwarded-proto": "https",
        "x-forwarded-for": "203.0.113.9",
      });
      const text = await taken.text();
      expect(text).not.toContain("c4nary");
      expect(text).not.toContain("INSECURE_CONNECTION");
    },
  );
});
