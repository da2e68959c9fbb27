/** Assignments on the command line: which revisions they bring, and who has them. */
import { expect, it } from "vitest";
import type { AssignmentDetail } from "fleetwright";
import { startAskedFleet } from "../../support/asked-fleet.ts";

it("tell pinned from newest revisions, and what each agent has", async () => {
  const fleet = await startAskedFleet(2);
  for (const path of ["/one", "/two"]) await fleet.upload("web", path);
  await fleet.upload("base", "/base");
  await fleet.print("tags", "set", "web-1", "role=web");
  const modules = ["--module", "web@1", "--module", "base"];
  await fleet.print("assignments", "create", "web", "--selector", "role=web", ...modules);
  await fleet.print("assignments", "apply", "web");
  await fleet.print("tags", "set", "web-2", "role=web");

  const told = "web@1 (pinned), base (latest: 1)";
  expect(await fleet.print("assignments", "list")).toContain(`\nweb         role=web  ${told}  2\n`);
  const shown = await fleet.print("assignments", "show", "web");
  expect(shown).toContain(`\nmodules              ${told}\n`);
  expect(shown).toMatch(/\nagents {15}2\n\nAGENT {2}HAS\nweb-1 {2}web@1, base@1\nweb-2 {2}-\n$/);

  expect(await fleet.print("assignments", "update", "web", "--module", "web@2,base")).toBe(
    "Agents that web matches: 2\n",
  );
  expect(await fleet.print("assignments", "show", "web")).toContain("web@2 (pinned)");
  expect(await fleet.print("agents", "list", "--module", "web@1")).toMatch(/ web-1 /);
  expect(await fleet.print("agents", "list", "--module", "web@2")).not.toMatch(/ web-1 /);
  expect(await fleet.print("assignments", "apply", "web")).toContain(
    "web: resources: 1 removed on 1 agent, 3 changed, 1 unchanged\n",
  );
  const having = await fleet.print("agents", "list", "--module", "web@2");
  for (const name of ["web-1", "web-2"]) expect(having).toContain(` ${name} `);
});

it("change in what is given, and keep the rest", async () => {
  const fleet = await startAskedFleet();
  await fleet.upload("web", "/one");
  const given = ["--schedule", "@daily", "--enforce", "--description", "pages", "--batch", "10%"];
  await fleet.print("assignments", "create", "web", "--selector", "role=web", "--module", "web", ...given);
  const read = async (): Promise<AssignmentDetail> =>
    JSON.parse(await fleet.print("assignments", "show", "web", "--json")) as AssignmentDetail;
  await fleet.print("assignments", "update", "web", "--selector", "*", "--no-enforce");
  expect(await read()).toMatchObject({
    selector: "*",
    modules: ["web"],
    description: "pages",
    enforce: false,
    rollout: { batch: "10%" },
    schedule: { cron: expect.any(String) as string },
  });
  await fleet.print("assignments", "update", "web", "--no-schedule", "--unattended-removals");
  expect(await read()).toMatchObject({ enforce: false, unattended_removals: true });
  expect((await read()).schedule).toBeUndefined();
  for (const wrong of [[], ["--time-zone", "Europe/Berlin"]])
    expect(await fleet.run("assignments", "update", "web", ...wrong)).toMatchObject({ code: 2 });
});
