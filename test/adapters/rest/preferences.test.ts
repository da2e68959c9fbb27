/** What `Prefer` says is done as far as a verb can do it, and never makes a call one that is refused. */
import { expect, test } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import { createOpenApiDocument } from "../../../adapters/rest/openapi.ts";
import { readPreferences } from "../../../adapters/rest/preferences.ts";
import { createRouteTable, restProcedures } from "../../../adapters/rest/routes.ts";
import { appRouter } from "../../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../../adapters/trpc/trpc.ts";
import { startApprovedAgent } from "../../support/fleet.ts";
import { serve } from "../../support/server.ts";

const headers = [
  "respond-async",
  "wait=0",
  "wait=1",
  "wait=10",
  "wait=60",
  "wait=61",
  "wait=300",
  "wait=301",
];
const table = createRouteTable(appRouter);
const routes = restProcedures(appRouter).map(([name, { _def }]) => {
  const { method, path } = (_def.meta as Required<ProcedureMeta>).openapi;
  return { name, method, path, route: table.find(path.replaceAll(/[{}]/g, ""))!.methods.get(method)! };
});
const waited = routes.flatMap(({ name, route }) =>
  route.waits ? [[name, route.waits, route] as const] : [],
);

test("the verbs that may be waited for are known with their bounds", () => {
  const bounds = Object.fromEntries(waited.map(([name, waits]) => [name, [waits.least, waits.most]]));
  expect(bounds).toMatchObject({
    "state.applyNow": [0, 300],
    "state.plan": [0, 300],
    "state.forget": [0, 300],
    "drift.check": [0, 300],
    "assignments.applyNow": [0, 300],
    "assignments.plan": [0, 300],
    "runs.start": [0, 300],
    "agents.refreshAttributes": [1, 60],
  });
});

test.each(waited)("%s takes what is made of any preference", (_name, waits, route) => {
  const isTaken = (wait_seconds: number): boolean =>
    route.faultsOf({ wait_seconds }).every(({ path }) => path[0] !== "wait_seconds");
  for (const header of headers) {
    const found = readPreferences(header, waits);
    if (found !== null) expect(isTaken(found.waitSeconds), header).toBe(true);
  }
  expect([waits.least - 1, waits.least, waits.most, waits.most + 1].map(isTaken)).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

test.each<[string | undefined, string | null]>([
  [undefined, null],
  ["", null],
  ["wait", null],
  ["wait=-1", null],
  ["respond-async", null],
  ["wait=4", null],
  ["wait=5", "wait=5"],
  ['WAIT = "6"; x=1', "wait=6"],
  ["wait=8, wait=6", "wait=8"],
  ["wait=9", "wait=8"],
  ["wait=999999999", "wait=8"],
  ["wait=9999999999", null],
  ["respond-async, wait=6", "respond-async, wait=6"],
  ["respond-async, wait=2", null],
])("of %j a verb that waits 5 to 8 seconds does %j", (header, applied) => {
  expect(readPreferences(header, { least: 5, most: 8 })?.applied ?? null).toBe(applied);
});

test("a preference stands for what a body does not say: where there is none, there is no preference", () => {
  expect(waited.filter(([, , route]) => !route.takesBody).map(([name]) => name)).toEqual([]);
  expect(routes.find(({ name }) => name === "rollouts.get")!.route.query.has("wait_seconds")).toBe(true);
});

test("the description tells of the preference where it is done, and nowhere else", async () => {
  const { paths = {} } = await createOpenApiDocument(appRouter);
  const described = routes.filter(({ method, path }) => {
    const operations = paths[path] as Record<string, { parameters?: { name: string }[] }>;
    return operations[method.toLowerCase()]?.parameters?.some(({ name }) => name === "Prefer");
  });
  expect(described.map(({ name }) => name).sort()).toEqual(waited.map(([name]) => name).sort());
});

test("a refresh of attributes is refused for want of the agent, whatever is preferred", async () => {
  await using product = await createTestOrchestrator();
  await using server = await serve(product.orchestrator);
  const { token } = await product.signIn("Admin");
  const agent = await startApprovedAgent(product);
  await agent[Symbol.asyncDispose]();
  for (const prefer of headers) {
    const answer = await server.call({
      method: "POST",
      path: `/api/v1/agents/${agent.nodeId}/attributes/refresh`,
      headers: { authorization: `Bearer ${token}`, prefer },
    });
    expect([prefer, answer.status, answer.json]).toEqual([
      prefer,
      409,
      expect.objectContaining({ code: "AGENT_OFFLINE" }),
    ]);
  }
});
