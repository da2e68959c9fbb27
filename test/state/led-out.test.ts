/** The owner of a folder puts a link into it, and every type that takes a path is asked to work below that link. */
import { execFileSync } from "node:child_process";
import {
  chownSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState, type StateRunResult } from "../../lib/state/run/engine.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { type FileServer, serveFiles } from "../support/file-server.ts";
import { declare } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** An account of no rights that every Linux has. */
const stranger = 65_534;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: who owns a folder leads nobody out of it: it must be root, on Linux.");

const hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
let server: FileServer;
beforeAll(async () => void (server = await serveFiles()));
afterAll(() => server.stop());

/** A home of somebody else, in which `sub` was a folder, and a folder of root's that he would like to write to. */
class Scene {
  readonly base = temporaryFolder();
  readonly home = join(this.base, "home");
  readonly sub = join(this.home, "sub");
  readonly profile = join(this.base, "profile.d");
  readonly host = new LocalHost({ stateFolder: join(this.base, "state") });
  applied: AppliedResource[] = [];

  constructor() {
    execFileSync("chmod", ["755", this.base]);
    for (const folder of [this.home, this.sub, this.profile]) mkdirSync(folder, { mode: 0o755 });
    for (const folder of [this.home, this.sub]) chownSync(folder, stranger, stranger);
    writeFileSync(join(this.profile, "f"), "root's\n", { mode: 0o600 });
  }

  /** The owner of the home has his way. */
  leadOut(): void {
    rmSync(this.sub, { recursive: true, force: true });
    symlinkSync(this.profile, this.sub);
    lchownSync(this.sub, stranger, stranger);
  }

  async run(mode: RunMode, definitions: JsonObject[]): Promise<StateRunResult> {
    const { host, applied } = this;
    const { signal } = new AbortController();
    const desired = declare(definitions);
    const result = await runState({
      mode,
      desired,
      applied,
      host,
      clock: systemClock,
      signal,
      timeoutMs: 60_000,
    });
    this.applied = result.applied;
    return result;
  }

  /** Everything about the folder of root's, and what is in it. */
  canary(): string[] {
    const paths = readdirSync(this.profile).map((name) => join(this.profile, name));
    return [this.profile, ...paths].map((path) => {
      const stats = lstatSync(path);
      const { mode, uid, gid, ino } = stats;
      const content = stats.isFile() ? readFileSync(path, "latin1") : "";
      return [path, mode.toString(8), uid, gid, ino, content].join(" ");
    });
  }
}

const types: Record<string, (scene: Scene) => JsonObject> = {
  file: ({ sub }) => ({ type: "file", path: `${sub}/new`, content: "x\n", owner: String(stranger) }),
  "file that stands": ({ sub }) => ({ type: "file", path: `${sub}/f`, content: "x\n", mode: "0666" }),
  "file with another owner alone": ({ sub }) => ({ type: "file", path: `${sub}/f`, owner: String(stranger) }),
  "file that goes": ({ sub }) => ({ type: "file", path: `${sub}/f`, ensure: "absent" }),
  "file with validate": ({ sub }) => ({
    type: "file",
    path: `${sub}/new`,
    content: "x\n",
    validate: ["/bin/true", "%"],
  }),
  download: ({ sub }) => ({
    type: "download",
    path: `${sub}/new`,
    url: `${server.url}/hello`,
    sha256: hello,
  }),
  line: ({ sub }) => ({ type: "line", path: `${sub}/f`, line: "evil" }),
  block: ({ sub }) => ({ type: "block", path: `${sub}/f`, name: "b", content: "evil\n" }),
  symlink: ({ sub }) => ({ type: "symlink", path: `${sub}/new`, target: "/tmp" }),
  directory: ({ sub }) => ({ type: "directory", path: `${sub}/new`, owner: String(stranger) }),
  "directory with parents": ({ sub }) => ({
    type: "directory",
    path: `${sub}/new/deep/deeper`,
    parents: true,
  }),
  "directory that stands": ({ sub }) => ({
    type: "directory",
    path: `${sub}/deep`,
    mode: "0777",
  }),
  archive: ({ base, sub }) => ({ type: "archive", path: `${sub}/new`, source: `${base}/a.tar` }),
  "archive from below": ({ base, sub }) => ({
    type: "archive",
    path: `${base}/out`,
    source: `${sub}/secret.tar`,
  }),
  git: ({ base, sub }) => ({ type: "git", path: `${sub}/new`, repository: `${base}/repo` }),
  "script that is done": ({ sub }) => ({ id: "s", type: "script", run: "true", creates: `${sub}/none` }),
  "script in a folder": ({ sub }) => ({
    id: "s",
    type: "script",
    run: "touch evil",
    check: "false",
    cwd: `${sub}/deep`,
  }),
};

describe.runIf(isRoot)("a link of the owner's on the way leads out of his folder for no type", () => {
  test.each(Object.keys(types))("%s", async (name) => {
    const scene = new Scene();
    const { base, profile } = scene;
    execFileSync("tar", ["-cf", join(base, "a.tar"), "-C", profile, "f"]);
    execFileSync("tar", ["-cf", join(profile, "secret.tar"), "-C", profile, "f"]);
    if (name === "directory that stands" || name === "script in a folder") mkdirSync(join(profile, "deep"));
    execFileSync("git", ["init", "-q", join(base, "repo")]);
    execFileSync("git", ["-C", join(base, "repo"), ...commit]);
    scene.leadOut();
    const before = scene.canary();
    const definitions = [types[name]!(scene)];
    for (const mode of ["check", "plan", "apply"] as const) {
      const { results } = await scene.run(mode, definitions);
      expect(scene.canary()).toEqual(before);
      expect(results).toMatchObject([{ outcome: "failed", code: "HOST_ERROR" }]);
      expect(results[0]?.message).toContain(`is not followed: the link "`);
    }
  });
});

test.runIf(isRoot)(
  "a folder above one that we made there, replaced by a link, takes nothing of root's away",
  async () => {
    const scene = new Scene();
    const { home, profile } = scene;
    const made = join(home, "made");
    await scene.run("apply", [{ type: "directory", path: `${made}/a/b`, parents: true }]);
    expect(scene.applied[0]?.prior?.spec).toMatchObject({ made_parents: [made, `${made}/a`] });
    mkdirSync(join(profile, "a/b"), { recursive: true });
    rmSync(made, { recursive: true });
    symlinkSync(profile, made);
    lchownSync(made, stranger, stranger);
    const before = scene.canary();
    for (const mode of ["plan", "apply"] as const) {
      const { results } = await scene.run(mode, []);
      expect(results).toMatchObject([{ outcome: "failed", code: "HOST_ERROR" }]);
      expect(scene.canary()).toEqual(before);
      expect(readdirSync(join(profile, "a"))).toEqual(["b"]);
    }
  },
);

const commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"];
