/**
 * Symptom: an operation that waited in an old backup ran a second time after `resume`. Cause: the agent had carried it out and forgotten
 * its id since, and said that it knew nothing of it.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { seal } from "../../lib/agent/sealed-text.ts";
import { createClockScene, minute, type ClockScene } from "../support/clock-scene.ts";
import { deferred } from "../support/deferred.ts";

/** Has the agent remember a thousand newer operations, and none of before. */
function forget({ stateDir }: ClockScene): void {
  const operations = Object.fromEntries(
    Array.from({ length: 1000 }, (_, n) => [
      `ff000000-0000-7000-8000-${String(n).padStart(12, "0")}`,
      "2000-01-01T00:00:00.000Z",
    ]),
  );
  for (const name of ["acknowledged.json", "acknowledged.copy.json"])
    writeFileSync(join(stateDir, name), `${seal({ version: 1, operations })}\n`);
}

it("an operation of an old backup that its agent carried out and forgot is not run again, nor called not run", async () => {
  await using scene = await createClockScene();
  const { promise, resolve } = deferred();
  scene.work = promise;
  const running = await scene.apply();
  const waiting = await scene.queue();
  const backup = scene.backup();
  resolve(undefined);
  await scene.pass(1_000);
  const { runs } = scene;
  await scene.stopAgent();
  forget(scene);
  // What the scripts leave is gone: whatever begins again runs them.
  for (const path of ["/etc/motd", "/etc/done"]) scene.host.files.removeFile(path);
  await scene.stopServer();
  scene.data = backup;
  await scene.startServer();
  await scene.server.orchestrator.restores.resume(systemCaller);
  await scene.startAgent(scene.stateDir, { keptResults: { count: 0 } });
  await scene.meet();
  await scene.pass(5 * minute);
  expect(scene.runs).toBe(runs);
  for (const { operation_id } of [running, waiting])
    expect(await scene.server.orchestrator.operations.get(systemCaller, { operation_id })).toMatchObject({
      status: "failed",
      error: { code: "RESULT_GONE" },
    });
  // What is new runs, and what it never heard of it says so.
  expect(await scene.statusOf(await scene.apply())).toBe("succeeded");
  expect(scene.runs).toBe(runs + 1);
});
