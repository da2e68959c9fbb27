import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { startServer, type RunningServer, type ServerOptions } from "fleetwright/h3";
import { createRouteNames } from "../../../adapters/h3/route-names.ts";
import { appRouter } from "../../../adapters/trpc/router.ts";
import { startSocketAgent } from "../../support/command-line.ts";
import { freePort } from "../../support/free-port.ts";
import { send } from "../../support/http.ts";
import { waitFor } from "../../support/wait-for.ts";

const token = "a-token-of-sixteen";

async function start(options: Partial<ServerOptions>): Promise<RunningServer> {
  const server = await startServer({ storage: new MemoryStorage(), listen: { port: 0 }, ...options });
  onTestFinished(() => server.close());
  return server;
}

/** The value of a line, by its name and labels. */
const valueOf = (text: string, line: string): number =>
  Number(
    text
      .split("\n")
      .find((each) => each.startsWith(`${line} `))
      ?.slice(line.length + 1) ?? Number.NaN,
  );

const read = async (url: string, headers: Record<string, string> = {}): Promise<string> =>
  (await fetch(url, { headers })).text();

test("there are no figures unless somebody asked for them", async () => {
  const server = await start({});
  expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
});

test("whoever has the token reads the figures, and nobody else", async () => {
  const server = await start({ metricsToken: token });
  const url = `${server.url}/metrics`;
  for (const authorization of ["", "Bearer ", `Bearer ${token}x`, `Basic ${token}`, token, "Bearer ü"]) {
    const answer = await fetch(url, { headers: { authorization: encodeURI(authorization) } });
    expect([answer.status, await answer.json()]).toEqual([
      401,
      expect.objectContaining({ code: "UNAUTHENTICATED" }),
    ]);
  }
  const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  expect([answer.status, answer.headers.get("content-type")]).toEqual([
    200,
    "text/plain; version=0.0.4; charset=utf-8",
  ]);
  expect(valueOf(await answer.text(), "fleetwright_server_connected_agents")).toBe(0);
});

test("at a port of their own the figures are for whoever asks there, by no name of another's", async () => {
  const port = await freePort();
  const server = await start({ metricsPort: port });
  const own = `http://127.0.0.1:${port}`;
  await fetch(`${server.url}/api/v1/status`);
  await waitFor(async () =>
    expect(await read(`${own}/metrics`)).toContain('route="status.get",status="200"'),
  );
  expect((await fetch(`${own}/metrics?from=prometheus`)).status).toBe(200);
  expect((await fetch(`${own}/api/v1/status`)).status).toBe(404);
  expect((await fetch(`${own}/metrics`, { method: "POST" })).status).toBe(404);
  for (const [host, status] of [
    [`127.0.0.1:${port}`, 200],
    ["localhost", 200],
    ["LOCALHOST:1", 200],
    [`evil.example:${port}`, 404],
    [`127.0.0.1.evil.example:${port}`, 404],
    [`evil.example/127.0.0.1`, 404],
    [`[::1]:${port}`, 404],
  ] as const)
    expect([host, (await send(port, { path: "/metrics", headers: { host } })).status]).toEqual([
      host,
      status,
    ]);
  expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
  await expect(start({ metricsPort: port })).rejects.toMatchObject({ code: "ADDRESS_IN_USE" });
  await server.close();
  await expect(fetch(`${own}/metrics`)).rejects.toThrow();
});

test("who asks for figures that can't be read is told so, at either place, and never that there are none", async () => {
  const metricsPort = await freePort();
  const server = await start({ metricsPort, metricsToken: token });
  const fails = vi.spyOn(server.orchestrator.figures, "count").mockRejectedValue(new Error("no disk"));
  onTestFinished(() => fails.mockRestore());
  const headers = { authorization: `Bearer ${token}` };
  for (const [url, status] of [
    [`http://127.0.0.1:${metricsPort}/metrics`, 503],
    [`${server.url}/metrics`, 500],
  ] as const)
    expect((await fetch(url, { headers })).status).toBe(status);
});

test("a server that can't listen gives the port of its figures back", async () => {
  const [metricsPort, other] = [await freePort(), await start({})];
  const listen = { port: Number(new URL(other.url).port) };
  await expect(start({ metricsPort, listen })).rejects.toMatchObject({ code: "ADDRESS_IN_USE" });
  await expect(fetch(`http://127.0.0.1:${metricsPort}/metrics`)).rejects.toThrow();
});

