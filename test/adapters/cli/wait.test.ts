/** A server that goes away while a command waits for what it began. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import type { DriftDetail } from "fleetwright";
import { runCommandLine } from "fleetwright/cli";
import { createClient, type ApiError, type Fetch } from "fleetwright/client";
import { awaitDrift, awaitEnd, awaitOperation } from "../../../adapters/cli/wait.ts";
import { startSignedIn, startSocketAgent } from "../../support/command-line.ts";
import { deferred } from "../../support/deferred.ts";
import { clientOf } from "../../support/fleet-folder.ts";
import { waitFor } from "../../support/wait-for.ts";

it("a server that is away for a while ends no waiting for an operation, a drift check or a rollout", async () => {
  const line = await startSignedIn();
  await startSocketAgent(line);
  await line.print("agents", "approve", "--all-pending", "--yes");
  let lost = 0;
  /** Nobody answers the first time that something is read. */
  const seen = new Set<string>();
  const losing: Fetch = (url, init) => {
    const isRead = init.method === "GET" && !url.includes("/agents?") && !seen.has(url);
    if (!isRead) return fetch(url, init);
    seen.add(url);
    lost += 1;
    return Promise.reject(new TypeError("lost"));
  };
  const client = clientOf(line, losing);
  const told: string[] = [];
  const waiter = {
    client,
    tellAway: ({ message }: ApiError) => void told.push(message),
    tellNotice: () => {},
  };
  const [agent] = (await client.agents.list({ limit: 1 })).items;
  const content = "name: web\nresources:\n  - { type: file, path: /page, content: hello }\n";
  await client.modules.upload({ content });
  await client.assignments.create({ name: "web", selector: "*", modules: ["web"] });

  const { operation_id } = await client.state.apply(agent!.node_id, { wait_seconds: 0 });
  expect((await awaitOperation(waiter, operation_id, true)).status).toBe("succeeded");

  const check = await client.drift.check(agent!.node_id, { wait_seconds: 0 });
  expect((await awaitDrift(waiter, { ...check, status: "running" })).status).toBe("in_sync");

  const { rollout_id } = await client.assignments.apply("web", { wait_seconds: 0 });
  expect((await awaitEnd(waiter, rollout_id)).status).toBe("succeeded");
  expect(lost).toBe(3);
  // Once each time that it goes away.
  expect(told).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/can't be reached\.$/)));
});

const id = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";
type Waiter = Parameters<typeof awaitEnd>[0];

it.each([
  ["an operation", (waiter: Waiter) => awaitOperation(waiter, id, true)],
  [
    "a drift check",
    (waiter: Waiter) => awaitDrift(waiter, { drift_id: id, status: "running" } as DriftDetail),
  ],
  ["a rollout", (waiter: Waiter) => awaitEnd(waiter, id)],
])("who waits for %s is told once of each time that the server goes away", async (_, wait) => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const said: string[] = [];
  const answers = ["running", "lost", "lost", "running", "lost", "running", "running", "lost", "succeeded"];
  const asked = answers.values();
  const scripted: Fetch = () => {
    const status = asked.next().value!;
    said.push(status);
    return status === "lost"
      ? Promise.reject(new TypeError("lost"))
      : Promise.resolve(Response.json({ status }));
  };
  const client = createClient({
    url: "http://127.0.0.1:1",
    token: "fw_x",
    fetch: scripted,
    retry: { attempts: 1 },
  });
  const ended = wait({ client, tellAway: () => void said.push("told"), tellNotice: () => {} });
  await vi.runAllTimersAsync();
  expect((await ended).status).toBe("succeeded");
  expect(said).toEqual(
    answers.flatMap((status, at) =>
      status === "lost" && answers[at - 1] !== "lost" ? [status, "told"] : [status],
    ),
  );
});

it("who waits for a rollout is answered soon at first and then rarely, and told once of agents that a window holds", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const answers = [
    { status: "running" },
    { status: "running", held: 2 },
    { status: "paused", held: 1 },
    { status: "stopping" },
    { status: "succeeded", held: 1 },
  ].values();
  const waits: (string | null)[] = [];
  const scripted: Fetch = (url) => {
    waits.push(new URL(url).searchParams.get("wait_seconds"));
    return Promise.resolve(Response.json(answers.next().value));
  };
  const client = createClient({ url: "http://127.0.0.1:1", token: "fw_x", fetch: scripted });
  const told: string[] = [];
  const ended = awaitEnd({ client, tellAway: () => {}, tellNotice: (text) => void told.push(text) }, id);
  await vi.runAllTimersAsync();
  expect((await ended).status).toBe("succeeded");
  expect(waits).toEqual(["2", "30", "30", "30", "30"]);
  expect(told).toEqual(["Waiting for 2 agents held by a maintenance window."]);
});

