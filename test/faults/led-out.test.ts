/**
 * An agent works in a home whose owner swaps links, folders, files and hard links at every step of every path, as fast as a
 * process can. Nothing outside of the home may change, and nothing that its owner can't read may get into it.
 */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState } from "../../lib/state/run/engine.ts";
import { serveFiles } from "../support/file-server.ts";
import { describeOnRealMachine } from "../support/machine/real-machine.ts";
import { isSoak } from "../support/soak.ts";
import { declare } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const stranger = 65_534;
const owner = String(stranger);
const token = "only-root-may-read-this";
const hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const swapper = fileURLToPath(new URL("../support/swapping-process.py", import.meta.url));
const seconds = Number(process.env["FLEETWRIGHT_SWAP_SECONDS"] ?? (isSoak ? 300 : 15));

describeOnRealMachine("a home that is swapped", { programs: ["/usr/bin/python3", "tar", "git"] }, () => {
  test("gives its owner no way out of it", { timeout: (seconds + 120) * 1000 }, async () => {
    const base = temporaryFolder();
    execFileSync("chmod", ["755", base]);
    const [home, outside] = [join(base, "home"), join(base, "outside")];
    const targets = prepareOutside(outside);
    prepareHome(home);
    execFileSync("tar", ["-cf", join(base, "tool.tar"), "-C", outside, "profile.d"]);
    execFileSync("git", ["init", "-q", join(base, "repo")]);
    const server = await serveFiles();
    onTestFinished(() => server.stop());
    const before = look(outside);
    using swapping = startSwapping(home, targets);
    const counts = await workIn({ home, base, url: server.url });
    await swapping.end();
    const swaps = Number(readFileSync(join(home, "swaps"), "utf8"));
    const after = look(outside);
    const written = [...after].filter((line) => !before.includes(line));
    const leaked = readableIn(home).filter((path) => readFileSync(path, "latin1").includes(token));
    console.log(
      `${swaps} swaps against ${counts.tried} resources that were checked, planned, applied or removed: ` +
        `${counts.done} done, ${counts.refused} refused as led out, ${counts.failed} failed otherwise; ` +
        `${written.length} writes outside, ${leaked.length} secrets inside.`,
    );
    expect(written).toEqual([]);
    expect(after).toEqual(before);
    expect(leaked).toEqual([]);
    // A fuzz in which nothing succeeds, or nothing is tried, shows nothing.
    expect(swaps).toBeGreaterThan(1000);
    expect(counts.done).toBeGreaterThan(10);
    expect(counts.refused).toBeGreaterThan(10);
  });
});

/** Folders and files of root's, each of which the owner of the home would like to write to or to read. */
function prepareOutside(outside: string): string[] {
  const profile = join(outside, "profile.d");
  const vault = join(outside, "vault");
  mkdirSync(outside, { mode: 0o755 });
  mkdirSync(profile, { mode: 0o755 });
  mkdirSync(vault, { mode: 0o700 });
  for (const name of ["deep", "inner"]) mkdirSync(join(profile, name), { mode: 0o755 });
  for (const name of ["file", "a", "line", "deep/file"]) writeFileSync(join(profile, name), "root's\n");
  writeFileSync(join(vault, "file"), `${token}\n`, { mode: 0o600 });
  writeFileSync(join(vault, "line"), `${token}\n`, { mode: 0o600 });
  return [profile, join(profile, "file"), vault, join(vault, "file")];
}

function prepareHome(home: string): void {
  for (const folder of ["", "sub", "sub/deep", "tree", "tree/inner"]) {
    mkdirSync(join(home, folder), { mode: 0o755 });
    chownSync(join(home, folder), stranger, stranger);
  }
}

/** Everything about a folder and all that is in it. */
function look(path: string): string[] {
  const stats = lstatSync(path);
  const content = stats.isFile()
    ? readFileSync(path, "latin1")
    : stats.isSymbolicLink()
      ? readlinkSync(path)
      : "";
  const { mode, uid, gid, ino, nlink, mtimeMs, ctimeMs } = stats;
  const own = [path, mode, uid, gid, ino, nlink, mtimeMs, ctimeMs, content].join(" ");
  return stats.isDirectory() ? [own, ...readdirSync(path).flatMap((name) => look(join(path, name)))] : [own];
}

