/** What a change left that failed before its thing could be told from none: it is ours, and goes as soon as it is not wanted any more. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { hostError } from "../../lib/host/host-error.ts";
import type { Host, HostCommand } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState } from "../../lib/state/run/engine.ts";
import { serveFiles } from "../support/file-server.ts";
import { git } from "../support/git-clone.ts";
import { hasPrograms } from "../support/programs.ts";
import { declare } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Runs that follow each other on a machine of which some programs fail. */
function machineWith(fails: (command: HostCommand) => boolean) {
  const folder = temporaryFolder();
  const host: Host = new LocalHost({ stateFolder: join(folder, "state") });
  const run = host.run.bind(host);
  host.run = (command, signal) => run(fails(command) ? { ...command, argv: ["false"] } : command, signal);
  let applied: AppliedResource[] = [];
  const apply = async (definition: JsonObject | null) => {
    const desired = definition ? declare([definition]) : [];
    const { signal } = new AbortController();
    const options = { host, clock: systemClock, signal, timeoutMs: 60_000 };
    const result = await runState({ mode: "apply", desired, applied, ...options });
    ({ applied } = result);
    return result.results.map(({ outcome }) => outcome);
  };
  return { folder, host, apply, applied: () => applied };
}

describe.skipIf(!hasPrograms("clones on this machine", "git", "rm"))("a clone", () => {
  /** A repository with one commit. */
  const repositoryIn = (folder: string): string => {
    const tree = join(folder, "tree");
    mkdirSync(tree);
    writeFileSync(join(tree, "page"), "page");
    git(tree, "init", "-q");
    git(tree, "add", ".");
    git(tree, "commit", "-qm", "page");
    return tree;
  };

  // In the order in which git makes them.
  test.each([[["refs/heads"]], [["refs/heads", "HEAD"]], [["refs/heads", "HEAD", "config"]]])(
    "that git could not begin goes with what it left, and is made where it is wanted again: %s",
    async (made) => {
      let isFull = true;
      const { folder, apply, applied } = machineWith(({ argv, cwd = "" }) => {
        if (!isFull || !argv.includes("init")) return false;
        mkdirSync(join(cwd, ".git/refs/heads"), { recursive: true });
        if (made.includes("HEAD")) writeFileSync(join(cwd, ".git/HEAD"), "ref: refs/heads/main\n");
        if (made.includes("config")) writeFileSync(join(cwd, ".git/config"), "[core]\n");
        return true;
      });
      const path = join(folder, "clone");
      const definition = { type: "git", path, repository: repositoryIn(folder) };
      expect(await apply(definition)).toEqual(["failed"]);
      expect(await apply(null)).toEqual(["changed"]);
      expect([existsSync(path), applied()]).toEqual([false, []]);
      expect(await apply(definition)).toEqual(["failed"]);
      isFull = false;
      expect(await apply(definition)).toEqual(["changed"]);
      expect(readdirSync(path)).toEqual([".git", "page"]);
    },
  );

  test("that has filled its disk goes, though there is no room to note that it is going", async () => {
    const { folder, apply, applied } = machineWith(({ argv }) => argv.includes("fleetwright.removing"));
    const path = join(folder, "clone");
    expect(await apply({ type: "git", path, repository: repositoryIn(folder) })).toEqual(["changed"]);
    writeFileSync(join(path, ".git/config.lock"), "");
    expect(await apply(null)).toEqual(["failed"]);
    rmSync(join(path, ".git/config.lock"));
    expect(await apply(null)).toEqual(["changed"]);
    expect([existsSync(path), applied()]).toEqual([false, []]);
  });

  test("whose .git was taken away in part goes all the same", async () => {
    let cuts = true;
    const { folder, apply, applied } = machineWith(({ argv, cwd = "" }) => {
      if (!cuts || argv[0] !== "rm" || !argv.includes("./.git")) return false;
      // What is left of the rest is the machine's affair.
      rmSync(join(cwd, ".git/HEAD"));
      rmSync(join(cwd, ".git/refs"), { recursive: true });
      rmSync(join(cwd, ".git/config"));
      return true;
    });
    const path = join(folder, "clone");
    expect(await apply({ type: "git", path, repository: repositoryIn(folder) })).toEqual(["changed"]);
    expect(await apply(null)).toEqual(["failed"]);
    expect(readdirSync(path)).toEqual([".git"]);
    cuts = false;
    expect(await apply(null)).toEqual(["changed"]);
    expect([existsSync(path), applied()]).toEqual([false, []]);
  });
});