it("what a server refuses ends the waiting at once", async () => {
  const client = clientOf(await startSignedIn());
  await expect(
    awaitOperation({ client, tellAway: () => {}, tellNotice: () => {} }, id, true),
  ).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});

it("a run that a maintenance window holds on some agents says so while it is waited for, and when it is shown", async () => {
  const line = await startSignedIn();
  for (const name of ["free", "frozen"]) {
    const { agent } = await startSocketAgent(line);
    await line.print("agents", "approve", agent.nodeId!, "--name", name);
  }
  await line.print("tags", "set", "frozen", "env=db");
  await line.print(
    "windows",
    "create",
    "--reason",
    "moves",
    "--mode",
    "freeze",
    "--selector",
    "env=db",
    "--for",
    "1h",
  );
  const client = clientOf(line);
  const [window] = (await client.maintenanceWindows.list({})).items;
  const { rollout_id } = await client.runs.start({ selector: "*", command: "true", wait_seconds: 0 });
  const told: string[] = [];
  const end = awaitEnd(
    { client, tellAway: () => {}, tellNotice: (text) => void told.push(text) },
    rollout_id,
  );
  await waitFor(() => expect(told).toEqual(["Waiting for 1 agent held by a maintenance window."]));
  // The other may not have ended yet.
  await waitFor(async () => {
    const { stdout, code } = await line.run("runs", "show", rollout_id);
    expect(stdout).toContain("1 agent: not ended (1 agent held by a maintenance window)\n");
    expect(code).toBe(5);
  });
  await line.print("windows", "remove", window!.id, "--yes");
  expect((await end).status).toBe("succeeded");
  expect(told).toHaveLength(1);
});

it("a run that can't be ended is told of while it goes on, with what ends it, and what it came to is shown", async () => {
  const line = await startSignedIn();
  await startSocketAgent(line);
  await line.print("agents", "approve", "--all-pending", "--yes");
  const go = join(line.folder, "go");
  const began = join(line.folder, "began");
  const real = fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation((target, init) =>
    String(target).endsWith("/cancel") ? Promise.reject(new TypeError("lost")) : real(target, init),
  );
  const stop = deferred();
  let stdout = "";
  let stderr = "";
  const script = `touch ${began}; until [ -e ${go} ]; do sleep 0.05; done; echo ended`;
  const run = runCommandLine(["run", "--on", "*", "--yes", "--", script], {
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
    environment: { FLEETWRIGHT_HOME: join(line.folder, "home"), FLEETWRIGHT_URL: line.server.url },
    readInput: () => Promise.resolve(""),
    untilHurried: () => new Promise(() => {}),
    untilStopped: () => stop.promise,
  });
  await waitFor(() => expect(existsSync(began)).toBe(true));
  stop.resolve();
  try {
    await waitFor(() =>
      expect(stderr).toMatch(
        /^Ending it on the machines\.\nfleetwright: The run goes on; `fleetwright rollouts cancel [0-9a-f-]{36}` ends it: UNAVAILABLE: .* can't be reached\.\n$/,
      ),
    );
  } finally {
    vi.restoreAllMocks();
    writeFileSync(go, "");
  }
  expect(await run).toBe(0);
  expect(stdout).toContain("  | ended\n");
});