test("the figures are of requests, agents, operations, commits, the event loop and the audit log", async () => {
  const server = await start({ metricsToken: token });
  const headers = { authorization: `Bearer ${token}` };
  const url = `${server.url}/metrics`;
  for (let call = 0; call < 3; call++) await read(`${server.url}/api/v1/agents`);
  await read(`${server.url}/trpc/status.get`);
  await read(`${server.url}/nothing/here`);
  await server.orchestrator.operators
    .add(systemCaller, { username: "ada", public_key: "ab".repeat(32), role: "Viewer" })
    .catch(() => {});
  await server.orchestrator.modules.upload(systemCaller, { content: "name: a\nresources: []\n" });
  await waitFor(async () => {
    const text = await read(url, headers);
    const requests = "fleetwright_server_requests_total";
    expect(valueOf(text, `${requests}{surface="rest",route="agents.list",status="401"}`)).toBe(3);
    expect(valueOf(text, `${requests}{surface="trpc",route="status.get",status="200"}`)).toBe(1);
    expect(valueOf(text, `${requests}{surface="other",route="other",status="404"}`)).toBe(1);
    expect(valueOf(text, 'fleetwright_server_agents{status="approved"}')).toBe(0);
    expect(valueOf(text, 'fleetwright_server_open_operations{status="queued"}')).toBe(0);
    expect(valueOf(text, "fleetwright_server_commit_duration_seconds_count")).toBeGreaterThan(0);
    expect(valueOf(text, "fleetwright_server_audit_head_sequence")).toBeGreaterThan(0);
    expect(
      valueOf(text, 'fleetwright_server_event_loop_lag_seconds{statistic="p99"}'),
    ).toBeGreaterThanOrEqual(0);
    expect(valueOf(text, "fleetwright_server_resident_memory_bytes")).toBeGreaterThan(1e7);
    expect(valueOf(text, "fleetwright_server_cpu_seconds_total")).toBeGreaterThan(0);
  });
});

test("durations are in seconds, and the processor time of the process is counted once however often it is read", async () => {
  const begun = performance.now();
  class SlowStorage extends MemoryStorage {
    override async commit(...call: Parameters<MemoryStorage["commit"]>) {
      await sleep(50);
      return super.commit(...call);
    }
  }
  const server = await start({ metricsToken: token, storage: new SlowStorage() });
  const headers = { authorization: `Bearer ${token}` };
  await server.orchestrator.modules.upload(systemCaller, { content: "name: a\nresources: []\n" });
  for (let call = 0; call < 5; call++) await read(`${server.url}/metrics`, headers);
  const text = await read(`${server.url}/metrics`, headers);
  const { user, system } = process.cpuUsage();
  const seconds = (performance.now() - begun) / 1_000;
  for (const line of [
    'request_duration_seconds_sum{surface="other",route="/metrics"}',
    "commit_duration_seconds_sum",
  ]) {
    expect(valueOf(text, `fleetwright_server_${line}`), line).toBeGreaterThan(0);
    expect(valueOf(text, `fleetwright_server_${line}`), line).toBeLessThan(seconds * 10);
  }
  // Timers may be a millisecond early.
  expect(valueOf(text, "fleetwright_server_commit_duration_seconds_sum")).toBeGreaterThan(0.045);
  const cpu = valueOf(text, "fleetwright_server_cpu_seconds_total");
  expect(cpu).toBeLessThanOrEqual((user + system) / 1_000_000);
  expect(cpu).toBeGreaterThan((user + system) / 1_000_000 - seconds * 8);
});

test("how late the event loop was is told of the time since the last look alone", async () => {
  const server = await start({ metricsToken: token });
  const latest = async (): Promise<number> => {
    const text = await read(`${server.url}/metrics`, { authorization: `Bearer ${token}` });
    return valueOf(text, 'fleetwright_server_event_loop_lag_seconds{statistic="max"}');
  };
  await sleep(50);
  const stuckUntil = performance.now() + 600;
  while (performance.now() < stuckUntil);
  await sleep(50);
  expect(await latest()).toBeGreaterThan(0.4);
  await waitFor(async () => expect(await latest()).toBeLessThan(0.4));
});

