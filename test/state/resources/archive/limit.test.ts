/** Archives that would fill the disk: refused before anything of them is on it, whatever they say of themselves. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../../lib/clock.ts";
import type { HostCommand } from "../../../../lib/host/host.ts";
import { LocalHost } from "../../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../../lib/json.ts";
import { runState } from "../../../../lib/state/run/engine.ts";
import { serveFiles } from "../../../support/file-server.ts";
import { hasPrograms } from "../../../support/programs.ts";
import { declare } from "../../../support/state-fixture.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const MiB = 1_048_576;
const server = await serveFiles();
afterAll(() => server.stop());

/** A folder with bombs, and runs of one resource there. */
function scene() {
  const folder = temporaryFolder();
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  const ran: HostCommand["argv"][] = [];
  const run = host.run.bind(host);
  host.run = (command, signal) => (ran.push(command.argv), run(command, signal));
  const [path, tree] = [join(folder, "out"), join(folder, "tree")];
  mkdirSync(tree);
  const apply = async (more: JsonObject) => {
    const { results } = await runState({
      mode: "apply",
      desired: declare([{ type: "archive", path, ...more }]),
      applied: [],
      host,
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 60_000,
    });
    return results[0];
  };
  const zeros = (name: string, bytes: number): void => {
    writeFileSync(join(tree, name), "");
    truncateSync(join(tree, name), bytes);
  };
  const tar = (name: string, ...options: string[]): string => {
    const archive = join(folder, name);
    execFileSync("tar", ["-C", tree, "-caf", archive, ...options, "."]);
    return archive;
  };
  const zip = (name: string): string => {
    const archive = join(folder, name);
    execFileSync("zip", ["-qr", archive, "."], { cwd: tree });
    return archive;
  };
  /** Whether a program that writes files has run. */
  const hasExtracted = (): boolean =>
    ran.some((argv) => argv.includes("--extract") || (argv[0] === "unzip" && argv.includes("-d")));
  return { folder, path, apply, zeros, tar, zip, hasExtracted };
}

const hasTar = hasPrograms("bombs for tar", "tar", "gzip", "xz");
const hasZip = hasPrograms("bombs for unzip", "zip", "unzip");

describe.each([
  ["a.tar", hasTar],
  ["a.tar.gz", hasTar],
  ["a.tar.xz", hasTar],
  ["a.zip", hasZip],
] as const)("a bomb in %s", (name, isHere) => {
  test.skipIf(!isHere)(
    "is refused, with nothing of it on the disk, and extracted where it may be",
    async () => {
      const { path, apply, zeros, tar, zip, hasExtracted } = scene();
      zeros("bomb", 64 * MiB);
      const source = name.endsWith(".zip") ? zip(name) : tar(name);
      if (name !== "a.tar") expect(statSync(source).size).toBeLessThan(MiB);
      expect(await apply({ source, max_bytes: 16 * MiB })).toMatchObject({
        outcome: "failed",
        code: "ARCHIVE_TOO_LARGE",
        message: expect.stringMatching(`The archive ${source} holds more than ${16 * MiB} bytes`),
      });
      expect([readdirSync(path), hasExtracted()]).toEqual([[], false]);
      expect(await apply({ source, max_bytes: 64 * MiB })).toMatchObject({ outcome: "changed" });
      expect(statSync(join(path, "bomb")).size).toBe(64 * MiB);
    },
  );

  test.skipIf(!isHere)("leaves what an earlier archive put there as it is", async () => {
    const { folder, path, apply, zeros, tar, zip } = scene();
    const pack = name.endsWith(".zip") ? zip : tar;
    zeros("small", 10);
    expect(await apply({ source: pack(name) })).toMatchObject({ outcome: "changed" });
    const before = readFileSync(join(path, ".fleetwright-archive"), "utf8");
    zeros("bomb", 2 * MiB);
    expect(await apply({ source: pack(`b-${name}`), max_bytes: MiB })).toMatchObject({
      code: "ARCHIVE_TOO_LARGE",
    });
    expect(readdirSync(path).sort()).toEqual([".fleetwright-archive", "small"]);
    expect(readFileSync(join(path, ".fleetwright-archive"), "utf8")).toBe(before);
    expect(readdirSync(join(folder, "state"))).not.toContainEqual(expect.stringContaining("work-"));
  });
});