describe.skipIf(!hasPrograms("clones on this machine", "git", "rm"))("a clone that git can't read", () => {
  const commit = (path: string): void => {
    writeFileSync(join(path, "mine"), "mine");
    git(path, "add", ".");
    git(path, "commit", "-qm", "mine");
  };

  test.each(["refs", "objects"])(
    "for want of its %s stays with what somebody committed to it",
    async (missing) => {
      const { folder, apply } = machineWith(() => false);
      const path = join(folder, "clone");
      mkdirSync(path);
      git(path, "init", "-q");
      commit(path);
      git(path, "pack-refs", "--all");
      for (const name of readdirSync(path)) if (name !== ".git") rmSync(join(path, name));
      rmSync(join(path, ".git", missing), { recursive: true });
      expect(await apply({ type: "git", path, ensure: "absent" })).toEqual(["failed"]);
      expect(existsSync(join(path, ".git/HEAD"))).toBe(true);
    },
  );

  test.each(["HEAD", "refs", "objects"])(
    "for want of its %s stays with what somebody put beside what is declared",
    async (missing) => {
      const folder = temporaryFolder();
      const host = new LocalHost({ stateFolder: join(folder, "state") });
      const tree = join(folder, "tree");
      mkdirSync(join(tree, "conf"), { recursive: true });
      git(tree, "init", "-q");
      writeFileSync(join(tree, "conf/page"), "page");
      commit(tree);
      const path = join(folder, "clone");
      const clone = { id: "g", type: "git", path, repository: tree };
      const file = { id: "f", type: "file", path: join(path, "conf/app.ini"), content: "x", requires: ["g"] };
      const { requires: _none, ...alone } = file;
      let applied: AppliedResource[] = [];
      const apply = async (...definitions: JsonObject[]): Promise<void> => {
        const { signal } = new AbortController();
        const options = { host, clock: systemClock, signal, timeoutMs: 60_000 };
        ({ applied } = await runState({ mode: "apply", desired: declare(definitions), applied, ...options }));
      };
      await apply(clone, file);
      writeFileSync(join(path, "conf/mine.txt"), "mine");
      rmSync(join(path, "mine"));
      rmSync(join(path, ".git", missing), { recursive: true });
      await apply(alone);
      expect(readdirSync(join(path, "conf")).toSorted()).toEqual(["app.ini", "mine.txt", "page"]);
    },
  );
});

test.skipIf(!hasPrograms("extracts on this machine", "tar", "gzip"))(
  "an archive that was fetched into a folder that stood, and no further, goes with the folder left",
  async () => {
    const server = await serveFiles();
    onTestFinished(() => server.stop());
    const content = Buffer.from("no archive");
    server.files["/tool.tar.gz"] = content;
    const { folder, host, apply, applied } = machineWith(() => false);
    const path = join(folder, "tool");
    mkdirSync(path);
    const { removeFile } = host.files;
    host.files.removeFile = (file) => {
      throw hostError(file, "EIO");
    };
    const sha256 = createHash("sha256").update(content).digest("hex");
    const definition = { type: "archive", path, source: `${server.url}/tool.tar.gz`, sha256 };
    expect(await apply(definition)).toEqual(["failed"]);
    expect(readdirSync(path)).toEqual([".fleetwright-archive.download"]);
    host.files.removeFile = removeFile;
    expect(await apply(null)).toEqual(["changed"]);
    expect([readdirSync(path), applied()]).toEqual([[], []]);
  },
);
