/**
 * Ctrl-C right behind Enter. Symptom: it ended the command line alone while the server had not answered yet; the command was running on
 * the machines, and nobody was told its id.
 */
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { runCommandLine } from "fleetwright/cli";
import { startSignedIn, startSocketAgent } from "../../support/command-line.ts";
import { deferred } from "../../support/deferred.ts";

test("a run that is stopped before the server has said what was begun is ended on the machines", async () => {
  const line = await startSignedIn();
  await startSocketAgent(line);
  await line.print("agents", "approve", "--all-pending", "--yes");
  const stop = deferred();
  let isHeard = false;
  const real = fetch;
  vi.spyOn(globalThis, "fetch").mockImplementation(async (target, init) => {
    const isStart = String(target).endsWith("/runs") && init?.method === "POST";
    if (!isStart) return real(target, init);
    // Until somebody hears a signal, it ends the process.
    expect(isHeard).toBe(true);
    stop.resolve();
    return real(target, init);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  let stdout = "";
  let stderr = "";
  const code = await runCommandLine(["run", "--on", "*", "--yes", "--", "sleep 300"], {
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
  expect({ code, stderr }).toEqual({ code: 1, stderr: "Ending it on the machines.\n" });
  expect(stdout).toMatch(/: cancelled, 0 of 1 agent succeeded$/m);
});
