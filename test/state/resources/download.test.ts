import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import type { HostCommand } from "../../../lib/host/host.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import type { ResolvedResource } from "../../../lib/state/resource.ts";
import type { AppliedResource } from "../../../lib/state/run/applied-resource.ts";
import { runState } from "../../../lib/state/run/engine.ts";
import { lawFolder, type LawSubject } from "../../../lib/testing/resource-laws.ts";
import { serveFiles } from "../../support/file-server.ts";
import { describeLaws, localHost, text } from "../../support/laws.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const sha256 = createHash("sha256").update("hello").digest("hex");

// The addresses stand in declarations, which are made before any test runs.
const server = await serveFiles();
afterAll(() => server.stop());

function subjects(url: string): Record<string, LawSubject> {
  const download = { type: "download", path: "/work/file", url, sha256, mode: "0640" };
  return {
    "a new download": {
      definition: download,
      breakIt: (host) => host.files.writeFile("/work/file", text("hellO"), {}),
      secret: "hunter2",
    },
    "a download that took the place of another file": {
      definition: download,
      prepare: (host) => host.files.writeFile("/work/file", text("theirs"), { mode: 0o604 }),
      breakIt: (host) => host.files.setAttributes("/work/file", { mode: 0o600 }),
      secret: "hunter2",
    },
    "a file with a source": {
      definition: { type: "file", path: "/work/file", source: url, sha256 },
      prepare: (host) => host.files.writeFile("/work/file", text("theirs"), { mode: 0o604 }),
      breakIt: (host) => host.files.writeFile("/work/file", text("theirs again"), {}),
      secret: "hunter2",
    },
    "a download that is not wanted": {
      definition: { type: "download", path: "/work/file", ensure: "absent" },
      prepare: (host) => host.files.writeFile("/work/file", text("old"), {}),
      breakIt: (host) => host.files.writeFile("/work/file", text("back"), {}),
    },
  };
}

const memoryUrl = "https://user:hunter2@files.example/hello?token=hunter2";

describeLaws(subjects(memoryUrl), {
  "in memory": () => {
    const host = new MemoryHost({ downloads: { [memoryUrl]: Buffer.from("hello") } });
    host.files.makeDirectory(lawFolder, {});
    return host;
  },
});
describeLaws(subjects(`${server.url}/redirect?token=hunter2`), { "on this machine": localHost });

const url = "http://files.example/hello";

/** A machine for which a server has one file, with programs of its own. */
function fixture(
  programs: Record<string, (command: HostCommand) => { exitCode: number }> = {},
): StateFixture {
  return new StateFixture(new MemoryHost({ downloads: { [url]: Buffer.from("hello") }, programs }));
}

const download = (more: object) => declare([{ id: "d", type: "download", path: "/f", url, ...more }]);

test("neither the address nor anything of it is in a change", async () => {
  const { results } = await fixture().run("plan", download({ sha256, owner: "root" }));
  expect(results[0]?.changes).toEqual([
    { property: "ensure", before: "absent", after: "present" },
    { property: "content", before: null, after: `sha256:${sha256}` },
    { property: "owner", before: null, after: "root" },
  ]);
});

test("a check asks no server", async () => {
  const state = fixture();
  state.write("/f", "hello");
  const desired = download({ url: "http://nowhere.example/", sha256 });
  expect((await state.run("check", desired)).results[0]?.outcome).toBe("unchanged");
});

test("another content than the declared one replaces nothing", async () => {
  const state = fixture();
  state.write("/f", "theirs");
  const { results } = await state.run("apply", download({ sha256: sha256.replace("2", "3") }));
  expect(results[0]).toMatchObject({ outcome: "failed", code: "DOWNLOAD_FAILED" });
  expect(results[0]?.message).toContain(`its SHA-256 is ${sha256}, not`);
  expect(state.read("/f")).toBe("theirs");
});

test("a link at the path is neither followed nor replaced", async () => {
  const state = fixture();
  state.write("/target", "theirs");
  state.host.files.makeSymlink("/f", "/target");
  for (const mode of ["plan", "apply"] as const) {
    const { results } = await state.run(mode, download({ sha256 }));
    expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  }
  expect([state.host.files.readLink("/f"), state.read("/target")]).toEqual(["/target", "theirs"]);
});

