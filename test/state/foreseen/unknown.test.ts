/** What a plan says of a resource that rests on what an earlier one brings, and what an apply then makes of it. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResourceResult } from "../../../lib/state/result.ts";
import { modelArchive } from "../../support/machine/tar.ts";
import { wholeMachine } from "../../support/machine/whole-machine.ts";
import { foretold, told } from "../../support/plan-and-apply.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const pack = (name: string): JsonObject => ({ id: name, type: "package", name });
const file = (path: string, more: JsonObject = {}): JsonObject => ({ id: path, type: "file", path, ...more });
const gone = (path: string, more: JsonObject = {}): JsonObject => file(path, { ensure: "absent", ...more });
const script = (id: string, run: string, more: JsonObject = {}): JsonObject => {
  return { id, type: "script", run, creates: `/srv/${id}`, ...more };
};
const follower = (id: string, ...causes: string[]): JsonObject => {
  return { id, type: "script", run: `touch srv/${id}`, run_on: causes };
};

/** Plans, and applies the plan; what is unknown must settle as declared, and all else must be as it was said. */
async function planAndApply(
  modules: readonly JsonObject[][],
  state = new StateFixture(wholeMachine()),
): Promise<{ plan: string[]; done: string[]; results: ResourceResult[] }> {
  const desired = modules.flatMap((each, at) => declare(each, `m${at}`));
  const writes = state.host.writes.length;
  const plan = await state.run("plan", desired);
  expect(state.host.writes.slice(writes).filter(({ call }) => call !== "run")).toEqual([]);
  const applied = await state.run("apply", desired);
  const compare = (results: unknown[]): unknown =>
    (results as JsonObject[]).map(({ changes: _changes, ...rest }) => rest);
  expect(compare(told(applied))).toEqual(compare(foretold(plan, applied)));
  return { plan: plan.results.map(toLine), done: applied.results.map(toLine), results: plan.results };
}

function toLine({ resource_id, outcome, action, until }: ResourceResult): string {
  return `${resource_id} ${outcome} ${action}${until === undefined ? "" : ` until ${until}`}`;
}

describe("a plan does not know", () => {
  test("whether what must not be there comes with a package", async () => {
    const { plan, done } = await planAndApply([[pack("web"), gone("/etc/web/web.conf"), gone("/etc/web/x")]]);
    expect(plan).toEqual([
      "web would_change create",
      "/etc/web/web.conf unknown none until web",
      "/etc/web/x unknown none until web",
    ]);
    expect(done.slice(1)).toEqual(["/etc/web/web.conf changed remove", "/etc/web/x unchanged none"]);
  });

  test("what is in an archive, neither of what is to be there nor of what is in sync", async () => {
    const state = new StateFixture(wholeMachine());
    const content = (text: string): string =>
      modelArchive([
        { name: "t/" },
        { name: "t/conf", content: text },
        { name: "t/old", content: "x" },
      ]).toString();
    const tar = (text: string): JsonObject => file("/srv/t.tar", { content: content(text) });
    const archive = {
      id: "tool",
      type: "archive",
      path: "/srv/tool",
      source: "/srv/t.tar",
      strip_components: 1,
    };
    const conf = file("/srv/tool/conf", { mode: "0600" });
    const first = await planAndApply(
      [[tar("one"), archive, conf, gone("/srv/tool/old"), file("/srv/x")]],
      state,
    );
    expect(first.plan.slice(2)).toEqual([
      "/srv/tool/conf unknown create until tool",
      "/srv/tool/old unknown none until tool",
      "/srv/x would_change create",
    ]);
    expect(first.done.slice(2)).toEqual([
      "/srv/tool/conf changed update",
      "/srv/tool/old unchanged none",
      "/srv/x changed create",
    ]);
  });

  test("what a check asks that a program may answer otherwise by then, in its module and in those that it requires", async () => {
    const asking = { id: "ask", type: "script", run: "touch srv/done", check: "test -e srv/done" };
    const make = script("make", "touch srv/make");
    const { plan } = await planAndApply([[make, asking]]);
    expect(plan[1]).toBe("ask unknown run until make");
    const other = await planAndApply([[make], [asking]]);
    expect(other.plan[1]).toBe("ask would_change run");
    const requiring = declare([asking], "m1").map((each) => ({ ...each, requires_modules: ["m0"] }));
    const desired = [...declare([make], "m0"), ...requiring];
    const { results } = await new StateFixture(wholeMachine()).run("plan", desired);
    expect(results.map(toLine)[1]).toBe("ask unknown run until m0/make");
  });

  test("whether a service that is to rest is started by a package, nor what a purge will find", async () => {
    const rest = { id: "rest", type: "service", name: "ssh", running: false };
    const folder = { id: "folder", type: "directory", path: "/etc/init.d", purge: false };
    const purged = { id: "purged", type: "directory", path: "/etc/web", purge: true };
    const state = new StateFixture(wholeMachine());
    const { plan } = await planAndApply([[pack("web"), rest, folder, purged]], state);
    expect(plan.slice(1)).toEqual([
      "rest unknown none until web",
      "folder unchanged none",
      "purged unknown create until web",
    ]);
  });

  test.each([
    [{ running: false }, "rest unknown none until web"],
    [{ enabled: false }, "rest unknown none until web"],
    [{ running: false, enabled: false }, "rest unknown none until web"],
  ])("whether a service is started, or enabled, by a package: %j", async (properties, line) => {
    const rest = { id: "rest", type: "service", name: "ssh", ...properties };
    const { plan } = await planAndApply([[pack("web"), rest]], new StateFixture(wholeMachine()));
    expect(plan[1]).toBe(line);
  });

  test.each(["absent", "purged"])(
    "whether a package brings what must not be there, but one that is %s brings nothing",
    async (ensure) => {
      const state = new StateFixture(wholeMachine());
      await state.run("apply", declare([pack("web")]));
      const web = { ...pack("web"), ensure };
      const left = [
        gone("/etc/web/x"),
        { id: "folder", type: "directory", path: "/srv/d", ensure: "absent" },
      ];
      const { plan } = await planAndApply([[web, ...left], [gone("/srv/y")]], state);
      expect(plan).toEqual([
        "web would_change remove",
        "/etc/web/x unchanged none",
        "folder unchanged none",
        "/srv/y unchanged none",
      ]);
    },
  );

  test("more than it must: what stands by itself, and comes from a bringer that is in sync, is known", async () => {
    const state = new StateFixture(wholeMachine());
    const set = [pack("web"), file("/srv/x", { content: "x" }), gone("/srv/y"), gone("/etc/web/web.conf")];
    await planAndApply([set], state);
    const again = await planAndApply([set], state);
    expect(again.plan.every((line) => line.includes(" unchanged "))).toBe(true);
    const more = await planAndApply([[script("make", "touch srv/make"), ...set.slice(0, 2)]], state);
    expect(more.plan.slice(2)).toEqual([
      "make would_change run",
      "web unchanged none",
      "/srv/x unchanged none",
    ]);
  });
});

