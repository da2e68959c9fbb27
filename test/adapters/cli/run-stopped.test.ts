/**
 * Ctrl-C right behind Enter. Symptom: it ended the command line alone while the server had not answered yet; the command was running on
 * the machines, and nobody was told its id.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { runCommandLine } from "fleetwright/cli";
import { startSignedIn, startSocketAgent } from "../../support/command-line.ts";
import { deferred } from "../../support/deferred.ts";

type Send = () => Promise<Response>;

/** Runs a line on one agent; each request that begins it goes by `sent`, which may stop it. */
async function runStopped(
  command: (folder: string) => string,
  sent: (send: Send, stop: () => void) => Promise<Response>,
) {
  const line = await startSignedIn();
  await startSocketAgent(line);
  await line.print("agents", "approve", "--all-pending", "--yes");
  const stop = deferred();
  let isHeard = false;
  let requests = 0;
  const real = fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (target, init) => {
    const isStart = String(target).endsWith("/runs") && init?.method === "POST";
    if (!isStart) return real(target, init);
    // Until somebody hears a signal, it ends the process.
    expect(isHeard).toBe(true);
    requests += 1;
    return sent(() => real(target, init), stop.resolve);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  let stdout = "";
  let stderr = "";
  const code = await runCommandLine(["run", "--on", "*", "--yes", "--", command(line.folder)], {
    stdout: (text) => void (stdout += text),
    stderr: (text) => void (stderr += text),
    environment: { FLEETWRIGHT_HOME: join(line.folder, "home"), FLEETWRIGHT_URL: line.server.url },
    readInput: () => Promise.resolve(""),
    untilHurried: () => new Promise(() => {}),
    untilStopped() {
      isHeard = true;
      return stop.promise;
    },
  });
  return { code, stdout, stderr, requests, line };
}

test("a run that is stopped before the server has said what was begun is ended on the machines", async () => {
  const { code, stdout, stderr, requests } = await runStopped(
    () => "sleep 300",
    (send, stop) => {
      stop();
      return send();
    },
  );
  expect({ code, stderr, requests }).toEqual({
    code: 1,
    stderr: "Ending it on the machines.\n",
    requests: 1,
  });
  expect(stdout).toMatch(/: cancelled, 0 of 1 agent succeeded$/m);
});

const refused = (): Promise<Response> =>
  Promise.reject(
    Object.assign(new TypeError("fetch failed"), {
      cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }),
    }),
  );
const busy = async (): Promise<Response> =>
  Response.json({ code: "RATE_LIMITED", message: "later" }, { status: 429, headers: { "retry-after": "1" } });

test.each([
  ["is away", refused, "UNAVAILABLE"],
  ["is busy", busy, "status 429"],
])("a run that is stopped while the server %s is never begun", async (_, answer, code) => {
  const told = await runStopped(
    (folder) => `touch ${folder}/ran`,
    (_send, stop) => {
      stop();
      return answer();
    },
  );
  expect(told).toMatchObject({ code: 1, stdout: "", requests: 1 });
  expect(told.stderr).toContain(code);
  expect(told.stderr).not.toContain("Ending");
  expect(JSON.parse(await told.line.print("rollouts", "list", "--json"))).toMatchObject({ items: [] });
  expect(existsSync(join(told.line.folder, "ran"))).toBe(false);
});
