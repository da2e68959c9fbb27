/** A plan of an assignment: agents with equal changes together, and exactly it applied afterwards. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { RolloutDetail, RolloutGroup } from "fleetwright";
import { startServer } from "fleetwright/h3";
import { MemoryData, MemoryStorage } from "../../../lib/storage/memory-storage.ts";
import { startAskedFleet } from "../../support/asked-fleet.ts";
import { runIn, startCommandLine, startSocketAgent } from "../../support/command-line.ts";
import { deferred } from "../../support/deferred.ts";

/** A script that waits for a file. */
const until = (path: string): string => `while [ ! -e ${path} ]; do sleep 0.05; done`;

const planOf = (stdout: string): string => /--plan (\S+)\n/.exec(stdout)?.[1] ?? "";

it("prints each change once, smallest group first, and applies exactly it", async () => {
  const fleet = await startAskedFleet(3);
  await fleet.upload("web", "/page");
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  await fleet.print("tags", "set", "web-3", "only=this");
  await fleet.print("assignments", "create", "one", "--selector", "only=this", "--module", "web");
  await fleet.print("assignments", "apply", "one");

  const plan = await fleet.run("assignments", "plan", "web");
  expect(plan.code).toBe(3);
  expect(plan.stdout).toMatch(
    new RegExp(
      "^web-3: plan succeeded \\(nothing to do\\)\n" +
        "2 the same: web-1, web-2: plan succeeded \\(1 to change\\)\n" +
        "  \\+ file  /page  create  web\n(?: {6}.*\n)+" +
        "web: 3 agents: 2 to change, 1 unchanged\nweb: resources: 2 to change, 1 unchanged\n" +
        "web: plan succeeded on 3 of 3 agents\n" +
        "  apply exactly this: fleetwright assignments apply web --plan \\S+\n$",
    ),
  );
  const told = JSON.parse(await fleet.print("rollouts", "changes", planOf(plan.stdout), "--json")) as {
    items: RolloutGroup[];
  };
  expect(told.items.map(({ count }) => count)).toEqual([1, 2]);
  const members = await fleet.print(
    "rollouts",
    "agents",
    planOf(plan.stdout),
    "--changes",
    told.items[1]?.changes ?? "",
  );
  expect(members).toMatch(/^AGENT .*\nweb-1 .*\nweb-2 .*\n$/);

  // One comes after the plan, one is not as it was then any more.
  const { agent } = await startSocketAgent(fleet);
  await fleet.print("agents", "approve", agent.nodeId ?? "", "--name", "web-4");
  await fleet.print("apply", "web-2", "--module", "web");
  const apply = await fleet.answer("y", "assignments", "apply", "web", "--plan", planOf(plan.stdout));
  expect(apply.stderr).toBe("web: 3 agents, 2 to change, 1 unchanged\nApply on 3 agents? [y/N] ");
  expect(apply.code).toBe(1);
  expect(apply.stdout).toContain("web-2: left out: PLAN_STALE: ");
  expect(apply.stdout).toContain("web: 1 agent not in the plan, left alone: web-4\n");
  expect(apply.stdout).toContain(
    "web: 3 agents: 1 changed, 1 unchanged, 1 left out, since the plan is not true there any more\n",
  );
  expect(fleet.machines.map((machine) => machine.has("page"))).toEqual([true, true, true]);
});

it("refuses a plan that is no id, and says what one is", async () => {
  const fleet = await startAskedFleet();
  await fleet.upload("web", "/page");
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  const { code, stderr } = await fleet.run("assignments", "apply", "web", "--plan", "x");
  expect(code).toBe(1);
  expect(stderr).toContain(
    'There is no rollout "x". It is named by its id, or by 4 characters and more that only this one begins with',
  );
});