/** Files that the owner of the home could read. */
function readableIn(path: string): string[] {
  const { uid, mode, ...stats } = lstatSync(path);
  if (lstatSync(path).isDirectory()) return readdirSync(path).flatMap((name) => readableIn(join(path, name)));
  void stats;
  return lstatSync(path).isFile() && (uid === stranger || (mode & 0o004) !== 0) ? [path] : [];
}

function startSwapping(home: string, targets: readonly string[]): Disposable & { end(): Promise<void> } {
  const program = openSync(swapper, "r");
  const child = spawn("/usr/bin/python3", ["-", home, ...targets], {
    uid: stranger,
    gid: stranger,
    stdio: [program, "inherit", "inherit"],
    env: { SWAP_SECONDS: String(seconds + 30) },
  });
  closeSync(program);
  const ended = once(child, "exit");
  return {
    async end() {
      child.kill("SIGKILL");
      await ended;
    },
    [Symbol.dispose]: () => void child.kill("SIGKILL"),
  };
}

function definitionsFor({ home, base, url }: Place): JsonObject[] {
  const sub = join(home, "sub");
  return [
    { type: "directory", path: sub, owner, group: owner, mode: "0755" },
    { type: "directory", path: `${sub}/deep`, owner, mode: "0755" },
    { type: "file", path: `${sub}/file`, content: "ours\n", owner, mode: "0644" },
    { type: "file", path: `${sub}/deep/file`, content: "ours\n", mode: "0600" },
    { id: "owned", type: "file", path: `${home}/file`, owner, mode: "0666" },
    { type: "file", path: `${sub}/judged`, content: "ours\n", validate: ["/bin/cat", "%"] },
    { type: "line", path: `${home}/line`, line: "ours" },
    { type: "line", path: `${sub}/line`, line: "ours" },
    { type: "block", path: `${sub}/block`, name: "b", content: "ours\n" },
    { type: "symlink", path: `${sub}/link`, target: "file", force: true },
    { type: "directory", path: `${home}/tree`, owner, recurse: true, file_mode: "0644", mode: "0755" },
    { type: "directory", path: `${home}/tree/inner`, owner, purge: true },
    { type: "archive", path: `${home}/tool`, source: `${base}/tool.tar`, strip_components: 1, owner },
    { type: "download", path: `${sub}/got`, url: `${url}/hello`, sha256: hello, owner },
    { type: "git", path: `${home}/clone`, repository: `${base}/repo` },
    { id: "s", type: "script", run: "echo ours > made", check: "false", cwd: `${sub}/deep` },
  ];
}

interface Place {
  home: string;
  base: string;
  url: string;
}

async function workIn(place: Place): Promise<Record<"tried" | "done" | "refused" | "failed", number>> {
  const host = new LocalHost({ stateFolder: join(place.base, "state") });
  const desired = declare(definitionsFor(place));
  const counts = { tried: 0, done: 0, refused: 0, failed: 0 };
  let applied: AppliedResource[] = [];
  const { signal } = new AbortController();
  const end = performance.now() + seconds * 1000;
  for (let round = 0; performance.now() < end; round += 1) {
    const mode = (["check", "plan", "apply", "apply"] as const)[round % 4] ?? "apply";
    const wanted = round % 8 === 7 ? [] : desired;
    const options = { mode, desired: wanted, applied, host, clock: systemClock, signal, timeoutMs: 20_000 };
    const result = await runState(options);
    applied = result.applied;
    for (const { outcome, message = "" } of result.results) {
      counts.tried += 1;
      if (outcome !== "failed") counts.done += 1;
      else if (/is a link|something else|can change/.test(message)) counts.refused += 1;
      else counts.failed += 1;
    }
    await pause(0);
  }
  return counts;
}