it("a command that watches says once that it waits for a server that is away, and shows the end", async () => {
  const line = await startSignedIn();
  await startSocketAgent(line);
  await line.print("agents", "approve", "--all-pending", "--yes");
  const go = join(line.folder, "go");
  await line.run("run", "--on", "*", "--yes", "--no-wait", "--", `until [ -e ${go} ]; do sleep 0.05; done`);
  const operation = (await line.print("operations", "list", "-o", "name")).trim();
  const rollout = (await line.print("rollouts", "list", "-o", "name")).trim();
  const real = fetch;
  const lost = { watch: 0, events: 0 };
  vi.spyOn(globalThis, "fetch").mockImplementation((target, init) => {
    const [, name] = /\/(watch|events)(?:\?|$)/.exec(String(target)) ?? [];
    const isLost = (name === "watch" || name === "events") && ++lost[name] <= 2;
    if (!isLost && name !== undefined) writeFileSync(go, "");
    return isLost ? Promise.reject(new TypeError("lost")) : real(target, init);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const watched = await Promise.all([
    line.run("rollouts", "watch", rollout, "--json"),
    line.run("operations", "watch", operation),
  ]);
  for (const { code, stdout } of watched) {
    expect(code).toBe(0);
    expect(stdout).toContain("succeeded");
  }
  const said = /^http\S+ can't be reached\. Waiting for the server\.\n?$/;
  const [asJson, asText] = watched.map(({ stderr }) => stderr);
  expect(asText).toMatch(said);
  expect(JSON.parse(asJson!)).toMatchObject({ code: "UNAVAILABLE", detail: expect.stringMatching(said) });
});

it("what ends just before a command can hear of it is seen all the same", async () => {
  const line = await startSignedIn();
  await startSocketAgent(line);
  await line.print("agents", "approve", "--all-pending", "--yes");
  const go = join(line.folder, "go");
  onTestFinished(() => writeFileSync(go, ""));
  await line.run("run", "--on", "*", "--yes", "--no-wait", "--", `until [ -e ${go} ]; do sleep 0.05; done`);
  const rollout = (await line.print("rollouts", "list", "-o", "name")).trim();
  const real = fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (target, init) => {
    if (/\/events(?:\?|$)/.test(String(target))) {
      writeFileSync(go, "");
      await waitFor(async () =>
        expect(await line.print("rollouts", "list", "--status", "succeeded", "-o", "name")).toContain(
          rollout,
        ),
      );
    }
    return real(target, init);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const { code, stdout, stderr } = await line.run("rollouts", "watch", rollout);
  // Nor does it say that something runs of which it would never tell that it has ended.
  expect([code, stdout, stderr]).toEqual([0, expect.stringContaining("succeeded"), ""]);
});

it("a command whose waiting a failure ends says where the end can be seen, of what there is", async () => {
  const line = await startSignedIn();
  await startSocketAgent(line);
  await line.print("agents", "approve", "--all-pending", "--yes");
  const go = join(line.folder, "go");
  onTestFinished(() => writeFileSync(go, ""));
  await line.run("run", "--on", "*", "--yes", "--no-wait", "--", `until [ -e ${go} ]; do sleep 0.05; done`);
  const operation = (await line.print("operations", "list", "-o", "name")).trim();
  const rollout = (await line.print("rollouts", "list", "-o", "name")).trim();
  const problem = {
    type: "about:blank",
    title: "No.",
    status: 403,
    detail: "No.",
    code: "PERMISSION_DENIED",
  };
  const real = fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation((target, init) =>
    /\/(?:rollouts|operations)\/[0-9a-f-]{36}(?:\/watch)?(?:\?|$)/.test(String(target)) &&
    init?.method === "GET"
      ? Promise.resolve(new Response(JSON.stringify(problem), { status: problem.status }))
      : real(target, init),
  );
  onTestFinished(() => void vi.restoreAllMocks());
  const lost = (kind: string, id: string): RegExp =>
    new RegExp(
      `^The end of the ${kind} was not seen. Follow it: fleetwright ${kind}s watch ${id}; end it: fleetwright ${kind}s cancel ${id}\nfleetwright: PERMISSION_DENIED`,
    );
  expect((await line.run("operations", "watch", operation)).stderr).toMatch(lost("operation", operation));
  expect((await line.run("rollouts", "watch", rollout)).stderr).toMatch(lost("rollout", rollout));
  const run = await line.run("run", "--on", "*", "--yes", "--", "true");
  expect(run.stderr).toMatch(lost("rollout", "[0-9a-f-]{36}"));
  const asLines = (await line.run("operations", "watch", operation, "--json")).stderr.trimEnd().split("\n");
  expect(asLines.map((text) => JSON.parse(text) as object)).toMatchObject([
    { title: "What was waited for goes on.", operation_id: operation },
    { code: "PERMISSION_DENIED", status: 403 },
  ]);
});
