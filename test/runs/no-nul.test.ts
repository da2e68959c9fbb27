/** A NUL ends an argument for the system: what a run says behind one would be lost, wherever it stands, and so it is refused. */
import { expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createScene } from "../support/rollout-scene.ts";

const nul = "a\0b";

it.each<[string, object, unknown[]]>([
  ["a line for the shell", { command: nul }, ["command"]],
  ["the program", { command: [nul] }, ["command", 0]],
  ["a word behind the program", { command: ["echo", "a", nul] }, ["command", 2]],
  ["a script", { script: nul }, ["script"]],
  ["what reads a script", { script: "true", interpreter: [nul] }, ["interpreter", 0]],
  ["an argument of what reads a script", { script: "true", interpreter: ["sh", nul] }, ["interpreter", 1]],
  ["the user", { command: "true", user: nul }, ["user"]],
  ["the folder", { command: "true", cwd: `/${nul}` }, ["cwd"]],
  ["the name of a variable", { command: "true", environment: { [nul]: "a" } }, ["environment", nul]],
  ["a variable", { command: "true", environment: { A: nul } }, ["environment", "A"]],
])("in %s", async (_, input, path) => {
  await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
  const { runs, rollouts } = scene.test.orchestrator;
  const refused: unknown = await runs
    .start(systemCaller, { selector: "*", wait_seconds: 0, ...input })
    .catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(OrchestratorError);
  expect(refused).toMatchObject({ code: "VALIDATION_FAILED", issues: [{ path }] });
  expect((await rollouts.list(systemCaller)).items).toEqual([]);
});
