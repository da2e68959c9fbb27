/** What an installation or a removal does to other packages: told in the plan, refused untold, and taken back. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { AptMachine, type AptOptions } from "../../../support/machine/apt.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

const archive = { nginx: ["1.21", "1.22"], curl: ["8.0"], jq: ["1.6"] };

function start(options: Partial<AptOptions> = {}): { machine: AptMachine; state: StateFixture } {
  const machine = new AptMachine({ archive, ...options });
  return { machine, state: new StateFixture(machine.host) };
}

const pkg = (more: JsonObject): ReturnType<typeof declare> =>
  declare([{ id: "p", type: "package", ...more }]);

const web = {
  archive: { ...archive, libweb: ["1"], libhttp: ["2"], apache: ["2.4"] },
  depends: { nginx: ["libweb"], site: ["nginx"], curl: ["libweb", "libhttp"] },
};

describe("what came along with a package", () => {
  test("goes with it, and the plan says so", async () => {
    const { machine, state } = start(web);
    machine.install("jq", "1.6");
    await state.run("apply", pkg({ name: "nginx" }));
    expect(machine.list()).toEqual(["jq 1.6", "libweb 1 auto", "nginx 1.22"]);
    const plan = await state.run("plan", []);
    expect(plan.results[0]?.changes.map(({ property, after }) => [property, after])).toEqual([
      ["ensure", "absent"],
      ["ensure[libweb]", "absent"],
    ]);
    expect((await state.run("apply", [])).results[0]?.changes).toEqual(plan.results[0]?.changes);
    expect(machine.list()).toEqual(["jq 1.6"]);
  });

  test.each([
    ["python3.11", "python3"],
    ["python3", "python3.11"],
    ["libweb2", "libweb"],
    ["libweb-common", "libweb"],
    ["libweb+own", "libweb"],
  ])("goes with it as %s, also where %s stood before", async (came, stood) => {
    const { machine, state } = start({
      archive: { ...archive, [came]: ["1"], [stood]: ["1"] },
      depends: { nginx: [came] },
    });
    machine.install(stood, "1", { auto: true });
    await state.run("apply", pkg({ name: "nginx" }));
    expect(machine.list()).toContain(`${came} 1 auto`);
    await state.run("apply", []);
    expect(machine.list()).toEqual([`${stood} 1 auto`]);
  });

  test("is found also where the index was fetched by the apply", async () => {
    const { machine, state } = start({ ...web, fresh: false });
    await state.run("apply", pkg({ name: "nginx" }));
    await state.run("apply", []);
    expect(machine.list()).toEqual([]);
  });

  test.each<[string, (machine: AptMachine) => void, string[]]>([
    ["was there before", (machine) => machine.install("libweb", "1", { auto: true }), ["libweb 1 auto"]],
    ["was asked for before", (machine) => machine.install("libweb", "1"), ["libweb 1"]],
  ])("stays where it %s", async (_when, prepare, left) => {
    const { machine, state } = start(web);
    prepare(machine);
    await state.run("apply", pkg({ name: "nginx" }));
    await state.run("apply", []);
    expect(machine.list()).toEqual(left);
  });

  test("stays where somebody asked for it since, or holds it, or another needs it", async () => {
    for (const change of [
      (machine: AptMachine) => machine.install("libweb", "1"),
      (machine: AptMachine) => machine.install("libweb", "1", { auto: true, held: true }),
    ]) {
      const { machine, state } = start(web);
      await state.run("apply", pkg({ name: "nginx" }));
      change(machine);
      await state.run("apply", []);
      expect(machine.list()).toEqual([expect.stringMatching(/^libweb/)]);
    }
  });

  test("goes alone: what came since and is of no use to anybody goes with nothing of ours", async () => {
    const { machine, state } = start(web);
    await state.run("apply", pkg({ name: "nginx" }));
    machine.install("libhttp", "2", { auto: true });
    const plan = await state.run("plan", []);
    expect(plan.results[0]?.changes.map(({ property }) => property)).toEqual(["ensure", "ensure[libweb]"]);
    await state.run("apply", []);
    expect(machine.list()).toEqual(["libhttp 2 auto"]);
  });

  test("stays while another of ours needs it, and goes with the last one", async () => {
    const { machine, state } = start({ ...web, depends: { nginx: ["libweb"], curl: ["libweb"] } });
    const both = declare(["nginx", "curl"].map((name) => ({ type: "package", name })));
    await state.run("apply", both);
    await state.run("apply", both.slice(0, 1));
    expect(machine.list()).toEqual(["libweb 1 auto", "nginx 1.22"]);
    await state.run("apply", []);
    expect(machine.list()).toEqual([]);
  });
});

test.each([
  ["none is there", null, ["ensure[libweb]", "ensure[jq]"]],
  ["one is back as it was", { auto: true }, ["ensure[jq]"]],
  ["one is back, and marked otherwise", { auto: false }, ["auto[libweb]", "ensure[jq]"]],
])("of several that come back each is marked as it was, where %s", async (_what, back, told) => {
  const { machine, state } = start(web);
  machine.install("libweb", "1", { auto: true });
  machine.install("jq", "1.6");
  const before = machine.list();
  await state.run("apply", pkg({ name: ["libweb", "jq"], ensure: "absent" }));
  expect(machine.list()).toEqual([]);
  if (back) machine.install("libweb", "1", back);
  const { results } = await state.run("apply", []);
  expect(machine.list()).toEqual(before);
  expect(results[0]?.changes.map(({ property }) => property)).toEqual(told);
});

describe("others that go", () => {
  const conflicting = { ...web, conflicts: { nginx: ["apache"] } };

  test("for a package that is installed are in the plan, and come back with its removal", async () => {
    const { machine, state } = start(conflicting);
    machine.install("apache", "2.4", { auto: true });
    const plan = await state.run("plan", pkg({ name: "nginx" }));
    expect(plan.results[0]?.changes).toContainEqual({
      property: "ensure[apache]",
      before: "present",
      after: "absent",
    });
    expect((await state.run("apply", pkg({ name: "nginx" }))).results[0]).toMatchObject({
      outcome: "changed",
      changes: plan.results[0]?.changes,
    });
    expect(machine.list()).toEqual(["libweb 1 auto", "nginx 1.22"]);
    await state.run("apply", []);
    expect(machine.list()).toEqual(["apache 2.4 auto"]);
  });

  test("with a package that is not wanted are in the plan, and come back", async () => {
    const { machine, state } = start(web);
    machine.archive["site"] = ["1"];
    machine.install("nginx", "1.22");
    machine.install("libweb", "1", { auto: true });
    machine.install("site", "1");
    const before = machine.list();
    const plan = await state.run("plan", pkg({ name: "nginx", ensure: "absent" }));
    expect(plan.results[0]?.changes).toEqual([
      { property: "ensure", before: "present", after: "absent" },
      { property: "ensure[site]", before: "present", after: "absent" },
    ]);
    await state.run("apply", pkg({ name: "nginx", ensure: "absent" }));
    expect(machine.list()).toEqual(["libweb 1 auto"]);
    await state.run("apply", []);
    expect(machine.list()).toEqual(before);
  });

  test("for a later version come back as well, and so does what only that takes away", async () => {
    const { machine, state } = start(conflicting);
    machine.install("curl", "8.0");
    machine.install("apache", "2.4", { auto: true });
    machine.install("nginx", "1.21", { auto: true });
    const several = (more: JsonObject) => pkg({ name: ["curl", "nginx"], ...more });
    await state.run("apply", several({ hold: true }));
    machine.archive["site"] = ["1"];
    machine.install("site", "1");
    await state.run("apply", several({ hold: false, ensure: "absent" }));
    expect(machine.list()).toEqual(["apache 2.4 auto"]);
    expect((await state.run("apply", [])).status).toBe("succeeded");
    expect(machine.list()).toContain("site 1");
  });

  test("for a later version come back, but for what a package of ours takes along as well", async () => {
    const { machine, state } = start({
      archive: { ...archive, site: ["1"], query: ["1"], both: ["1"] },
      depends: { site: ["nginx"], query: ["jq"], both: ["jq", "nginx"] },
    });
    machine.install("nginx", "1.22");
    await state.run("apply", pkg({ name: ["jq", "nginx"] }));
    for (const name of ["site", "query", "both"]) machine.install(name, "1");
    await state.run("apply", pkg({ name: ["jq", "nginx"], ensure: "absent" }));
    expect(machine.list()).toEqual([]);
    expect((await state.run("apply", [])).status).toBe("succeeded");
    expect(machine.list()).toEqual(["nginx 1.22", "site 1"]);
  });

  test.each([
    ["that somebody asked for since", false, ["nginx 1.22", "site 1"]],
    ["that came for the sake of others since", true, ["nginx 1.22"]],
  ])("for a later version, %s: %s", async (_what, auto, left) => {
    const { machine, state } = start({ archive: { ...archive, site: ["1"] }, depends: { site: ["nginx"] } });
    machine.install("nginx", "1.22");
    // It brings a package, so that it is noted what stood beside it.
    await state.run("apply", pkg({ name: ["jq", "nginx"] }));
    machine.install("site", "1", { auto });
    await state.run("apply", pkg({ name: ["jq", "nginx"], ensure: "absent" }));
    expect(machine.list()).toEqual([]);
    expect((await state.run("apply", [])).status).toBe("succeeded");
    expect(machine.list()).toEqual(left);
  });

  test("with a package of ours that a later version does not want stay away with it", async () => {
    const { machine, state } = start({ ...web, archive: { ...web.archive, site: ["1"] } });
    await state.run("apply", pkg({ name: "nginx" }));
    machine.install("site", "1");
    await state.run("apply", pkg({ name: "nginx", ensure: "absent" }));
    expect(machine.list()).toEqual(["libweb 1 auto"]);
    expect((await state.run("apply", [])).status).toBe("succeeded");
    expect(machine.list()).toEqual(["libweb 1 auto"]);
  });

  test("for a version come back where an earlier one left them as they were", async () => {
    const { machine, state } = start(web);
    machine.install("nginx", "1.21", { auto: true });
    await state.run("apply", pkg({ name: "nginx", hold: true }));
    await state.run("apply", pkg({ name: "nginx", ensure: "absent", hold: false }));
    expect(machine.list()).toEqual([]);
    expect((await state.run("apply", [])).status).toBe("succeeded");
    expect(machine.list()).toEqual(["libweb 1 auto", "nginx 1.22 auto"]);
  });

  test("of which no check told are not taken: the apply fails, and says which", async () => {
    const { machine, state } = start({ ...conflicting, fresh: false });
    machine.install("apache", "2.4");
    const { results } = await state.run("apply", pkg({ name: "nginx" }));
    expect(results[0]).toMatchObject({
      outcome: "failed",
      code: "HOST_ERROR",
      message: expect.stringContaining("told of: apache."),
    });
    expect(machine.list()).toEqual(["apache 2.4"]);
    // Now the index is known, and the next one tells.
    expect((await state.run("apply", pkg({ name: "nginx" }))).results[0]?.outcome).toBe("changed");
  });

  test("are held back by the package manager itself, where they turn up after the look", async () => {
    const { machine, state } = start(web);
    machine.install("apache", "2.4");
    const run = machine.host.run.bind(machine.host);
    machine.host.run = (command, signal) => {
      if (command.argv.includes("install") && command.asks !== true) machine.conflicts["nginx"] = ["apache"];
      return run(command, signal);
    };
    const { results } = await state.run("apply", pkg({ name: "nginx" }));
    expect(results[0]).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
    expect(machine.list()).toEqual(["apache 2.4"]);
  });
});

test("a package that was there for the sake of others is so again", async () => {
  const { machine, state } = start();
  machine.install("nginx", "1.21", { auto: true });
  await state.run("apply", pkg({ name: "nginx", version: "1.22" }));
  expect(machine.list()).toEqual(["nginx 1.22"]);
  expect((await state.run("apply", [])).results[0]?.changes).toEqual([
    { property: "auto", before: false, after: true },
  ]);
  expect(machine.list()).toEqual(["nginx 1.22 auto"]);
});
