/** What other resources have in a clone is theirs: while the clone is kept as it is to be, and when it goes. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { AppliedResource } from "../../../lib/state/run/applied-resource.ts";
import { runState, type StateRunResult } from "../../../lib/state/run/engine.ts";
import type { RunMode } from "../../../lib/state/run/state-run.ts";
import { git } from "../../support/git-clone.ts";
import { repositoryUrl, wholeMachine } from "../../support/machine/whole-machine.ts";
import { hasPrograms } from "../../support/programs.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const clone = (more: JsonObject = {}): ReturnType<typeof declare> =>
  declare([{ id: "g", type: "git", path: "/srv/site", repository: repositoryUrl, ...more }], "a");
const inIt = (definition: JsonObject): ReturnType<typeof declare> =>
  declare([{ id: "x", ...definition }], "b");

/** What another module has in the clone, and where. */
const things: [string, JsonObject, string][] = [
  ["file", { type: "file", path: "/srv/site/.env", content: "K=1" }, "/srv/site/.env"],
  ["changed page", { type: "line", path: "/srv/site/page", line: "mine" }, "/srv/site/page"],
  ["folder", { type: "directory", path: "/srv/site/var/log", parents: true }, "/srv/site/var/log"],
  ["link", { type: "symlink", path: "/srv/site/now", target: "page" }, "/srv/site/now"],
];

describe.each(things)("a %s of another module in a clone", (_name, definition, path) => {
  test.each([true, false])("stays when the clone goes (force %s)", async (force) => {
    const state = new StateFixture(wholeMachine());
    await state.run("apply", clone({ force }), { scope: ["a"] });
    await state.run("apply", inIt(definition), { scope: ["b"] });
    expect(outcomes(await state.run("plan", [], { scope: ["a"] }))).toEqual(["g would_change"]);
    expect(outcomes(await state.run("apply", [], { scope: ["a"] }))).toEqual(["g changed"]);
    expect(outcomes(await state.run("plan", inIt(definition), { scope: ["b"] }))).toEqual(["x unchanged"]);
    const [top = ""] = path.slice("/srv/site/".length).split("/");
    expect(state.host.files.list("/srv/site")).toEqual([top]);
  });

  test("is no change of somebody's that force overwrites", async () => {
    const state = new StateFixture(wholeMachine());
    const both = [...clone({ force: true }), ...inIt(definition)];
    await state.run("apply", both);
    expect(outcomes(await state.run("plan", both))).toEqual(["g unchanged", "x unchanged"]);
    state.write("/srv/site/page", "of somebody\n");
    const { results } = await state.run("apply", both);
    const isTheirs = path === "/srv/site/page";
    expect(results[0]?.outcome).toBe(isTheirs ? "unchanged" : "changed");
    expect(outcomes(await state.run("plan", both))).toEqual(["g unchanged", "x unchanged"]);
  });
});

test("a clone stays where another module has something in its .git", async () => {
  const state = new StateFixture(wholeMachine());
  await state.run("apply", clone({ force: true }), { scope: ["a"] });
  const hook = inIt({ type: "file", path: "/srv/site/.git/hook", content: "" });
  await state.run("apply", hook, { scope: ["b"] });
  for (const mode of ["plan", "apply"] as const)
    expect((await state.run(mode, [], { scope: ["a"] })).results[0]).toMatchObject({
      outcome: "failed",
      message: "/srv/site holds something in its .git that another resource declares.",
    });
  expect(state.host.files.list("/srv/site")).toContain("page");
});

const here = hasPrograms("clones on this machine", "git", "rm");

test.skipIf(!here)("git itself leaves what another module has in a clone, ignored or not", async () => {
  const top = temporaryFolder();
  const [repository, site] = [join(top, "repo"), join(top, "site")];
  mkdirSync(repository);
  git(repository, "init", "-q");
  writeFileSync(join(repository, ".gitignore"), ".env\n");
  writeFileSync(join(repository, "page"), "one\n");
  git(repository, "add", ".");
  git(repository, "commit", "-qm", "one");
  const host = new LocalHost({ stateFolder: join(top, "state") });
  let applied: AppliedResource[] = [];
  const run = async (
    mode: RunMode,
    desired: ReturnType<typeof declare>,
    scope: string,
  ): Promise<StateRunResult> => {
    const { signal } = new AbortController();
    const options = { host, clock: systemClock, signal, timeoutMs: 60_000, scope: [scope] };
    const result = await runState({ mode, desired, applied, ...options });
    ({ applied } = result);
    return result;
  };
  const its = declare([{ id: "g", type: "git", path: site, repository, force: true }], "a");
  const theirs = declare(
    [".env", "page", "uploads [1]"].map((name) => ({
      id: name,
      type: "file",
      path: join(site, name),
      content: "theirs",
    })),
    "b",
  );
  await run("apply", its, "a");
  await run("apply", theirs, "b");
  expect(outcomes(await run("apply", its, "a"))).toEqual(["g unchanged"]);
  expect(outcomes(await run("apply", [], "a"))).toEqual(["g changed"]);
  expect(readdirSync(site).sort()).toEqual([".env", "page", "uploads [1]"]);
  expect(readFileSync(join(site, "page"), "utf8")).toBe("theirs");
  expect(existsSync(join(site, ".git"))).toBe(false);
});
