/** Archives for a folder of somebody else: he can put nothing of his own among what is extracted. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../../lib/clock.ts";
import { LocalHost } from "../../../../lib/host/local-host.ts";
import type { ResourceResult } from "../../../../lib/state/result.ts";
import type { AppliedResource } from "../../../../lib/state/run/applied-resource.ts";
import { runState } from "../../../../lib/state/run/engine.ts";
import { declare } from "../../../support/state-fixture.ts";
import { temporaryFolderOnDisk } from "../../../support/temporary-folder.ts";

const stranger = 65_534;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: archives for a folder of somebody else: only root can give one away.");

const hashOf = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

interface SceneOptions {
  stateFolder?: string;
  owner?: string;
  /** Whether the archive lies where he can change it. */
  isTheirs?: boolean;
  sha256Of?: (source: string) => { sha256?: string };
}

class Scene {
  readonly base = temporaryFolderOnDisk();
  readonly home = join(this.base, "home");
  readonly path = join(this.home, "tool");
  readonly host: LocalHost;
  readonly #definition;
  #applied: AppliedResource[] = [];

  constructor({ stateFolder, owner = "0", isTheirs = false, sha256Of = () => ({}) }: SceneOptions = {}) {
    this.host = new LocalHost({ stateFolder: stateFolder ?? join(this.base, "state") });
    chmodSync(this.base, 0o755);
    for (const folder of [this.home, this.path]) {
      mkdirSync(folder, { mode: 0o755 });
      chownSync(folder, stranger, stranger);
    }
    const content = join(this.base, "content");
    mkdirSync(join(content, "bin"), { recursive: true });
    writeFileSync(join(content, "bin/run"), "good\n", { mode: 0o755 });
    symlinkSync("bin/run", join(content, "link"));
    const source = join(isTheirs ? this.home : this.base, "a.tar");
    execFileSync("tar", ["-cf", source, "--mtime=2020-02-02", "-C", content, "."]);
    this.#definition = { type: "archive", path: this.path, source, owner, group: "0", ...sha256Of(source) };
  }

