/** A plan tells of a disk that is read-only what an apply would meet there, unless something before it may change that. */
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import { runState, type StateRunResult } from "../../lib/state/run/engine.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { mountSmallDisk, reasonNotToMount } from "../support/mounts.ts";
import { declare } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const reason = reasonNotToMount();
if (reason !== null) console.info(`The tests of a read-only disk are skipped: ${reason}`);

let disk: string;
let stateFolder: string;

function run(mode: RunMode, definitions: JsonObject[]): Promise<StateRunResult> {
  return runState({
    mode,
    desired: declare(definitions),
    applied: [],
    host: new LocalHost({ stateFolder }),
    clock: systemClock,
    signal: new AbortController().signal,
    timeoutMs: 60_000,
  });
}

describe.runIf(reason === null)("on a read-only disk", () => {
  beforeEach(() => {
    disk = mountSmallDisk("1m");
    stateFolder = temporaryFolder();
    mkdirSync(join(disk, "folder"));
    writeFileSync(join(disk, "file"), "x\n", { mode: 0o644 });
    symlinkSync("x", join(disk, "link"));
    execFileSync("mount", ["-o", "remount,ro", disk]);
  });

  test.each<[string, JsonObject]>([
    ["another content", { type: "file", path: "file", content: "y" }],
    ["a new file", { type: "file", path: "new", content: "y" }],
    ["another mode", { type: "file", path: "file", mode: "0600" }],
    ["no file", { type: "file", path: "file", ensure: "absent" }],
    ["a line", { type: "line", path: "file", line: "y" }],
    ["a new folder", { type: "directory", path: "new" }],
    ["another mode of a folder", { type: "directory", path: "folder", mode: "0700" }],
    ["no folder", { type: "directory", path: "folder", ensure: "absent" }],
    ["another link", { type: "symlink", path: "link", target: "y" }],
    ["no link", { type: "symlink", path: "link", ensure: "absent" }],
  ])("%s fails in the plan in the words of the apply", async (_what, definition) => {
    const path = join(disk, String(definition["path"]));
    const desired = [{ ...definition, id: "r", path }];
    const [plan] = (await run("plan", desired)).results;
    expect(plan).toMatchObject({ outcome: "failed", message: `read-only file system: ${path}` });
    const [applied] = (await run("apply", desired)).results;
    expect(applied).toMatchObject({ outcome: "failed", message: plan?.message });
  });

  test("what comes after a mount or a script that may make it writable is not known yet", async () => {
    const file = { id: "f", type: "file", path: join(disk, "file"), content: "y" };
    const script = {
      id: "s",
      type: "script",
      run: ["mount", "-o", "remount,rw", disk],
      creates: join(disk, "file2"),
    };
    const { results } = await run("plan", [script, file]);
    expect(results[1]).toMatchObject({ outcome: "unknown", until: "s" });
  });
});
