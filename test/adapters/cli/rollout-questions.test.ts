/** What an apply of an assignment asks before it touches several machines, or removes something. */
import { expect, it } from "vitest";
import type { Page, Rollout } from "fleetwright";
import { startAskedFleet } from "../../support/asked-fleet.ts";
import type { AskedFleet } from "../../support/asked-fleet.ts";

/** The newest rollout that applies, and how many there are. */
async function applies(fleet: AskedFleet): Promise<{ newest: Rollout | undefined; count: number }> {
  const { items } = JSON.parse(await fleet.print("rollouts", "list", "--json")) as Page<Rollout>;
  const made = items.filter(({ kind }) => kind === "apply");
  return { newest: made[0], count: made.length };
}

/** Where a file is, machine by machine. */
const has = (fleet: AskedFleet, path: string): boolean[] =>
  fleet.machines.map((machine) => machine.has(path));

it("two machines are asked about, and nothing that comes up later is removed", async () => {
  const fleet = await startAskedFleet(2);
  await fleet.upload("web", "/page");
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  const no = await fleet.answer("n", "assignments", "apply", "web");
  expect(no).toEqual({
    code: 1,
    stdout: "",
    stderr: "web: 2 agents, 2 to change\nApply on 2 agents? [y/N] fleetwright: Nothing was changed.\n",
  });
  expect(has(fleet, "page")).toEqual([false, false]);
  expect((await applies(fleet)).count).toBe(0);

  const yes = await fleet.answer("y", "assignments", "apply", "web");
  expect(yes.code).toBe(0);
  expect(yes.stdout).toMatch(/\nweb: resources: 2 changed\nweb: apply succeeded on 2 of 2 agents\n$/);
  expect((await applies(fleet)).newest?.rollout).toEqual({ max_removals: 0 });

  const meanwhile = (): Promise<void> => fleet.upload("web", "/other");
  const late = await fleet.answer({ typed: "y", meanwhile }, "assignments", "apply", "web");
  expect(late).toMatchObject({ code: 1, stdout: expect.stringContaining("TOO_MANY_REMOVALS") as string });
  expect(has(fleet, "page")).toEqual([true, true]);
});

it("removals are counted first, by machine, and no machine removes more than was told", async () => {
  const fleet = await startAskedFleet(2);
  await fleet.upload("web", "/a", "/b", "/c");
  await fleet.print("tags", "set", "web-1", "role=web");
  await fleet.print("assignments", "create", "web", "--selector", "role=web", "--module", "web");
  await fleet.print("assignments", "apply", "web");
  await fleet.print("tags", "set", "web-2", "role=web");
  await fleet.upload("web", "/c", "/d");

  const { code, stdout, stderr } = await fleet.answer("y", "assignments", "apply", "web");
  expect(stderr).toBe(
    "web: 2 agents, 2 to remove on 1 agent, 3 to change, 1 unchanged\n" +
      "  web-1: 2 to remove, 1 to change\n" +
      "Apply on 2 agents and remove 2 resources on 1 of them? [y/N] ",
  );
  expect(code).toBe(0);
  expect(stdout).toContain(
    "web: resources: 2 removed on 1 agent, 3 changed, 1 unchanged\nweb: apply succeeded on 2 of 2 agents\n",
  );
  const { newest } = await applies(fleet);
  expect(newest?.rollout).toEqual({ max_removals: 2 });
  const agents = await fleet.print("rollouts", "agents", newest?.rollout_id ?? "");
  expect(agents).toMatch(/web-1 .*succeeded {2}2 removed, 1 changed, 1 unchanged {2}/);
  expect([has(fleet, "a"), has(fleet, "d")]).toEqual([
    [false, false],
    [true, true],
  ]);
});

it("one machine without removals is not asked about; one with removals is", async () => {
  const fleet = await startAskedFleet();
  await fleet.upload("web", "/a", "/b");
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  expect(await fleet.answer("", "assignments", "apply", "web")).toMatchObject({ code: 0, stderr: "" });
  expect((await applies(fleet)).newest?.rollout).toEqual({ max_removals: 0 });
  await fleet.upload("web", "/a");
  const { code, stderr } = await fleet.answer("", "assignments", "apply", "web");
  expect(code).toBe(1);
  expect(stderr).toContain("Apply on 1 agent and remove 1 resource? [y/N] ");
  expect(has(fleet, "b")).toEqual([true]);
});

it("a yes never raises the limit that the assignment or the call has", async () => {
  const fleet = await startAskedFleet();
  await fleet.upload("web", "/a", "/b", "/c");
  await fleet.print(
    "assignments",
    "create",
    "web",
    "--selector",
    "*",
    "--module",
    "web",
    "--max-removals",
    "1",
  );
  await fleet.print("assignments", "apply", "web");
  await fleet.upload("web", "/a");
  expect(await fleet.answer("y", "assignments", "apply", "web")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("TOO_MANY_REMOVALS") as string,
  });
  expect((await applies(fleet)).newest?.rollout).toEqual({ max_removals: 1 });
  expect(has(fleet, "c")).toEqual([true]);
  expect(await fleet.answer("y", "assignments", "apply", "web", "--max-removals", "5")).toMatchObject({
    code: 0,
  });
  expect((await applies(fleet)).newest?.rollout).toEqual({ max_removals: 2 });
});

it("a machine that could not be planned on is told, and what may go there", async () => {
  const fleet = await startAskedFleet(2);
  await fleet.upload("web", "/a");
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  await fleet.leave();
  const { stderr } = await fleet.answer("n", "assignments", "apply", "web");
  expect(stderr).toContain(
    "web: 2 agents, 1 to change\n  1 agent could not be planned on; an apply there removes nothing\n    ",
  );
});

it("nobody is asked with --yes, with --json and without a terminal, and nothing is planned", async () => {
  const fleet = await startAskedFleet(2);
  await fleet.upload("web", "/a");
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  const args = ["assignments", "apply", "web"];
  for (const run of [
    () => fleet.answer("", ...args, "--yes"),
    () => fleet.answer("", ...args, "--json"),
    () => fleet.run(...args),
  ])
    expect(await run()).toMatchObject({ code: 0, stderr: "" });
  expect((await applies(fleet)).newest?.rollout).toEqual({});
  expect(await fleet.operations("plan")).toEqual([]);
});
