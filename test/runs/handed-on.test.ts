/** What a call says of how a command runs reaches its agents, each word of it. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { startRunInput } from "../../lib/runs/schemas.ts";
import { createScene } from "../support/rollout-scene.ts";

/** Where and how it goes through the fleet, which is no agent's business. */
const elsewhere = ["selector", "node_ids", "rollout", "override_window", "wait_seconds"];

const script = { script: "echo hello", interpreter: ["/bin/bash", "-e"] };
const place = { user: "www-data", cwd: "/srv", environment: { A: "1", B: "two words" } };

it.each([
  ["a script", { ...script, ...place }, { run: script.script, interpreter: script.interpreter, ...place }],
  ["a script alone", { script: "true" }, { run: "true" }],
  ["a line", { command: "echo $HOME", ...place }, { run: "echo $HOME", ...place }],
  ["a program", { command: ["echo", "$HOME"], user: "0" }, { run: ["echo", "$HOME"], user: "0" }],
])("%s", async (_, how, spec) => {
  await using scene = await createScene(2);
  const { runs } = scene.test.orchestrator;
  const run = await runs.start(systemCaller, { selector: "*", ...how, timeout_seconds: 77, wait_seconds: 0 });
  expect(run.groups).toEqual([]);
  for (const { agent } of scene.agents) {
    const { resources, timeout_seconds } = await agent.next("run");
    expect(timeout_seconds).toBe(77);
    expect(resources.map((resource) => [resource.type, resource.spec])).toEqual([["script", spec]]);
  }
});

it.each(["root", "0", "_apt", "a.b-c_1", "A", "machine$", "u".repeat(64), `${"u".repeat(64)}$`])(
  "%s as the user",
  async (user) => {
    await using scene = await createScene(1);
    await scene.test.orchestrator.runs.start(systemCaller, {
      selector: "*",
      command: "true",
      user,
      wait_seconds: 0,
    });
    const { resources } = await scene.agents[0]!.agent.next("run");
    expect(resources.map(({ spec }) => spec)).toEqual([{ run: "true", user }]);
  },
);

it.each(["", "$", "a$b", "a$$", "-u", ".a", "a b", "a:b", "ä", "u".repeat(65)])(
  "no command where %j is the user, which is none",
  async (user) => {
    await using scene = await createScene(1);
    const input = { selector: "*", command: "true", user, wait_seconds: 0 };
    await expect(scene.test.orchestrator.runs.start(systemCaller, input)).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["user"] }],
    });
  },
);

it("all that a call may say is in one of these tests, or no agent's business", () => {
  const said = ["timeout_seconds", "command", ...Object.keys({ ...script, ...place }), ...elsewhere];
  expect(Object.keys(startRunInput.shape).toSorted()).toEqual(said.toSorted());
});