  async run(isDesired = true): Promise<ResourceResult[]> {
    const { results, applied } = await runState({
      mode: "apply",
      desired: declare(isDesired ? [this.#definition] : []),
      applied: this.#applied,
      host: this.host,
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 60_000,
    });
    this.#applied = applied;
    return results;
  }

  /** Has somebody act right after tar has extracted. */
  afterExtraction(act: () => void): void {
    const { host } = this;
    const run = host.run.bind(host);
    host.run = async (command, signal) => {
      const result = await run(command, signal);
      if (command.argv.includes("--extract")) act();
      return result;
    };
  }

  /** Everything in the home that is root's, with its content. */
  rootsFiles(folder = this.home): string[] {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && statSync(join(entry.parentPath, entry.name)).uid === 0)
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"));
  }
}

describe.runIf(isRoot)("an archive for a folder of somebody else", () => {
  test("gets its owner where nobody can swap what was extracted", async () => {
    const scene = new Scene();
    const { path, home } = scene;
    let seen: string[] = [];
    scene.afterExtraction(() => {
      seen = readdirSync(home, { recursive: true }) as string[];
      // Whatever stands there for the agent becomes a folder of his own.
      for (const name of readdirSync(path)) {
        if (!lstatSync(join(path, name)).isDirectory()) continue;
        renameSync(join(path, name), join(home, "away"));
        mkdirSync(join(path, name, "bin"), { recursive: true });
        writeFileSync(join(path, name, "bin/run"), "evil\n", { mode: 0o755 });
        execFileSync("chown", ["-R", String(stranger), join(path, name)]);
      }
    });
    expect(await scene.run()).toMatchObject([{ outcome: "changed" }]);
    expect(seen).toEqual(["tool", "tool/.fleetwright-archive"]);
    expect(scene.rootsFiles()).not.toContain("evil\n");
    expect(readFileSync(join(path, "bin/run"), "utf8")).toBe("good\n");
    expect(readdirSync(join(scene.base, "state"))).not.toContainEqual(expect.stringContaining("work-"));
  });

  test.each<[string, NonNullable<SceneOptions["sha256Of"]>, string]>([
    ["without a hash", () => ({}), "changed"],
    ["with its hash", (source) => ({ sha256: hashOf(source) }), "changed"],
    ["with another hash", () => ({ sha256: "0".repeat(64) }), "failed"],
  ])("is taken from where he can change it, %s", async (_, sha256Of, outcome) => {
    const scene = new Scene({ isTheirs: true, sha256Of });
    expect(await scene.run()).toMatchObject([{ outcome }]);
    const isThere = outcome === "changed";
    expect(existsSync(join(scene.path, "bin/run"))).toBe(isThere);
    if (isThere) expect(await scene.run()).toMatchObject([{ outcome: "unchanged" }]);
  });

  test("comes whole over the border of a file system", async ({ skip }) => {
    const shm = "/dev/shm";
    const stateFolder = mkdtempSync(join(shm, "fleetwright-"));
    onTestFinished(() => rmSync(stateFolder, { recursive: true }));
    const scene = new Scene({ stateFolder });
    const { path } = scene;
    if (statSync(stateFolder).dev === statSync(path).dev) {
      console.warn(`Skipped: ${shm} and ${path} are one file system.`);
      skip("one file system");
    }
    expect(await scene.run()).toMatchObject([{ outcome: "changed" }]);
    const { mode, uid, mtime } = lstatSync(join(path, "bin/run"));
    expect([mode & 0o7777, uid, mtime]).toEqual([0o755, 0, new Date(2020, 1, 2)]);
    expect([readFileSync(join(path, "bin/run"), "utf8"), readlinkSync(join(path, "link"))]).toEqual([
      "good\n",
      "bin/run",
    ]);
    expect(await scene.run()).toMatchObject([{ outcome: "unchanged" }]);
    expect(readdirSync(stateFolder)).not.toContainEqual(expect.stringContaining("work-"));
    expect(await scene.run(false)).toMatchObject([{ outcome: "changed" }]);
    expect(readdirSync(path)).toEqual([]);
  });

  test("is extracted where a killed agent has left what it worked in", async () => {
    const scene = new Scene();
    const state = join(scene.base, "state");
    let left = "";
    scene.afterExtraction(() => {
      left = join(
        state,
        readdirSync(state).find((name) => name.startsWith("work-"))!,
      );
    });
    await scene.run();
    expect(existsSync(left)).toBe(false);
    mkdirSync(join(left, "bin"), { recursive: true, mode: 0o700 });
    for (const name of ["bin/run", "bin/half", "link"]) writeFileSync(join(left, name), "left");
    rmSync(scene.path, { recursive: true });
    mkdirSync(scene.path);
    chownSync(scene.path, stranger, stranger);
    expect(await scene.run()).toMatchObject([{ outcome: "changed" }]);
    expect(readdirSync(join(scene.path, "bin"))).toEqual(["run"]);
    expect(readFileSync(join(scene.path, "bin/run"), "utf8")).toBe("good\n");
    expect(existsSync(left)).toBe(false);
  });

  test("has a stamp of the agent's own, whatever stood in its place", async () => {
    const scene = new Scene({ owner: String(stranger) });
    const stamp = join(scene.path, ".fleetwright-archive");
    expect(await scene.run()).toMatchObject([{ outcome: "changed" }]);
    // He puts a copy of his own there, which he may go on reading and writing.
    const text = readFileSync(stamp, "utf8");
    rmSync(stamp);
    writeFileSync(stamp, text.replace(/"sha256":"[0-9a-f]{64}"/, `"sha256":"${"0".repeat(64)}"`));
    chownSync(stamp, stranger, stranger);
    expect(await scene.run()).toMatchObject([{ outcome: "changed" }]);
    expect(lstatSync(stamp)).toMatchObject({ uid: 0, gid: 0, mode: 0o100600 });
    expect(readFileSync(stamp, "utf8")).toBe(text);
  });

  test("believes a stamp of its owner's no more than he could do himself", async () => {
    const scene = new Scene({ owner: String(stranger) });
    const stamp = join(scene.path, ".fleetwright-archive");
    expect(await scene.run()).toMatchObject([{ outcome: "changed" }]);
    // Root keeps something there that he can neither enter nor take away.
    const kept = join(scene.path, "kept");
    mkdirSync(kept, { mode: 0o700 });
    writeFileSync(join(kept, "key"), "root's");
    const written = JSON.parse(readFileSync(stamp, "utf8")) as { entries: object[] };
    const more = [
      { name: "kept", kind: "folder", content: "" },
      { name: "kept/key", kind: "file", content: null },
    ];
    rmSync(stamp);
    writeFileSync(stamp, JSON.stringify({ ...written, entries: [...written.entries, ...more] }));
    chownSync(stamp, stranger, stranger);
    expect(await scene.run(false)).toMatchObject([{ outcome: "changed" }]);
    expect(readFileSync(join(kept, "key"), "utf8")).toBe("root's");
    expect(readdirSync(scene.path)).toEqual(["kept"]);
  });
});