it("asks nobody about a plan that can't be applied, and offers none that was cancelled", async () => {
  const fleet = await startAskedFleet(2);
  await fleet.upload("web", "/page");
  for (const name of ["web", "other"])
    await fleet.print("assignments", "create", name, "--selector", "*", "--module", "web");
  const plan = planOf((await fleet.run("assignments", "plan", "web")).stdout);
  const foreign = await fleet.answer("y", "assignments", "apply", "other", "--plan", plan);
  expect(foreign.stderr).toContain("NOT_FOUND");
  const applied = await fleet.print("assignments", "apply", "web", "--yes", "--json");
  const { rollout_id } = JSON.parse(applied) as RolloutDetail;
  const apply = await fleet.answer("y", "assignments", "apply", "web", "--plan", rollout_id);
  expect(`${foreign.stderr}${apply.stderr}`).not.toContain("[y/N]");
  expect([foreign.code, apply.code]).toEqual([1, 1]);
  const none = await fleet.run("rollouts", "changes", rollout_id, "-o", "name");
  expect(none.stdout).toMatch(/^[0-9a-f]{16,}\n$/);
});

it("follows a rollout and an operation to their end, with the exit code of it", async () => {
  const fleet = await startAskedFleet(2);
  const goOn = join(fleet.folder, "go-on");
  await fleet.uploadText(
    "name: web\nresources:\n  - { type: file, id: page, path: /page, content: x }\n" +
      `  - { type: script, id: slow, run: "${until(goOn)}", run_on: [page] }\n`,
  );
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  const answer = await fleet.run("assignments", "apply", "web", "--no-wait", "--batch", "1", "--json");
  expect(answer.code).toBe(5);
  const begun = JSON.parse(answer.stdout) as RolloutDetail;
  const watch = ["rollouts", "watch", begun.rollout_id];
  const watched = await runIn(fleet.folder, watch, undefined, "", () => writeFileSync(goOn, ""));
  expect(watched.code).toBe(0);
  expect(watched.stderr).toMatch(/^web: running, batch 1 of 2: 1 running, 1 waiting\n/);
  expect(watched.stderr).toContain("  Apply on web-1 ended: succeeded\n");
  expect(watched.stdout).toMatch(/^2 the same: web-1, web-2: apply succeeded \(2 changed\)\n/);
  // One that has ended is told at once.
  expect(await fleet.run("rollouts", "watch", begun.rollout_id)).toMatchObject({ code: 0, stderr: "" });
  const [operation] = await fleet.operations("apply");
  const one = await fleet.run("operations", "watch", operation?.operation_id ?? "");
  expect(one).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("apply succeeded (2 changed)") as string,
  });
  expect(await fleet.run("operations", "attach", operation?.operation_id ?? "")).toEqual(one);
});

it("goes on following a rollout where the server was started again in between", async () => {
  const data = new MemoryData();
  const line = await startCommandLine({ storage: new MemoryStorage({ data }) });
  await line.print("login", "--key", line.key);
  const { agent } = await startSocketAgent(line);
  await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
  const script = "name: slow\nresources:\n  - { type: file, id: page, path: /page, content: x }\n";
  const goOn = join(line.folder, "go-on");
  const slow = `  - { type: script, id: wait, run: "${until(goOn)}", run_on: [page] }\n`;
  await runIn(line.folder, ["modules", "upload", "-"], undefined, script + slow);
  await line.print("assignments", "create", "all", "--selector", "*", "--module", "slow");
  const begun = await line.run("assignments", "apply", "all", "--no-wait", "--json");
  const { rollout_id } = JSON.parse(begun.stdout) as RolloutDetail;
  const begins = deferred();
  const watching = runIn(line.folder, ["rollouts", "watch", rollout_id], undefined, "", () =>
    begins.resolve(),
  );
  await begins.promise;
  const { port } = new URL(line.server.url);
  await line.server.close();
  const again = await startServer({ storage: new MemoryStorage({ data }), listen: { port: Number(port) } });
  onTestFinished(() => again.close());
  writeFileSync(goOn, "");
  const { code, stdout, stderr } = await watching;
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^web-1: apply succeeded \(2 changed\)\n/) as string,
    stderr: expect.stringContaining("  Apply on web-1 ended: succeeded\n") as string,
  });
}, 60_000);
