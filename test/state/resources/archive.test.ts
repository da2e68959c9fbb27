import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import type { Host } from "../../../lib/host/host.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import type { AppliedResource } from "../../../lib/state/run/applied-resource.ts";
import { runState } from "../../../lib/state/run/engine.ts";
import { lawFolder, type LawSubject } from "../../../lib/testing/resource-laws.ts";
import { serveFiles } from "../../support/file-server.ts";
import { describeLaws, localHost, text } from "../../support/laws.ts";
import { modelArchive, modelTar } from "../../support/machine/tar.ts";
import { hasPrograms } from "../../support/programs.ts";
import { declare } from "../../support/state-fixture.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const sha256 = (content: Uint8Array): string => createHash("sha256").update(content).digest("hex");
const server = await serveFiles();
afterAll(() => server.stop());

/** The laws for an archive with t-1/bin/tool and a link to it, from a path and from an address. */
function subjects(archive: Buffer, url: string): Record<string, LawSubject> {
  const definition = { type: "archive", path: "/work/tool", strip_components: 1 };
  return {
    "an archive of the machine": {
      definition: { ...definition, source: "/work/t.tar" },
      prepare: (host) => host.files.writeFile("/work/t.tar", archive, {}),
      breakIt: (host) => host.files.writeFile("/work/tool/bin/tool", text("TOOL"), {}),
    },
    "an archive from a server, in a folder with something in it": {
      definition: { ...definition, source: url, sha256: sha256(archive), format: "tar" },
      prepare(host) {
        host.files.makeDirectory("/work/tool", { mode: 0o700 });
        host.files.makeDirectory("/work/tool/bin", { mode: 0o750 });
        host.files.writeFile("/work/tool/bin/theirs", text("theirs"), {});
      },
      breakIt: (host) => host.files.removeFile("/work/tool/bin/tool"),
      secret: "hunter2",
    },
  };
}

const model = modelArchive([
  { name: "t-1/" },
  { name: "t-1/bin/" },
  { name: "t-1/bin/tool", content: "tool" },
  { name: "t-1/link", target: "bin/tool" },
]);
const modelUrl = "https://user:hunter2@files.example/t.tar?hunter2";

describeLaws(subjects(model, modelUrl), {
  "in memory": () => {
    const host: MemoryHost = new MemoryHost({
      programs: { tar: (command) => modelTar(command, host.files), sync: () => ({}) },
      downloads: { [modelUrl]: model },
    });
    host.files.makeDirectory(lawFolder, {});
    return host;
  },
});

test.each([
  ["an address without a hash", { source: "http://a.example/x.tar" }, "sha256"],
  ["a name that tells no format", { source: "/x" }, "format"],
  ["stripping a zip", { source: "/x.zip", strip_components: 1 }, "strip_components"],
  ["no source", {}, "source"],
])("%s is a fault", (_what, more, at) => {
  const resolution = resolveResource({ type: "archive", path: "/a", ...more }, { module: "m" });
  expect(resolution.ok ? [] : resolution.issues.map(({ path }) => path[0])).toEqual([at]);
});

/** A folder with something to pack, and runs that follow each other. */
function machine() {
  const folder = temporaryFolder();
  const host: Host = new LocalHost({ stateFolder: join(folder, "state") });
  const [path, tree] = [join(folder, "out"), join(folder, "tree")];
  mkdirSync(join(tree, "t-1/bin"), { recursive: true });
  writeFileSync(join(tree, "t-1/bin/tool"), "tool", { mode: 0o755 });
  writeFileSync(join(tree, "t-1/naïve file"), "x");
  let applied: AppliedResource[] = [];
  const run = async (more: JsonObject | null) => {
    const desired = more === null ? [] : declare([{ type: "archive", path, ...more }]);
    const { signal } = new AbortController();
    const options = { host, clock: systemClock, signal, timeoutMs: 60_000 };
    const result = await runState({ mode: "apply", desired, applied, ...options });
    ({ applied } = result);
    return result.results[0];
  };
  const pack = (name: string, ...args: string[]): string => {
    const archive = join(folder, name);
    execFileSync("tar", ["-C", tree, "-caf", archive, ...args]);
    return archive;
  };
  return { folder, path, tree, run, pack };
}

const here = hasPrograms("archives on this machine", "tar", "gzip", "xz", "find");