test.each([
  ["a link that an earlier version made", { type: "symlink", target: "x" }, null],
  ["a folder that an earlier version took away", { type: "directory" }, "directory"],
])("what came in the place of %s goes with the resource, as its plan says", async (_what, more, stood) => {
  const state = fixture();
  const first = { id: "d", path: "/f", ...more };
  if (stood) state.host.files.makeDirectory("/f", { mode: 0o755 });
  await state.run("apply", declare([first]));
  await state.run("apply", declare([{ ...first, ensure: "absent" }]));
  await state.run("apply", download({ sha256 }));
  expect(state.read("/f")).toBe("hello");
  expect(outcomes(await state.run("plan", []))).toEqual(["d would_change"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["d changed"]);
  expect(state.host.files.stat("/f")?.kind ?? null).toBe(stood);
});

test("a content that is too long is refused", async () => {
  const { results } = await fixture().run("apply", download({ sha256, max_size_bytes: 4 }));
  expect(results[0]).toMatchObject({ code: "DOWNLOAD_FAILED" });
});

test.each([
  ["no hash", { type: "download", path: "/f", url }, "sha256"],
  ["no address", { type: "download", path: "/f", sha256 }, "url"],
  ["another protocol", { type: "download", path: "/f", url: "ftp://a.example/x", sha256 }, "url"],
  [
    "a header in two lines",
    { type: "download", path: "/f", url, sha256, headers: { a: "b\r\nc" } },
    "headers",
  ],
  ["a source without a hash", { type: "file", path: "/f", source: url }, "sha256"],
  ["a hash without a source", { type: "file", path: "/f", sha256 }, "sha256"],
  ["two contents", { type: "file", path: "/f", source: url, sha256, content: "" }, "source"],
])("%s is a fault", (_what, definition, at) => {
  const resolution = resolveResource(definition, { module: "m" });
  expect(resolution.ok ? [] : resolution.issues.map(({ path }) => path[0])).toEqual([at]);
});

describe("a source that a program must accept", () => {
  const validate = ["judge", "%"];
  const desired = declare([
    { id: "f", type: "file", path: "/f", source: url, sha256, mode: "0640", validate },
  ]);

  test("is put in its place as it was judged, and no copy is left", async () => {
    const state = fixture({
      judge: ({ argv }) => ({ exitCode: state.read(argv[1] ?? "") === "hello" ? 0 : 1 }),
    });
    expect((await state.run("apply", desired)).status).toBe("succeeded");
    expect([state.host.files.list("/"), state.host.files.stat("/f")?.mode]).toEqual([["f"], 0o640]);
  });

  test("is not where the program refuses", async () => {
    const state = fixture({ judge: () => ({ exitCode: 2 }) });
    state.write("/f", "theirs");
    const { results } = await state.run("apply", desired);
    expect(results[0]).toMatchObject({ code: "COMMAND_FAILED", exit_code: 2 });
    expect([state.host.files.list("/"), state.read("/f")]).toEqual([["f"], "theirs"]);
  });

  test("is not where the program changes the copy", async () => {
    const state = fixture({ judge: ({ argv }) => (state.write(argv[1] ?? "", "changed"), { exitCode: 0 }) });
    state.write("/f", "theirs");
    const { results } = await state.run("apply", desired);
    expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect([state.host.files.list("/"), state.read("/f")]).toEqual([["f"], "theirs"]);
  });
});

test("on a real machine it is applied once, seen by other programs, and taken back", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "file");
  writeFileSync(path, "theirs", { mode: 0o604 });
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  const run = (desired: ResolvedResource[], applied: AppliedResource[]) => {
    const { signal } = new AbortController();
    return runState({ mode: "apply", desired, applied, host, clock: systemClock, signal, timeoutMs: 60_000 });
  };
  const desired = declare([{ type: "download", path, url: `${server.url}/redirect`, sha256, mode: "0640" }]);
  const first = await run(desired, []);
  expect(first.results[0]?.outcome).toBe("changed");
  expect(execFileSync("sha256sum", [path], { encoding: "utf8" }).split(" ")[0]).toBe(sha256);
  const stat = ["-c", "%a %s", path];
  expect(execFileSync("stat", stat, { encoding: "utf8" })).toBe("640 5\n");
  const { mtimeMs } = statSync(path);
  const second = await run(desired, first.applied);
  expect([second.results[0]?.outcome, statSync(path).mtimeMs]).toEqual(["unchanged", mtimeMs]);
  await run([], second.applied);
  expect(execFileSync("stat", stat, { encoding: "utf8" })).toBe("604 6\n");
  expect(execFileSync("cat", [path], { encoding: "utf8" })).toBe("theirs");
  expect(readdirSync(folder).sort()).toEqual(["file", "state"]);
});
