/**
 * A path that becomes another kind of thing with a later version: a file that is taken away and then a folder, a folder and then a
 * clone. What the last version put there was taken for somebody else's, and the removal failed for ever or left it.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { AppliedResource } from "../../../lib/state/run/applied-resource.ts";
import { runState, type StateRunResult } from "../../../lib/state/run/engine.ts";
import { git } from "../../support/git-clone.ts";
import { treeSnapshot } from "../../support/machine/tree-snapshot.ts";
import { declare, outcomes } from "../../support/state-fixture.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const standing: Readonly<Record<string, (path: string) => void>> = {
  nothing: () => undefined,
  "a file": (path) => {
    writeFileSync(path, "theirs\n");
    chmodSync(path, 0o640);
  },
  "a link": (path) => symlinkSync("elsewhere", path),
  "a folder": (path) => {
    mkdirSync(path);
    chmodSync(path, 0o711);
  },
};

/** Versions that have the path gone, whatever stood there, and others. */
const isFolder = (what: string): boolean => what === "a folder" || what === "nothing";
const firsts: Readonly<Record<string, { takes: (what: string) => boolean; first: JsonObject }>> = {
  file: { takes: (what) => what !== "a folder", first: { type: "file", force: true } },
  symlink: { takes: (what) => what !== "a folder", first: { type: "symlink", target: "x", force: true } },
  directory: { takes: isFolder, first: { type: "directory" } },
};

function scene() {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "at"));
  git(folder, "init", "--quiet", "origin");
  writeFileSync(join(folder, "origin/a"), "a");
  git(join(folder, "origin"), "add", ".");
  git(join(folder, "origin"), "commit", "--quiet", "-m", "one");
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  let applied: AppliedResource[] = [];
  const path = join(folder, "at/thing");
  const run = async (mode: "plan" | "apply", definition: JsonObject | null): Promise<StateRunResult> => {
    const desired = definition ? declare([{ id: "r", path, ...definition }]) : [];
    const { signal } = new AbortController();
    const result = await runState({
      mode,
      desired,
      applied,
      host,
      clock: systemClock,
      signal,
      timeoutMs: 60_000,
    });
    applied = JSON.parse(JSON.stringify(result.applied)) as AppliedResource[];
    return result;
  };
  return { path, run, folder, look: () => treeSnapshot(join(folder, "at")), applied: () => applied };
}

const rows = Object.keys(standing).flatMap((what) =>
  Object.entries(firsts)
    .filter(([, { takes }]) => takes(what))
    .flatMap(([first]) =>
      ["file", "symlink", "directory", "git"]
        .filter((last) => last !== first)
        .map((last) => [what, first, last]),
    ),
) as [string, string, string][];

test.each(rows)("%s comes back where a %s made room for a %s", async (what, first, last) => {
  const { path, run, folder, look, applied } = scene();
  standing[what]!(path);
  const before = look();
  const { first: definition } = firsts[first]!;
  await run("apply", definition);
  expect(outcomes(await run("apply", { ...definition, ensure: "absent" }))).toEqual(["r changed"]);
  const lasts: Readonly<Record<string, JsonObject>> = {
    file: { type: "file", content: "ours" },
    symlink: { type: "symlink", target: "y" },
    directory: { type: "directory", mode: "0700" },
    git: { type: "git", repository: join(folder, "origin") },
  };
  expect(outcomes(await run("apply", lasts[last]!))).toEqual(["r changed"]);
  expect(outcomes(await run("apply", lasts[last]!))).toEqual(["r unchanged"]);
  expect(outcomes(await run("plan", null))).toEqual(["r would_change"]);
  expect(outcomes(await run("apply", null))).toEqual(["r changed"]);
  expect(look()).toEqual(before);
  expect(applied()).toEqual([]);
});

test.each([
  ["nothing", "changed"],
  ["a folder", "changed"],
])("%s comes back where a folder became a clone in its place", async (what, outcome) => {
  const { path, run, folder, look, applied } = scene();
  standing[what]!(path);
  const before = look();
  await run("apply", { type: "directory", mode: "0755" });
  await run("apply", { type: "git", repository: join(folder, "origin") });
  expect(outcomes(await run("apply", null))).toEqual([`r ${outcome}`]);
  expect(look()).toEqual(before);
  expect(applied()).toEqual([]);
});

test("what somebody put into a folder that took the place of a file is left, and the removal fails", async () => {
  const { path, run } = scene();
  standing["a file"]!(path);
  await run("apply", { type: "file", ensure: "absent" });
  await run("apply", { type: "directory" });
  writeFileSync(join(path, "theirs"), "x");
  const { results } = await run("apply", null);
  expect(results[0]).toMatchObject({
    outcome: "failed",
    action: "remove",
    message: `${path} is a folder, which is left alone.`,
  });
});

test.each(["archive", "git"])("an empty folder comes back that an absent %s took along", async (type) => {
  for (const isFirst of [true, false]) {
    const { path, run, folder, look, applied } = scene();
    standing["a folder"]!(path);
    const before = look();
    if (!isFirst) {
      execFileSync("tar", ["-C", join(folder, "origin"), "-cf", join(folder, "a.tar"), "a"]);
      const source = {
        archive: { source: join(folder, "a.tar") },
        git: { repository: join(folder, "origin") },
      };
      await run("apply", { type, ...source[type as "archive" | "git"] });
    }
    const absent = { type, ensure: "absent" };
    expect(outcomes(await run("apply", absent))).toEqual(["r changed"]);
    expect(outcomes(await run("apply", absent))).toEqual(["r unchanged"]);
    expect(outcomes(await run("plan", null))).toEqual(["r would_change"]);
    expect(outcomes(await run("apply", null))).toEqual(["r changed"]);
    expect([look(), applied()]).toEqual([before, []]);
  }
});

test("an absent archive leaves in peace where somebody took away what its folder stood in", async () => {
  const { path, run, applied } = scene();
  standing["a folder"]!(path);
  expect(outcomes(await run("apply", { type: "archive", ensure: "absent" }))).toEqual(["r changed"]);
  rmSync(dirname(path), { recursive: true });
  expect(outcomes(await run("plan", null))).toEqual(["r unchanged"]);
  expect(outcomes(await run("apply", null))).toEqual(["r unchanged"]);
  expect([applied(), existsSync(dirname(path))]).toEqual([[], false]);
});
