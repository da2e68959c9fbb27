/** Programs that judge a foreseen content on a real machine: they get a copy, and leave nothing. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { LocalHost } from "../../../lib/host/local-host.ts";
import { runState, type StateRunResult } from "../../../lib/state/run/engine.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { declare } from "../../support/state-fixture.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: copies in folders that others can change: only root can give one away.");

interface Scene {
  conf: string;
  clock: FakeClock;
  /** Plans the file, judged by a script; `content` is what it is to be. */
  plan(judge: string, options?: { content?: string; signal?: AbortSignal }): Promise<StateRunResult>;
  /** Everything that stands there, with content. */
  snapshot(): Record<string, string>;
}

function scene(): Scene {
  const folder = temporaryFolder();
  const [etc, conf, judgePath] = [join(folder, "etc"), join(folder, "etc/conf"), join(folder, "judge")];
  mkdirSync(etc);
  writeFileSync(conf, "old\n");
  writeFileSync(join(etc, "more"), "more\n");
  const clock = new FakeClock();
  const host = new LocalHost({ stateFolder: join(folder, "state"), clock });
  return {
    conf,
    clock,
    plan(judge, { content = "new\n", signal = new AbortController().signal } = {}) {
      writeFileSync(judgePath, `#!/bin/sh\n${judge}\n`);
      chmodSync(judgePath, 0o755);
      const validate = [judgePath, "%"];
      const desired = declare([
        { id: "f", type: "file", path: conf, content, validate, timeout_seconds: 60 },
      ]);
      return runState({ mode: "plan", desired, applied: [], host, clock, signal, timeoutMs: 600_000 });
    },
    snapshot: () => snapshotOf(folder),
  };
}

function snapshotOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    names.map((each) => {
      const path = join(each.parentPath, each.name);
      return [path, each.isFile() ? readFileSync(path, "utf8") : each.isSymbolicLink() ? "link" : "folder"];
    }),
  );
}

/** The same but for folders of the agent itself, which may have been made. */
function machineOf(found: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(found).filter(([path]) => !/\/(?:state|state\/running|judge)$/.test(path)),
  );
}

describe("a program that judges what a plan would write", () => {
  test("sees the content that would be, and what stands beside it", async () => {
    const each = scene();
    const before = machineOf(each.snapshot());
    const judge =
      'grep -q new "$1" && grep -q more "$(dirname "$1")/more" && test "$(stat -c %a "$1")" = 600';
    expect((await each.plan(judge)).results).toMatchObject([{ outcome: "would_change", action: "update" }]);
    expect(machineOf(each.snapshot())).toEqual(before);
  });

  test("fails the plan where it does not accept it", async () => {
    const each = scene();
    const before = machineOf(each.snapshot());
    const { status, results } = await each.plan('grep -q good "$1"');
    expect(status).toBe("failed");
    expect(results).toMatchObject([
      { outcome: "failed", code: "COMMAND_FAILED", exit_code: 1, action: "update" },
    ]);
    expect(machineOf(each.snapshot())).toEqual(before);
  });

  test("may spoil its copy and litter beside it: the file stays, and nothing is left", async () => {
    const each = scene();
    const before = machineOf(each.snapshot());
    const judge =
      'echo spoiled > "$1"; mkdir -p "$(dirname "$1")/a/b"; touch "$(dirname "$1")/a/b/c"; rm -f "$(dirname "$1")/more"';
    expect((await each.plan(judge)).results).toMatchObject([{ outcome: "would_change" }]);
    expect(machineOf(each.snapshot())).toEqual(before);
    expect(readFileSync(each.conf, "utf8")).toBe("old\n");
  });

  test("may take its folder away", async () => {
    const each = scene();
    const before = machineOf(each.snapshot());
    const { results } = await each.plan('cd /; rm -rf "$(dirname "$1")"');
    expect(results).toMatchObject([{ outcome: "would_change" }]);
    expect(machineOf(each.snapshot())).toEqual(before);
  });

  test.each([
    [1_000, "as many neighbours as are shown", "0"],
    [1_001, "of more than these none", "1"],
  ])("sees, where a folder holds %i names, %s", async (count, _, status) => {
    const each = scene();
    for (let n = readdirSync(dirname(each.conf)).length; n < count; n += 1)
      writeFileSync(join(dirname(each.conf), `n${n}`), "");
    expect(readdirSync(dirname(each.conf))).toHaveLength(count);
    const { results } = await each.plan('test -e "$(dirname "$1")/more"; test $? = ' + status);
    expect(results).toMatchObject([{ outcome: "would_change" }]);
  });

  test.skipIf(!isRoot).each([
    [0o755, "nobody else", "0"],
    [0o775, "a group", "1"],
    [0o777, "anybody", "1"],
    [0o1777, "nobody but by adding to it", "0"],
  ])(
    "sees, in a folder of mode %o that %s can change, its neighbours or not: %s",
    async (mode, _, status) => {
      const each = scene();
      chmodSync(dirname(each.conf), mode);
      chownSync(dirname(each.conf), process.getuid!(), 54_321);
      const { results } = await each.plan('test -e "$(dirname "$1")/more"; test $? = ' + status);
      expect(results).toMatchObject([{ outcome: "would_change" }]);
    },
  );

  test.each(["its time", "a cancel"])("is ended by %s, with what it started", async (by) => {
    const each = scene();
    const before = machineOf(each.snapshot());
    const stop = new AbortController();
    const begun = join(temporaryFolder(), "begun");
    const planning = each.plan(`sleep 1000 & touch ${begun}; exec sleep 1000`, { signal: stop.signal });
    await expect.poll(() => existsSync(begun), { timeout: 30_000 }).toBe(true);
    if (by === "a cancel") stop.abort();
    else await each.clock.advance(60_000);
    const { results } = await planning;
    const ended =
      by === "a cancel"
        ? { outcome: "skipped", skipped_because: "cancelled" }
        : { outcome: "failed", code: "RESOURCE_TIMEOUT" };
    expect(results).toMatchObject([ended]);
    expect(machineOf(each.snapshot())).toEqual(before);
  });

  test("is not there: the plan fails as the apply does", async () => {
    const each = scene();
    const host = new LocalHost({ stateFolder: join(temporaryFolder(), "state") });
    const validate = ["/no/such/judge", "%"];
    const desired = declare([{ id: "f", type: "file", path: each.conf, content: "new\n", validate }]);
    for (const mode of ["plan", "apply"] as const) {
      const run = { mode, desired, applied: [], host, clock: each.clock, timeoutMs: 60_000 };
      const { results } = await runState({ ...run, signal: new AbortController().signal });
      expect(results).toMatchObject([{ outcome: "failed", code: "HOST_ERROR" }]);
    }
    expect(readFileSync(each.conf, "utf8")).toBe("old\n");
  });
});
