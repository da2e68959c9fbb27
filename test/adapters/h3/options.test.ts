import { describe, expect, test } from "vitest";
import { MemoryStorage, MemoryTransport, Orchestrator } from "fleetwright";
import { createApp, createOrchestratorApp, listenApp, startServer } from "fleetwright/h3";
import { createTestOrchestrator } from "fleetwright/testing";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

type Given = Record<string, unknown>;

const orchestrator = new Orchestrator({ storage: new MemoryStorage(), transport: new MemoryTransport() });
const app = createOrchestratorApp({ orchestrator });
const makers: Record<string, (given: Given) => unknown> = {
  createApp: (given) =>
    createApp({ router: toyRouter, createContext: toyContexts(new Toy()), isReady: () => true, ...given }),
  createOrchestratorApp: (given) => createOrchestratorApp({ orchestrator, ...given }),
  listenApp: (given) => listenApp(app, { port: 0, ...given }),
};

/** The places of the faults. One more is put in, so that nothing is made of options that are good: that takes its time. */
async function placesOf(of: string, given: Given): Promise<(string | number)[][]> {
  const error: unknown = await Promise.resolve()
    .then(() => makers[of]!({ tester: true, ...given }))
    .catch((refusal: unknown) => refusal);
  expect(error).toMatchObject({
    code: "OPTIONS_INVALID",
    message: expect.stringMatching(`^${of}: `) as string,
  });
  const { issues } = error as { issues: { path: (string | number)[] }[] };
  return issues.map(({ path }) => path).filter(([name]) => name !== "tester");
}

describe("a number", () => {
  test.each([
    ["createApp", "bodyLimitBytes", 1, 2 ** 30],
    ["createApp", "maxMessageBytes", 1, 2 ** 30],
    ["createApp", "idleTimeoutSeconds", 0.01, 86_400],
    ["createOrchestratorApp", "bodyLimitBytes", 1, 2 ** 30],
    ["createOrchestratorApp", "maxMessageBytes", 1, 2 ** 30],
    ["createOrchestratorApp", "idleTimeoutSeconds", 0.01, 86_400],
    ["listenApp", "graceMs", 0, 3_600_000],
    ["listenApp", "headersMs", 10, 3_600_000],
    ["listenApp", "requestMs", 10, 86_400_000],
    ["listenApp", "stallMs", 10, 3_600_000],
  ])("%s %s is taken from %d to %d", async (of, name, from, to) => {
    for (const value of [from, to, undefined])
      expect(await placesOf(of, { [name]: value }), String(value)).toEqual([]);
    for (const value of [from - 1, to + 1, NaN, null, String(from), []])
      expect(await placesOf(of, { [name]: value }), String(value)).toEqual([[name]]);
  });

  test.each([-1, 65_536, 1.5, NaN, "80", null, undefined])("%j is no port", async (port) => {
    expect(await placesOf("listenApp", { port })).toEqual([["port"]]);
  });
});

describe("an option that is no number", () => {
  test.each<[name: string, good: unknown[], wrong: unknown[]]>([
    ["isReady", [() => true], [true, null]],
    ["sockets", [new Map(), undefined], [{}, []]],
    ["mountPath", ["", "/fleet", "/a/b", undefined], ["fleet", "/fleet/", "/", "/a b", "/a?b", 5]],
    ["createRequestId", [undefined, () => "x"], ["x", null]],
    ["openapi", [undefined, { title: "x", version: "1" }], ["x", null]],
    ["logger", [undefined], [{}, console.log]],
    ["trustedProxies", [[], ["::1", "10.0.0.0/8"], undefined], ["::1", {}]],
    ["allowedHosts", [[], ["fleet.test", "192.0.2.1", "::1"], undefined], ["fleet.test", null]],
  ])("%s", async (name, good, wrong) => {
    for (const of of ["createApp", "createOrchestratorApp"]) {
      const isNeeded = of === "createApp" && name === "isReady";
      for (const value of good) expect(await placesOf(of, { [name]: value }), String(value)).toEqual([]);
      for (const value of wrong)
        expect(await placesOf(of, { [name]: value }), String(value)).toEqual([[name]]);
      expect(await placesOf(of, { [name]: undefined })).toEqual(isNeeded ? [[name]] : []);
    }
  });

  test("is told with its place in a list", async () => {
    const given = {
      trustedProxies: ["::1", "10.0.0.0/", "proxy"],
      allowedHosts: ["a:80", "a", 5],
      openapi: { titel: 1 },
    };
    expect(await placesOf("createOrchestratorApp", given)).toEqual([
      ["trustedProxies", 1],
      ["trustedProxies", 2],
      ["allowedHosts", 0],
      ["allowedHosts", 2],
      ["openapi", "titel"],
    ]);
  });

  test("is a part that belongs there", async () => {
    expect(await placesOf("createApp", { router: {} })).toEqual([["router"]]);
    expect(await placesOf("createApp", { router: undefined, createContext: 5 })).toEqual([
      ["router"],
      ["createContext"],
    ]);
    expect(await placesOf("createOrchestratorApp", { orchestrator: {} })).toEqual([["orchestrator"]]);
    expect(await placesOf("createOrchestratorApp", { transport: {} })).toEqual([["transport"]]);
    expect(await placesOf("listenApp", { host: 5, tls: { cert: "x" }, allowInsecure: "yes" })).toEqual([
      ["host"],
      ["tls", "key"],
      ["allowInsecure"],
    ]);
  });

  test("is refused where nobody knows it", async () => {
    for (const of of ["createApp", "createOrchestratorApp"])
      expect(await placesOf(of, { trustedProxy: "::1" })).toEqual([["trustedProxy"]]);
    expect(await placesOf("listenApp", { hostname: "::1" })).toEqual([["hostname"]]);
  });
});

test("an option that is undefined has its default", async () => {
  await using started = await createTestOrchestrator();
  const nothing = { isReady: undefined, mountPath: undefined, logger: undefined, sockets: undefined };
  const made = createOrchestratorApp({ orchestrator: started.orchestrator, ...nothing } as never);
  expect((await made.fetch(new Request("http://localhost/readyz"))).status).toBe(200);
});

test("a server tells the faults of its orchestrator, of its surface and of its listener all at once", async () => {
  const options = {
    storage: new MemoryStorage(),
    transport: new MemoryTransport(),
    challengeSeconds: 1,
    sessionIdleSeconds: 601,
    sessionMaxSeconds: 600,
    trustedProxy: [],
    allowedHosts: "fleet.test",
    listen: { port: -1, stalMs: 5 },
  };
  await expect(startServer(options as never)).rejects.toMatchObject({
    code: "OPTIONS_INVALID",
    issues: [
      { path: ["transport"] },
      { path: ["trustedProxy"], message: "is no option, did you mean trustedProxies?" },
      { path: ["challengeSeconds"] },
      { path: ["allowedHosts"] },
      { path: ["listen", "stalMs"], message: "is no option, did you mean stallMs?" },
      { path: ["listen", "port"] },
      { path: ["sessionIdleSeconds"] },
    ],
  });
});