test("what a package that is not declared any more takes away brings nothing", async () => {
  const state = new StateFixture(wholeMachine());
  await planAndApply([[pack("web")]], state);
  const { plan } = await planAndApply([[gone("/srv/y"), gone("/etc/web/none")]], state);
  expect(plan.filter((line) => line.includes(" unknown "))).toEqual([]);
  expect(plan).toContain("web would_change remove");
});

describe("what follows something unknown", () => {
  test("waits for what that waits for, and settles with it", async () => {
    const conf = file("/etc/web/web.conf", { content: "port 80\n", mode: "0644" });
    const page = file("/etc/web/page", { content: "x" });
    const follow = [follower("a", "/etc/web/web.conf"), follower("b", "/etc/web/page")];
    const { plan, done } = await planAndApply([[pack("web"), conf, page, ...follow]]);
    expect(plan.slice(3)).toEqual(["a unknown none until web", "b unknown none until web"]);
    // The package brings the very content, so nothing follows it.
    expect(done.slice(1)).toEqual([
      "/etc/web/web.conf unchanged none",
      "/etc/web/page changed create",
      "a unchanged none",
      "b changed run",
    ]);
  });

  test("is fired for certain where something else changes for certain, and says that alone", async () => {
    const follow = follower("a", "/etc/web/page", "/srv/sure");
    const page = file("/etc/web/page", { content: "x" });
    const { plan, results } = await planAndApply([[pack("web"), page, file("/srv/sure"), follow]]);
    expect(plan[3]).toBe("a would_change run");
    expect(results[3]?.caused_by).toEqual(["/srv/sure"]);
  });

  test("is unknown in a module that says the same, with the id of the other module", async () => {
    const conf = file("/etc/web/page", { content: "x" });
    const follow = follower("a", "/etc/web/page");
    const { plan } = await planAndApply([
      [pack("web"), conf],
      [conf, follow],
    ]);
    expect(plan.slice(1)).toEqual([
      "/etc/web/page unknown create until web",
      "/etc/web/page unknown create until m0/web",
      "a unknown none until m0/web",
    ]);
  });

  test("names the script that may run, not what the script waits for", async () => {
    const run = script("build", "touch srv/build", { requires: ["web"] });
    const { plan } = await planAndApply([[pack("web"), run, file("/srv/y", { requires: ["build"] })]]);
    expect(plan.slice(1)).toEqual(["build unknown run until web", "/srv/y unknown create until build"]);
  });
});

test("an apply and a drift check know everything", async () => {
  const state = new StateFixture(wholeMachine());
  const desired = declare([pack("web"), gone("/etc/web/web.conf")]);
  for (const mode of ["check", "apply", "check"] as const) {
    const { results } = await state.run(mode, desired);
    expect(results.filter(({ outcome, until }) => outcome === "unknown" || until !== undefined)).toEqual([]);
  }
});
