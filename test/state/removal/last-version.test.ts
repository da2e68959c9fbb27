/** How a thing comes back, as far as that is a matter of the declaration: as its last version says, not as the first did. */
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResourceResult } from "../../../lib/state/result.ts";
import type { AppliedResource } from "../../../lib/state/run/applied-resource.ts";
import { runState } from "../../../lib/state/run/engine.ts";
import type { RunMode } from "../../../lib/state/run/state-run.ts";
import { declare } from "../../support/state-fixture.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A file with a name beside it, and runs of one resource about the file. */
function machine() {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "names"));
  const [path, other] = [join(folder, "names/one"), join(folder, "names/other")];
  writeFileSync(path, old);
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  let applied: AppliedResource[] = [];
  const run = async (mode: RunMode, ...definitions: JsonObject[]): Promise<ResourceResult | undefined> => {
    const { signal } = new AbortController();
    const desired = declare(definitions.map((each) => ({ ...each, id: "r", path })));
    const options = { mode, desired, applied, host, clock: systemClock, signal, timeoutMs: 60_000 };
    const result = await runState(options);
    applied = JSON.parse(JSON.stringify(result.applied)) as AppliedResource[];
    return result.results[0];
  };
  return { path, other, run };
}

const old = "k old\n# BEGIN block\nold\n# END block\n";

const types: [string, JsonObject, JsonObject][] = [
  ["file", { type: "file", content: "ours\n" }, { type: "file", content: "other\n" }],
  ["line", { type: "line", line: "k ours", match: "k *" }, { type: "line", line: "k other", match: "k *" }],
  ["block", { type: "block", content: "ours\n" }, { type: "block", content: "other\n" }],
];
const keep = { hard_links: "keep" };

describe.each(types)("a %s", (_type, definition, later) => {
  test("whose last version keeps the other names comes back under all of them", async () => {
    const { path, other, run } = machine();
    await run("apply", definition);
    linkSync(path, other);
    await run("apply", { ...definition, ...keep });
    expect((await run("apply"))?.outcome).toBe("changed");
    expect([readFileSync(other, "utf8"), statSync(path).ino]).toEqual([old, statSync(other).ino]);
  });

  test.each<[string, JsonObject[]]>([
    ["from the first version on", []],
    ["since a later one", [definition]],
  ])("that was written for all names %s leaves none of them behind", async (_, first) => {
    const { path, other, run } = machine();
    for (const version of first) await run("apply", version);
    linkSync(path, other);
    await run("apply", { ...(first.length > 0 ? later : definition), ...keep });
    const written = readFileSync(other, "utf8");
    expect(written).not.toBe(old);
    const third = first.length > 0 ? definition : later;
    for (const mode of ["plan", "apply"] as const)
      expect(await run(mode, third)).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(readFileSync(path, "utf8")).toBe(written);
    expect((await run("apply"))?.outcome).toBe("changed");
    expect([readFileSync(path, "utf8"), readFileSync(other, "utf8")]).toEqual([old, old]);
  });

  test("that says no more of the other names, and nothing else, still comes back under all of them", async () => {
    const { path, other, run } = machine();
    linkSync(path, other);
    await run("apply", { ...definition, ...keep });
    expect((await run("apply", definition))?.outcome).toBe("unchanged");
    await run("apply");
    expect([readFileSync(path, "utf8"), readFileSync(other, "utf8")]).toEqual([old, old]);
  });

  test("whose other names are gone by then is written under its own", async () => {
    const { path, other, run } = machine();
    linkSync(path, other);
    await run("apply", { ...definition, ...keep });
    rmSync(other);
    expect((await run("apply", later))?.outcome).toBe("changed");
    await run("apply");
    expect(readFileSync(path, "utf8")).toBe(old);
  });
});