describe.skipIf(!here)("on this machine", () => {
  const { tree } = here ? { tree: realTar() } : { tree: Buffer.alloc(0) };
  server.files["/t.tar"] = tree;
  describeLaws(here ? subjects(tree, `${server.url}/t.tar?hunter2`) : {}, { "on this machine": localHost });

  test.each(["a.tar", "a.tar.gz", "a.txz"])(
    "%s is extracted, once, as find sees it, and taken back",
    async (name) => {
      const { path, run, pack } = machine();
      const source = pack(name, "t-1");
      expect(await run({ source })).toMatchObject({ outcome: "changed", action: "create" });
      const seen = execFileSync("find", [path, "-type", "f", "-printf", "%P %m %s\n"], { encoding: "utf8" });
      expect(
        seen
          .trim()
          .split("\n")
          .filter((line) => !line.startsWith("."))
          .sort(),
      ).toEqual(["t-1/bin/tool 755 4", "t-1/naïve file 644 1"]);
      expect((await run({ source }))?.outcome).toBe("unchanged");
      expect((await run(null))?.outcome).toBe("changed");
      expect(existsSync(path)).toBe(false);
    },
  );

  test("another version takes the files of the last one away, and nothing else", async () => {
    const { path, tree: from, run, pack } = machine();
    await run({ source: pack("a.tar", "t-1"), strip_components: 1 });
    writeFileSync(join(path, "bin/theirs"), "");
    writeFileSync(join(from, "t-1/new"), "new");
    const source = pack("b.tar", "--exclude=naïve*", "t-1");
    expect(await run({ source, strip_components: 1 })).toMatchObject({
      outcome: "changed",
      action: "update",
    });
    expect(readdirSync(path).sort()).toEqual([".fleetwright-archive", "bin", "new"]);
    await run(null);
    expect([readdirSync(path), readdirSync(join(path, "bin"))]).toEqual([["bin"], ["theirs"]]);
  });

  test("a version may have folders where the last one had links and files, and the other way round", async () => {
    const { folder, path, tree: from, run, pack } = machine();
    const tree = join(from, "t-1");
    const outside = join(folder, "outside");
    mkdirSync(outside);
    symlinkSync("bin", join(tree, "link"));
    writeFileSync(join(tree, "file"), "1");
    const first = pack("a.tar", "t-1");
    execFileSync("rm", [join(tree, "link"), join(tree, "file")]);
    for (const name of ["link/deep", "file/deep"]) mkdirSync(join(tree, name), { recursive: true });
    for (const name of ["link/deep/in", "file/deep/in"]) writeFileSync(join(tree, name), "2");
    // Of the folders above them it names none.
    const second = pack("b.tar", "t-1/bin", "t-1/link/deep/in", "t-1/file/deep/in");
    await run({ source: first, strip_components: 1 });
    // Whatever somebody has made of the link, nothing is written where it leads.
    execFileSync("ln", ["-sfn", outside, join(path, "link")]);
    for (const source of [second, first, pack("c.tar", "t-1")]) {
      expect((await run({ source, strip_components: 1 }))?.outcome).toBe("changed");
      expect((await run({ source, strip_components: 1 }))?.outcome).toBe("unchanged");
    }
    expect(readFileSync(join(path, "link/deep/in"), "utf8")).toBe("2");
    await run({ source: second, strip_components: 1 });
    expect(readdirSync(outside)).toEqual([]);
    // A link in the place of a folder of ours is nothing of ours.
    execFileSync("mv", [join(path, "link"), join(folder, "moved")]);
    symlinkSync(outside, join(path, "link"));
    writeFileSync(join(tree, "more"), "3");
    const third = pack("d.tar", "t-1/more", "t-1/link/deep/in");
    expect((await run({ source: third, strip_components: 1 }))?.outcome).toBe("failed");
    expect(readdirSync(outside)).toEqual([]);
    execFileSync("rm", [join(path, "link")]);
    execFileSync("mv", [join(folder, "moved"), join(path, "link")]);
    await run(null);
    expect(existsSync(path)).toBe(false);
  });

  test("is extracted anew where other parts of its names are left out, fewer and more of them", async () => {
    const { path, run, pack } = machine();
    const source = pack("a.tar", "t-1");
    for (const [strip_components, name] of [
      [0, "t-1/bin/tool"],
      [1, "bin/tool"],
      [0, "t-1/bin/tool"],
    ] as const) {
      expect((await run({ source, strip_components }))?.outcome).toBe("changed");
      expect(existsSync(join(path, name))).toBe(true);
    }
    expect(readdirSync(path).filter((name) => !name.startsWith("."))).toEqual(["t-1"]);
    // As an extraction that was killed leaves it.
    writeFileSync(join(path, ".fleetwright-archive.download"), "half");
    await run(null);
    expect(existsSync(path)).toBe(false);
  });

  test("what somebody else put there is not replaced, and no link is followed", async () => {
    const { folder, path, run, pack } = machine();
    const source = pack("a.tar", "t-1");
    mkdirSync(join(path, "t-1"), { recursive: true });
    writeFileSync(join(path, "t-1/naïve file"), "theirs");
    expect(await run({ source })).toMatchObject({
      code: "HOST_ERROR",
      message: expect.stringContaining("stands there"),
    });
    expect(readdirSync(join(path, "t-1"))).toEqual(["naïve file"]);
    mkdirSync(join(folder, "elsewhere"));
    symlinkSync(join(folder, "elsewhere"), join(path, "bin"));
    expect(await run({ source, strip_components: 1 })).toMatchObject({ code: "HOST_ERROR" });
    expect(readdirSync(join(folder, "elsewhere"))).toEqual([]);
  });

  test("a folder in the place of an extracted file stays, with what is in it", async () => {
    const { path, run, pack } = machine();
    const source = pack("a.tar", "t-1");
    await run({ source });
    const place = join(path, "t-1/bin/tool");
    execFileSync("rm", [place]);
    mkdirSync(place);
    writeFileSync(join(place, "theirs"), "");
    expect((await run(null))?.outcome).toBe("changed");
    expect(readdirSync(path, { recursive: true }).sort()).toEqual([
      "t-1",
      "t-1/bin",
      "t-1/bin/tool",
      "t-1/bin/tool/theirs",
    ]);
  });

  test("what leads out of the folder is refused before anything is extracted", async () => {
    const { folder, path, tree: from, run, pack } = machine();
    symlinkSync("/etc", join(from, "t-1/etc"));
    writeFileSync(join(folder, "outside"), "x");
    for (const source of [
      pack("link.tar", "t-1"),
      pack("up.tar", "-P", "t-1/../../outside"),
      pack("abs.tar", "-P", join(folder, "outside")),
    ]) {
      expect(await run({ source })).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
      expect(readdirSync(path)).toEqual([]);
    }
  });

  test("an extraction that was interrupted is finished, or taken back", async () => {
    const { path, run, pack } = machine();
    const source = pack("a.tar", "t-1");
    await run({ source });
    const stamp = join(path, ".fleetwright-archive");
    const written = JSON.parse(readFileSync(stamp, "utf8")) as JsonObject;
    const interrupt = () => writeFileSync(stamp, JSON.stringify({ ...written, complete: false }));
    interrupt();
    execFileSync("rm", ["-r", join(path, "t-1/bin")]);
    expect((await run({ source }))?.outcome).toBe("changed");
    expect(readFileSync(join(path, "t-1/bin/tool"), "utf8")).toBe("tool");
    interrupt();
    await run(null);
    expect(existsSync(path)).toBe(false);
  });

  test.each([
    "../outside",
    "t-1/../../outside",
    "t-1/..",
    "/outside",
    "t-1//bin",
    "t-1/./bin",
    "t-1/",
    ".",
    "",
  ])("a stamp that names %j, as no archive may, takes nothing away", async (name) => {
    const { folder, path, run, pack } = machine();
    await run({ source: pack("a.tar", "t-1") });
    writeFileSync(join(folder, "outside"), "x");
    const stamp = join(path, ".fleetwright-archive");
    const entry = { name, kind: "file", content: null };
    const written = JSON.parse(readFileSync(stamp, "utf8")) as JsonObject;
    writeFileSync(stamp, JSON.stringify({ ...written, entries: [entry] }));
    expect(await run(null)).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(existsSync(join(folder, "outside"))).toBe(true);
  });

  test("another archive than the declared one is not extracted, nor one that is none", async () => {
    const { folder, path, run, pack } = machine();
    const wrong = await run({ source: pack("a.tar", "t-1"), sha256: "0".repeat(64) });
    expect(wrong).toMatchObject({ code: "HOST_ERROR", message: expect.stringContaining("The SHA-256 of") });
    writeFileSync(join(folder, "bad.tar.gz"), "no archive");
    expect(await run({ source: join(folder, "bad.tar.gz") })).toMatchObject({
      code: "COMMAND_FAILED",
      exit_code: 2,
    });
    expect(readdirSync(path)).toEqual([]);
  });

  test("an archive that is not there any more is no drift, one that was never there is a failure", async () => {
    const { path, run, pack } = machine();
    const source = pack("a.tar", "t-1");
    expect(await run({ source: `${source}.tar` })).toMatchObject({ code: "HOST_ERROR" });
    await run({ source });
    execFileSync("rm", [source]);
    expect((await run({ source }))?.outcome).toBe("unchanged");
    expect(existsSync(join(path, "t-1/bin/tool"))).toBe(true);
  });
});

describe.skipIf(!hasPrograms("zip archives", "zip", "unzip"))("zip", () => {
  test("is extracted and taken back, names beyond ASCII too", async () => {
    const { folder, path, tree, run } = machine();
    const source = join(folder, "a.zip");
    execFileSync("zip", ["-qr", source, "t-1"], { cwd: tree });
    expect((await run({ source }))?.outcome).toBe("changed");
    expect(readdirSync(join(path, "t-1")).sort()).toEqual(["bin", "naïve file"]);
    expect((await run({ source }))?.outcome).toBe("unchanged");
    await run(null);
    expect(existsSync(path)).toBe(false);
  });
});

/** The model archive as a real one. */
function realTar(): Buffer {
  const script = `d=$(mktemp -d) && mkdir -p $d/t-1/bin && printf tool > $d/t-1/bin/tool && ln -s bin/tool $d/t-1/link &&
    tar -C $d -cf - t-1 && rm -r $d`;
  return execFileSync("/bin/sh", ["-c", script]);
}