test("each operation is counted as it ends, by kind and how it ended", async () => {
  const server = await start({ metricsToken: token });
  const { agents, modules, operations } = server.orchestrator;
  const { agent } = await startSocketAgent({ server });
  const node_id = agent.nodeId ?? "";
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  await modules.upload(systemCaller, { content: "name: a\nresources: [{ type: directory, path: /a }]\n" });
  await modules.upload(systemCaller, {
    content: "name: bad\nresources: [{ type: file, path: /none/b, content: b }]\n",
  });
  const asked = { node_id, wait_seconds: 30 };
  await operations.plan(systemCaller, { ...asked, modules: ["a"] });
  await operations.apply(systemCaller, { ...asked, modules: ["a"] });
  await operations.apply(systemCaller, { ...asked, modules: ["a"] });
  await operations.apply(systemCaller, { ...asked, modules: ["bad"] });
  const text = await read(`${server.url}/metrics`, { authorization: `Bearer ${token}` });
  const endedIn = (told: string) =>
    told
      .split("\n")
      .filter((line) => line.startsWith("fleetwright_server_operations_total{"))
      .toSorted();
  const open = { authorization: `Bearer ${token}`, accept: "application/openmetrics-text" };
  expect(endedIn(await read(`${server.url}/metrics`, open))).toEqual(endedIn(text));
  expect(endedIn(text)).toEqual([
    'fleetwright_server_operations_total{kind="apply",status="failed"} 1',
    'fleetwright_server_operations_total{kind="apply",status="succeeded"} 2',
    'fleetwright_server_operations_total{kind="plan",status="succeeded"} 1',
  ]);
  expect(valueOf(text, "fleetwright_server_connected_agents")).toBe(1);
  expect(valueOf(text, 'fleetwright_server_agents{status="approved"}')).toBe(1);
});

test("OpenMetrics is for who accepts it, and the other form for who asks at the same time", async () => {
  const server = await start({ metricsToken: token });
  const url = `${server.url}/metrics`;
  const authorization = `Bearer ${token}`;
  await read(`${server.url}/livez`);
  const open = { authorization, accept: "application/openmetrics-text;version=1.0.0,text/plain;q=0.5" };
  await server.orchestrator.modules.upload(systemCaller, { content: "name: a\nresources: []\n" });
  await waitFor(async () => expect(await read(url, open)).toContain('route="/livez",status="200"} 1'));
  const texts = await Promise.all(
    [open, { authorization }, open, { authorization }].map((headers) => read(url, headers)),
  );
  expect(texts.map((text) => text.endsWith("# EOF\n"))).toEqual([true, false, true, false]);
  expect(texts[0]).toContain("# TYPE fleetwright_server_requests counter\n");
  expect(texts[1]).toContain("# TYPE fleetwright_server_requests_total counter\n");
  // Of what was counted before, both tell the same; memory, time and the requests that ask go on.
  const figures = (text: string): string[] =>
    text
      .split("\n")
      .filter(
        (line) =>
          /^fleetwright_server_(?!resident|cpu|event_loop)/.test(line) && !line.includes('"/metrics"'),
      )
      .toSorted();
  expect(figures(texts[0]!)).toEqual(figures(texts[1]!));
  const names = new Set(figures(texts[0]!).map((line) => line.slice(19).replace(/[{ ].*/, "")));
  expect([...names]).toEqual(
    expect.arrayContaining(["requests_total", "request_duration_seconds_sum", "commit_duration_seconds_sum"]),
  );
});

test.each([
  ["application/openmetrics-text", true],
  ["Application/OpenMetrics-Text; version=1.0.0", true],
  ["application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1", true],
  ["text/plain, application/openmetrics-text", true],
  ["application/openmetrics-text;q=0", false],
  ["application/openmetrics-text;q=2, text/plain;q=0.5", false],
  ["text/plain, application/openmetrics-text; q=0.1", false],
  ["application/openmetrics-text-2", false],
  ["text/plain", false],
  ["*/*", false],
])("who accepts %s gets what was wanted most", async (accept, isOpen) => {
  const server = await start({ metricsToken: token });
  const text = await read(`${server.url}/metrics`, { authorization: `Bearer ${token}`, accept });
  expect(text.endsWith("# EOF\n")).toBe(isOpen);
});

test("strangers can't make up routes", () => {
  const names = createRouteNames(appRouter);
  const urls = Array.from({ length: 1_000 }, (_, n) => [
    `/api/v1/x${n}`,
    `/trpc/x${n}`,
    `/x${n}`,
    `/api/v1/agents/${n}`,
  ]).flat();
  const made = new Set(urls.map((url) => Object.values(names.of("GET", url)).join(" ")));
  expect([...made].sort()).toEqual(["other other", "rest agents.get", "rest other", "trpc other"]);
  for (const page of ["/livez", "/readyz", "/metrics", "/docs", "/problems", "/"])
    expect(names.of("GET", `${page}?x=1`)).toEqual({ surface: "other", route: page });
  expect(names.of("HEAD", "/api/v1/agents?limit=1")).toEqual({ surface: "rest", route: "agents.list" });
  expect(names.of("GET", "/trpc/agents.list,tags.list?batch=1")).toEqual({ surface: "trpc", route: "batch" });
  expect(names.of("GET", "/trpc/constructor")).toEqual({ surface: "trpc", route: "other" });
});
