/** Files in a folder of somebody else, whose names and access lists he gives out: what a plan says, an apply does. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, linkSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResourceResult } from "../../../lib/state/result.ts";
import { runState } from "../../../lib/state/run/engine.ts";
import type { RunMode } from "../../../lib/state/run/state-run.ts";
import { declare } from "../../support/state-fixture.ts";
import { temporaryFolderOnDisk } from "../../support/temporary-folder.ts";

const stranger = 65_534;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: files in a folder of somebody else: only root can give one away.");

function prepare(): { base: string; home: string; path: string; run: Run } {
  const base = temporaryFolderOnDisk();
  chmodSync(base, 0o755);
  const home = join(base, "home");
  mkdirSync(home, { mode: 0o755 });
  chownSync(home, stranger, stranger);
  const host = new LocalHost({ stateFolder: join(base, "state") });
  const run: Run = async (mode, definition) => {
    const { results, applied } = await runState({
      mode,
      desired: declare([definition]),
      applied: [],
      host,
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 60_000,
    });
    return { result: results[0]!, isOurs: applied.some(({ prior }) => prior !== null) };
  };
  return { base, home, path: join(home, "file"), run };
}

type Run = (mode: RunMode, definition: JsonObject) => Promise<{ result: ResourceResult; isOurs: boolean }>;

/** What may be declared of a file that is root's under another name, and whether a name alone is enough for it. */
const ofForeign: Record<string, (path: string, home: string) => JsonObject> = {
  owner: (path) => ({ type: "file", path, owner: String(stranger) }),
  mode: (path) => ({ type: "file", path, mode: "0666" }),
  content: (path) => ({ type: "file", path, content: "new\n" }),
  "content, mode and owner": (path) => ({
    type: "file",
    path,
    content: "new\n",
    mode: "0600",
    owner: String(stranger),
    group: String(stranger),
  }),
  "ensure: absent": (path) => ({ type: "file", path, ensure: "absent" }),
  "a link in its place": (path) => ({ type: "symlink", path, target: "x", force: true }),
  line: (path) => ({ type: "line", path, line: "x" }),
  block: (path) => ({ type: "block", path, content: "x\n" }),
  recurse: (_path, home) => ({ type: "directory", path: home, recurse: true, owner: String(stranger) }),
  purge: (_path, home) => ({ type: "directory", path: home, purge: true }),
};

describe.runIf(isRoot)("a plan refuses what an apply refuses", () => {
  test.each(Object.entries(ofForeign))("of a file that is root's by another name: %s", async (_what, of) => {
    const { base, home, path, run } = prepare();
    const secret = join(base, "secret");
    writeFileSync(secret, "root's\n", { mode: 0o600 });
    linkSync(secret, path);
    for (const mode of ["plan", "apply"] as const) {
      const { result, isOurs } = await run(mode, of(path, home));
      expect([mode, result.outcome, result.message]).toEqual([
        mode,
        "failed",
        expect.stringContaining("has another name"),
      ]);
      expect(isOurs).toBe(false);
    }
    expect(lstatSync(secret)).toMatchObject({ uid: 0, mode: 0o100600, nlink: 2 });
    expect(readFileSync(secret, "utf8")).toBe("root's\n");
  });

  test("and takes a name away that nothing is kept of", async () => {
    const { base, path, run } = prepare();
    writeFileSync(join(base, "secret"), "root's\n", { mode: 0o600 });
    linkSync(join(base, "secret"), path);
    const definition = { type: "file", path, ensure: "absent", backup: false };
    expect((await run("plan", definition)).result.outcome).toBe("would_change");
    expect((await run("apply", definition)).result.outcome).toBe("changed");
    expect(lstatSync(join(base, "secret"))).toMatchObject({ nlink: 1 });
  });

  test.each([
    ["another owner", { owner: "0" }],
    ["another owner and content", { owner: "2", content: "new\n" }],
    ["a set-user-id bit and content", { mode: "4755", content: "new\n" }],
  ])("of his own file that keeps its other names: %s", async (_what, spec) => {
    const { home, path, run } = prepare();
    writeFileSync(path, "his\n");
    chownSync(path, stranger, stranger);
    linkSync(path, join(home, "other"));
    for (const mode of ["plan", "apply"] as const) {
      const { result, isOurs } = await run(mode, { type: "file", path, hard_links: "keep", ...spec });
      expect([mode, result.outcome, result.message]).toEqual([
        mode,
        "failed",
        expect.stringContaining("it can't be given to another owner"),
      ]);
      expect(isOurs).toBe(false);
    }
    expect([lstatSync(path).uid, readFileSync(path, "utf8")]).toEqual([stranger, "his\n"]);
  });

  test("and a copy that is judged has no access list of his", async ({ skip }) => {
    const { base, home, path, run } = prepare();
    try {
      execFileSync("setfacl", ["-dm", `u:${stranger}:rw`, home], { stdio: "pipe" });
    } catch (error) {
      console.warn(`Skipped: an access list can't be set here (${String(error).slice(0, 200)}).`);
      skip("no access lists");
    }
    const told = join(base, "told");
    const validate = ["/bin/sh", "-c", `getfacl -cn "$1" > ${told}`, "sh", "%"];
    const { result } = await run("apply", { type: "file", path, content: "x\n", validate });
    expect(result.outcome).toBe("changed");
    expect(readFileSync(told, "utf8").trim()).toBe("user::rw-\ngroup::---\nother::---");
  });
});