test.skipIf(!hasZip)("a zip that says it is small is measured by what comes out of it", async () => {
  const { folder, path, apply, zeros, zip, hasExtracted } = scene();
  zeros("bomb", 64 * MiB);
  const forged = join(folder, "forged.zip");
  const content = readFileSync(zip("a.zip"));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(64 * MiB);
  for (let at = content.indexOf(size); at !== -1; at = content.indexOf(size, at + 4))
    content.writeUInt32LE(5, at);
  writeFileSync(forged, content);
  expect(execFileSync("unzip", ["-Z", "-s", forged, "*"], { encoding: "utf8" })).toContain(" 5 ");
  expect(await apply({ source: forged, max_bytes: 16 * MiB })).toMatchObject({ code: "ARCHIVE_TOO_LARGE" });
  expect([readdirSync(path), hasExtracted()]).toEqual([[], false]);
});

test.skipIf(!hasTar)("a file with holes counts as long as it is", async () => {
  const { path, apply, zeros, tar } = scene();
  zeros("holes", 1_024 * MiB);
  const source = tar("a.tar", "--sparse");
  expect(statSync(source).size).toBeLessThan(MiB);
  expect(await apply({ source, max_bytes: 1_000 * MiB })).toMatchObject({ code: "ARCHIVE_TOO_LARGE" });
  expect(readdirSync(path)).toEqual([]);
});

test.skipIf(!hasTar)("a tar that says it is small is measured by what was read of it", async () => {
  const { folder, path, apply, zeros, tar, hasExtracted } = scene();
  zeros("bomb", 8 * MiB);
  const start = openSync(join(folder, "tree/bomb"), "r+");
  writeSync(start, Buffer.alloc(4 * MiB, "x"));
  closeSync(start);
  const source = tar("a.tar", "--sparse", "--format=pax", "--sparse-version=1.0");
  const content = readFileSync(source);
  const claim = content.indexOf("GNU.sparse.realsize=8388608");
  content.write("GNU.sparse.realsize=0000010", claim);
  writeFileSync(source, content);
  expect(execFileSync("tar", ["-tvf", source], { encoding: "utf8" })).toMatch(/ 10 .*bomb/);
  expect(await apply({ source, max_bytes: MiB })).toMatchObject({ code: "ARCHIVE_TOO_LARGE" });
  expect([readdirSync(path), hasExtracted()]).toEqual([[], false]);
});

test.skipIf(!hasTar)("more than 100,000 entries are refused", async () => {
  const { folder, path, apply, hasExtracted } = scene();
  const source = join(folder, "a.tar");
  execFileSync(
    "sh",
    [
      "-c",
      // One empty entry, as often as it takes: what counts is what has to be looked at.
      `: > x && tar -cf one.tar x && head -c 512 one.tar > block && ` +
        `i=0 && while [ $i -lt 17 ]; do cat block block > twice && mv twice block && i=$((i + 1)); done && ` +
        `(cat block; head -c 1024 /dev/zero) > "$1"`,
      "sh",
      source,
    ],
    { cwd: folder },
  );
  expect(await apply({ source })).toMatchObject({
    code: "ARCHIVE_TOO_LARGE",
    message: expect.stringContaining("more than 100000 entries"),
  });
  expect([readdirSync(path), hasExtracted()]).toEqual([[], false]);
});

test.skipIf(!hasTar)("the address of a bomb is not told, since it may hold a secret", async () => {
  const { path, apply, zeros, tar } = scene();
  zeros("bomb", 2 * MiB);
  const content = readFileSync(tar("a.tar.gz"));
  server.files["/a.tar.gz"] = content;
  const sha256 = createHash("sha256").update(content).digest("hex");
  const refused = await apply({ source: `${server.url}/a.tar.gz?hunter2`, sha256, max_bytes: MiB });
  expect(refused).toMatchObject({
    code: "ARCHIVE_TOO_LARGE",
    message: expect.stringContaining(`The archive for ${path} holds`),
  });
  expect(JSON.stringify(refused)).not.toContain("hunter2");
  expect(readdirSync(path)).toEqual([]);
});
