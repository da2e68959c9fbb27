/** What programs make has the modes that were declared or that are usual, whatever mask the agent was started with. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import { runState, type StateRunResult } from "../../lib/state/run/engine.ts";
import { hasPrograms } from "../support/programs.ts";
import { declare } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const before = process.umask();
afterEach(() => void process.umask(before));

const masks = [0o000, 0o022, 0o077, 0o777];

function apply(folder: string, desired: JsonObject[]): Promise<StateRunResult> {
  return runState({
    mode: "apply",
    desired: declare(desired),
    applied: [],
    host: new LocalHost({ stateFolder: join(folder, "state") }),
    clock: systemClock,
    signal: new AbortController().signal,
    timeoutMs: 60_000,
  });
}

/** Modes by the names of what was made. */
function modes(folder: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.map((name) => [name, (statSync(join(folder, name)).mode & 0o7777).toString(8)]),
  );
}

describe.each(masks)("an agent with the mask %o", (mask) => {
  test("starts programs with 022, and goes on with its own", async () => {
    const host = new LocalHost({ stateFolder: join(temporaryFolder(), "state") });
    process.umask(mask);
    const { stdout } = await host.run({ argv: ["sh", "-c", "umask"] }, new AbortController().signal);
    expect([stdout.trim(), process.umask()]).toEqual(["0022", mask]);
  });

  test("gives a script the mask that it asks for", async () => {
    const folder = temporaryFolder();
    process.umask(mask);
    const made = (name: string, more: JsonObject): JsonObject => ({
      id: name,
      type: "script",
      run: `touch ${name}; mkdir ${name}.d`,
      creates: join(folder, name),
      cwd: folder,
      ...more,
    });
    const { status } = await apply(folder, [made("usual", {}), made("own", { umask: "0027" })]);
    expect([status, modes(folder, ["usual", "usual.d", "own", "own.d"])]).toEqual([
      "succeeded",
      { usual: "644", "usual.d": "755", own: "640", "own.d": "750" },
    ]);
  });

  test.runIf(hasPrograms("modes of archives", "tar", "unzip", "zip"))(
    "extracts with the modes of the archive",
    async () => {
      const folder = temporaryFolder();
      const packed = {
        run: 0o755,
        shared: 0o664,
        secret: 0o600,
        "set-id": 0o4711,
        "sub/closed": 0o400,
        sub: 0o770,
      };
      mkdirSync(join(folder, "packed/sub"), { recursive: true });
      for (const [name, mode] of Object.entries(packed)) {
        if (name !== "sub") writeFileSync(join(folder, "packed", name), name);
        chmodSync(join(folder, "packed", name), mode);
      }
      const names = Object.keys(packed).filter((name) => name !== "sub");
      execFileSync("tar", ["-cf", "a.tar", "-C", "packed", "."], { cwd: folder });
      execFileSync("tar", ["-cf", "files.tar", "-C", "packed", ...names], { cwd: folder });
      execFileSync("zip", ["-qr", "../a.zip", "."], { cwd: join(folder, "packed") });
      process.umask(mask);
      for (const [name, sub] of [
        ["a.tar", "770"],
        // Of a folder that it does not name, an archive says nothing.
        ["files.tar", "755"],
        ["a.zip", "770"],
      ] as const) {
        const out = join(folder, `${name}.out`);
        const { results } = await apply(folder, [
          { id: "a", type: "archive", path: out, source: join(folder, name) },
        ]);
        expect(results).toMatchObject([{ outcome: "changed" }]);
        const expected = {
          run: "755",
          shared: "664",
          secret: "600",
          "set-id": "711",
          "sub/closed": "400",
          sub,
        };
        expect([name, modes(out, Object.keys(packed))]).toEqual([name, expected]);
        expect(modes(folder, [`${name}.out`])).toEqual({ [`${name}.out`]: "755" });
      }
    },
  );

  test.runIf(hasPrograms("modes of clones", "git"))("clones with the usual modes", async () => {
    const folder = temporaryFolder();
    const repository = join(folder, "repository");
    mkdirSync(join(repository, "sub"), { recursive: true });
    writeFileSync(join(repository, "sub/text"), "x");
    writeFileSync(join(repository, "tool"), "x", { mode: 0o755 });
    const git = (...args: string[]): unknown =>
      execFileSync("git", ["-C", repository, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
    git("init", "--quiet");
    git("add", ".");
    git("commit", "--quiet", "-m", "one");
    process.umask(mask);
    const path = join(folder, "clone");
    const { results } = await apply(folder, [{ id: "g", type: "git", path, repository }]);
    expect(results).toMatchObject([{ outcome: "changed" }]);
    expect(modes(path, ["", "sub", "sub/text", "tool", ".git"])).toEqual({
      "": "755",
      sub: "755",
      "sub/text": "644",
      tool: "755",
      ".git": "755",
    });
  });
});
