/**
 * Puts every bug of `bugs/` into a copy of the sources, one at a time, and demands that a test fails. That takes minutes:
 * `npm run soak` does it; the usual run only sees to it that the table fits the sources.
 */
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { isSoak } from "../support/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { bugs, type Bug } from "./bugs/index.ts";
import { lostSyncs } from "./bugs/lost-syncs.ts";

const repository = fileURLToPath(new URL("../../", import.meta.url));
const named = bugs.map((bug) => [bug.name, bug] as const);
const syncCall = /\bsync\(\)|\bsyncFolder\(|[fd]syncSync\(|datasync\(\)|O_DSYNC\b|"durable"\)/g;

const read = (file: string): string => readFileSync(join(repository, file), "utf8");
const withBug = (text: string, { from, to = "" }: Bug): string => text.replace(from, () => to);

describe("the table of bugs", () => {
  test.each(named)("fits the sources: %s", (_, bug) => {
    const parts = read(bug.file).split(bug.from);
    expect(parts).toHaveLength(2);
    expect(withBug(read(bug.file), bug)).not.toBe(read(bug.file));
  });

  test("knows every sync of the storage and of the agent", () => {
    // A restore that a loss of power cuts short is begun anew, in an empty folder: its syncs are not in the table.
    const files = readdirSync(join(repository, "lib/storage/file"), { encoding: "utf8", recursive: true })
      .filter((name) => name.endsWith(".ts") && name !== "restore.ts")
      .map((name) => `lib/storage/file/${name}`);
    for (const file of [...files, "lib/agent/durable-file.ts"]) {
      const text = read(file);
      const unknown = [...text.matchAll(syncCall)].filter(
        ({ index }) =>
          !isDeclaration(text, index) &&
          !lostSyncs.some((bug) => bug.file === file && covers(text, bug.from, index)),
      );
      expect(unknown.map(({ index }) => `${file}: ${lineAt(text, index)}`)).toEqual([]);
    }
  });
});

describe.runIf(isSoak)("a test fails when", () => {
  test.each(named)("%s", { timeout: 300_000 }, (_, bug) => {
    const copy = temporaryFolder();
    for (const part of ["lib", "adapters", "test", "package.json", "tsconfig.json", "vitest.config.ts"]) {
      cpSync(join(repository, part), join(copy, part), { recursive: true });
    }
    symlinkSync(join(repository, "node_modules"), join(copy, "node_modules"));
    writeFileSync(join(copy, bug.file), withBug(read(bug.file), bug));
    const vitest = join(repository, "node_modules/vitest/vitest.mjs");
    const env = {
      PATH: process.env["PATH"],
      HOME: copy,
      ...(bug.seeds !== undefined && { FLEETWRIGHT_SEEDS: bug.seeds }),
    };
    const run = spawnSync(process.execPath, [vitest, "run", "--bail", "1", ...bug.tests], {
      cwd: copy,
      env,
      encoding: "utf8",
    });
    rmSync(copy, { recursive: true, force: true });
    const failed = /FAIL.*\n.*Error.*/.exec((run.stdout + run.stderr).replaceAll(/\u001b\[\d*m/g, ""))?.[0];
    console.log(`${bug.name} -> ${failed ?? "nothing failed"}`);
    expect(run.status, run.stdout).not.toBe(0);
    expect(failed, run.stdout + run.stderr).toBeDefined();
  });
});

/** Types, docstrings and the definitions of what the table leaves out. */
function isDeclaration(text: string, index: number): boolean {
  return /^\s*(\*|\/\*\*|\/\/|(async )?(function )?#?(sync|syncFolder)\([^)]*\): |if \(this\.#needsSync\)|const \{ O_)/.test(
    lineAt(text, index),
  );
}

function covers(text: string, from: string, index: number): boolean {
  const start = text.indexOf(from);
  return start <= index && index < start + from.length;
}

function lineAt(text: string, index: number): string {
  return text.slice(text.lastIndexOf("\n", index) + 1, text.indexOf("\n", index));
}
