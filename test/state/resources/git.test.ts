import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../lib/clock.ts";
import type { Host, HostCommand } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import { runState } from "../../../lib/state/run/engine.ts";
import { lawFolder, type LawSubject } from "../../../lib/testing/resource-laws.ts";
import { cloneOf, git } from "../../support/git-clone.ts";
import { describeLaws, localHost, text } from "../../support/laws.ts";
import { gitPrograms, type ModelRepository } from "../../support/machine/git.ts";
import { hasPrograms } from "../../support/programs.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const first = "1".repeat(40);
const second = "2".repeat(40);
const model: ModelRepository = {
  refs: { HEAD: second, "refs/heads/main": second, "refs/tags/v1": "3".repeat(40), "refs/tags/v1^{}": first },
  commits: { [first]: { page: "one\n", old: "old\n" }, [second]: { page: "two\n" } },
};

/** What of a clone is the same however it came about. */
function look(host: Host): JsonObject {
  const stat = host.files.stat("/clones/site");
  if (!stat) return { kind: null };
  const names = host.files.list("/clones/site");
  const contents = names
    .filter((name) => name !== ".git")
    .map((name) => Buffer.from(host.files.readFile(`/clones/site/${name}`)).toString());
  const head = names.includes(".git") ? host.files.readFile("/clones/site/.git/HEAD") : text("");
  return { kind: stat.kind, mode: stat.mode, names, contents, head: Buffer.from(head).toString() };
}

function subjects(repository: string, tag: string): Record<string, LawSubject> {
  const definition = { type: "git", path: "/clones/site", repository, revision: "main", force: true };
  const breakIt = (host: Host): void => host.files.writeFile("/clones/site/page", text("mine\n"), {});
  const common = { observe: look, breakIt };
  return {
    "a clone of a branch": {
      definition,
      prepare: (host) => host.files.makeDirectory("/clones", {}),
      ...common,
      ...(repository.includes("hunter2") && { secret: "hunter2" }),
    },
    "a clone of a tag in a folder that was there": {
      definition: { ...definition, revision: tag, depth: 1 },
      prepare(host) {
        host.files.makeDirectory("/clones", {});
        host.files.makeDirectory("/clones/site", { mode: 0o700 });
      },
      ...common,
    },
    "a clone that was at another commit": {
      definition,
      async prepare(host) {
        host.files.makeDirectory("/clones", {});
        const { signal } = new AbortController();
        const desired = declare([{ ...definition, revision: tag }]);
        const options = { applied: [], host, clock: systemClock, signal, timeoutMs: 60_000 };
        await runState({ mode: "apply", desired, ...options });
      },
      ...common,
    },
  };
}

function memoryGit(): MemoryHost {
  const host: MemoryHost = new MemoryHost({
    programs: gitPrograms(() => host.files, {
      "https://git.example/site.git": model,
    }),
  });
  host.files.makeDirectory(lawFolder, {});
  return host;
}

describeLaws(subjects("https://deploy:hunter2@git.example/site.git", "v1"), { "in memory": memoryGit });

test.each([
  ["an option", { repository: "--upload-pack=touch" }, "repository"],
  ["a transport that runs programs", { repository: "ext::sh -c touch" }, "repository"],
  ["a transport by descriptor", { repository: "fd::3" }, "repository"],
  ["a revision that is an option", { repository: "/r", revision: "--force" }, "revision"],
  ["a range of commits", { repository: "/r", revision: "a..b" }, "revision"],
  ["a remote that is an option", { repository: "/r", remote: "-o" }, "remote"],
  ["no repository", {}, "repository"],
])("%s is a fault", (_what, more, at) => {
  const resolution = resolveResource({ type: "git", path: "/c", ...more }, { module: "m" });
  expect(resolution.ok ? [] : resolution.issues.map(({ path }) => path[0])).toEqual([at]);
});

test("a password is in the environment of git alone: on no command line and not in the clone", async () => {
  const seen: HostCommand[] = [];
  const host: MemoryHost = new MemoryHost({
    programs: {
      ...gitPrograms(() => host.files, { "https://git.example/site.git": model }),
      git(command, signal) {
        seen.push(command);
        return gitPrograms(() => host.files, { "https://git.example/site.git": model })["git"]!(
          command,
          signal,
        );
      },
    },
  });
  const repository = "https://deploy:hunter2@git.example/site.git";
  const state = new StateFixture(host);
  const { status } = await state.run("apply", declare([{ type: "git", path: "/site", repository }]));
  expect(status).toBe("succeeded");
  expect(JSON.stringify(seen.map(({ argv }) => argv))).not.toContain("hunter2");
  expect(seen[0]?.environment).toMatchObject({
    GIT_CONFIG_KEY_0: `url.${repository}.insteadOf`,
    GIT_CONFIG_VALUE_0: "https://git.example/site.git",
  });
  expect(state.read("/site/.git/config")).not.toContain("hunter2");
});

test("what git says is quoted without the password in an address", async () => {
  const stderr = "fatal: unable to access 'https://deploy:hunter2@git.example/site.git/': 403\n";
  const host = new MemoryHost({ programs: { git: () => ({ exitCode: 128, stderr }) } });
  const repository = "https://deploy:hunter2@git.example/site.git";
  host.files.makeDirectory("/site", {});
  host.files.makeDirectory("/site/.git", {});
  host.files.writeFile("/site/.git/HEAD", text(""), {});
  const { results } = await new StateFixture(host).run(
    "plan",
    declare([{ type: "git", path: "/site", repository }]),
  );
  expect(results[0]).toMatchObject({
    code: "COMMAND_FAILED",
    exit_code: 128,
    message: "git exited with 128: fatal: unable to access 'https://git.example/site.git/': 403",
  });
});

/** Leaves a lock of a git that is gone; of before the machine started, or of this minute. */
function lock(path: string, name: string, when: "before" | "now"): string {
  const file = join(path, ".git", name);
  writeFileSync(file, "");
  if (when === "before") utimesSync(file, 1_000_000_000, 1_000_000_000);
  return file;
}

/** Commits a page with a line, and gives the hash. */
function commit(tree: string, content: string): string {
  writeFileSync(join(tree, "page"), `${content}\n`);
  git(tree, "add", ".");
  git(tree, "commit", "-qm", content);
  return git(tree, "rev-parse", "HEAD");
}

const here = hasPrograms("clones on this machine", "git", "rm");

describe.skipIf(!here)("on this machine", () => {
  const base = mkdtempSync(join(tmpdir(), "fleetwright-git-"));
  afterAll(() => rmSync(base, { recursive: true }));
  /** A bare repository with a tag v1 and a branch main after it, and the tree it is pushed from. */
  function makeRepository(name: string): { url: string; tree: string } {
    const [bare, tree] = [join(base, `${name}.git`), join(base, name)];
    mkdirSync(tree);
    git(base, "init", "-q", "--bare", bare);
    git(base, "init", "-q", tree);
    writeFileSync(join(tree, "page"), "one\n");
    writeFileSync(join(tree, "old"), "old\n");
    git(tree, "add", ".");
    git(tree, "commit", "-qm", "one");
    git(tree, "tag", "-a", "v1", "-m", "v1");
    git(tree, "rm", "-q", "old");
    commit(tree, "two");
    git(tree, "push", "-q", "--tags", bare, "main");
    return { url: `file://${bare}`, tree };
  }

  // Also a group that is skipped is collected.
  describeLaws(here ? subjects(makeRepository("laws").url, "v1") : {}, { "on this machine": localHost });

  test("a branch is followed, a tag and a commit are stayed at, as git itself says", async () => {
    const { url, tree } = makeRepository("follow");
    const { path, run } = cloneOf(url);
    expect(await run({ revision: "main" })).toMatchObject({ outcome: "changed", action: "create" });
    expect(git(path, "rev-parse", "HEAD")).toBe(git(tree, "rev-parse", "main"));
    expect(git(path, "status", "--porcelain")).toBe("");
    expect((await run({ revision: "main" }))?.outcome).toBe("unchanged");
    const before = git(tree, "rev-parse", "main");
    const after = commit(tree, "three");
    git(tree, "push", "-q", url.slice(7), "main");
    expect((await run({ revision: "main" }))?.changes).toEqual([{ property: "revision", before, after }]);
    expect(git(path, "rev-parse", "HEAD")).toBe(after);
    expect((await run({ revision: "v1" }))?.outcome).toBe("changed");
    expect(git(path, "rev-parse", "HEAD")).toBe(git(tree, "rev-parse", "v1^{commit}"));
    expect((await run({ revision: before }))?.outcome).toBe("changed");
    expect(readFileSync(join(path, "page"), "utf8")).toBe("two\n");
    expect((await run(null))?.outcome).toBe("changed");
    expect(existsSync(path)).toBe(false);
  });

  test("a depth fetches no more history than it says, also for a commit", async () => {
    const { url, tree } = makeRepository("shallow");
    for (const revision of ["main", "v1", git(tree, "rev-parse", "main")]) {
      const { path, run } = cloneOf(url);
      expect((await run({ revision, depth: 1 }))?.outcome).toBe("changed");
      expect(git(path, "rev-list", "--count", "HEAD")).toBe("1");
    }
  });

  test("changed files are kept without force, whatever is wanted", async () => {
    const { url } = makeRepository("dirty");
    const { path, run } = cloneOf(url);
    await run({ revision: "v1" });
    writeFileSync(join(path, "page"), "mine\n");
    expect((await run({ revision: "v1" }))?.outcome).toBe("unchanged");
    const message = `${path} holds changed files, which only force overwrites.`;
    expect(await run({ revision: "main" })).toMatchObject({ code: "HOST_ERROR", message });
    expect(readFileSync(join(path, "page"), "utf8")).toBe("mine\n");
    const forced = await run({ revision: "v1", force: true });
    expect(forced?.changes).toEqual([{ property: "changed_files", before: 1, after: 0 }]);
    expect(readFileSync(join(path, "page"), "utf8")).toBe("one\n");
  });

  test("a clone with files that nobody knows of is not removed", async () => {
    const { url } = makeRepository("precious");
    const { path, run } = cloneOf(url);
    await run({});
    writeFileSync(join(path, "upload"), "precious");
    const message = `${path} holds new or changed files, which only force deletes.`;
    expect(await run(null)).toMatchObject({ code: "HOST_ERROR", message });
    expect(readdirSync(path).sort()).toEqual([".git", "page", "upload"]);
  });

  test.each([
    [false, true, "changed"],
    [true, false, "failed"],
  ])(
    "whether a removal deletes changed files says the last version (%s, then %s)",
    async (first, last, outcome) => {
      const { url } = makeRepository(`forced-${first}`);
      const { path, run } = cloneOf(url);
      await run({ force: first });
      await run({ force: last });
      writeFileSync(join(path, "upload"), "precious");
      expect((await run(null))?.outcome).toBe(outcome);
      expect(existsSync(join(path, "upload"))).toBe(!last);
    },
  );

  test("a remote with more addresses and branches than one is taken over, and its branches stay", async () => {
    const { url } = makeRepository("remotes");
    const { path, run } = cloneOf(url);
    await run({ revision: "v1" });
    const more = "+refs/pull/*/head:refs/remotes/origin/pull/*";
    git(path, "config", "--add", "remote.origin.fetch", more);
    git(path, "config", "--add", "remote.origin.url", "/nowhere");
    expect((await run({ revision: "main" }))?.outcome).toBe("changed");
    expect(git(path, "config", "--get-all", "remote.origin.url")).toBe(url);
    expect(git(path, "config", "--get-all", "remote.origin.fetch")).toContain(more);
  });

  test("no hook is run", async () => {
    const { url, tree } = makeRepository("hooks");
    const { path, folder, run } = cloneOf(url);
    await run({ revision: "v1" });
    const hook = join(path, ".git/hooks/post-checkout");
    mkdirSync(join(path, ".git/hooks"), { recursive: true });
    writeFileSync(hook, `#!/bin/sh\ntouch ${join(folder, "hooked")}\n`, { mode: 0o755 });
    git(path, "checkout", "-q", "--detach");
    expect(existsSync(join(folder, "hooked"))).toBe(true);
    rmSync(join(folder, "hooked"));
    expect((await run({ revision: git(tree, "rev-parse", "main") }))?.outcome).toBe("changed");
    expect(existsSync(join(folder, "hooked"))).toBe(false);
  });

  test("what an interrupted try left is finished", async () => {
    const { url } = makeRepository("begun");
    for (const leave of [
      (path: string) => mkdirSync(join(path, ".git/objects"), { recursive: true }),
      (path: string) => (mkdirSync(path), git(path, "init", "-q")),
      // As a power loss may leave it.
      (path: string) => (mkdirSync(path), git(path, "init", "-q"), lock(path, "HEAD", "before")),
    ]) {
      const { path, run } = cloneOf(url);
      leave(path);
      expect((await run({}))?.outcome).toBe("changed");
      expect(git(path, "status", "--porcelain")).toBe("");
    }
  });

  test("locks that a power loss left are in the way of neither a change nor a removal", async () => {
    const { url } = makeRepository("locked");
    const { path, run } = cloneOf(url);
    await run({ revision: "v1" });
    for (const name of ["index.lock", "HEAD.lock", "config.lock", "shallow.lock"]) lock(path, name, "before");
    expect(await run({})).toMatchObject({ outcome: "changed" });
    expect(readFileSync(join(path, "page"), "utf8")).toBe("two\n");
    lock(path, "config.lock", "before");
    expect((await run(null))?.outcome).toBe("changed");
    expect(existsSync(path)).toBe(false);
    await run({});
    rmSync(join(path, "page"));
    lock(path, "HEAD", "before");
    expect((await run(null))?.outcome).toBe("changed");
    expect(existsSync(path)).toBe(false);
  });

  test("a lock that was made since the machine started is somebody's", async () => {
    const { url } = makeRepository("busy");
    const { path, run } = cloneOf(url);
    await run({ revision: "v1" });
    const held = lock(path, "index.lock", "now");
    expect(await run({})).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
    expect(existsSync(held)).toBe(true);
  });

  test("an interrupted removal is finished, though the files that are gone look changed", async () => {
    const { url } = makeRepository("leaving");
    const { path, run } = cloneOf(url);
    await run({});
    git(path, "config", "fleetwright.removing", "true");
    rmSync(join(path, "page"));
    expect((await run(null))?.outcome).toBe("changed");
    expect(existsSync(path)).toBe(false);
  });

  test("a folder with something else in it is left alone, and the repository above it too", async () => {
    const { url } = makeRepository("other");
    const { path, folder, run } = cloneOf(url);
    git(folder, "init", "-q");
    mkdirSync(path);
    writeFileSync(join(path, "theirs"), "");
    expect(await run({})).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    mkdirSync(join(path, ".git"));
    writeFileSync(join(path, ".git/HEAD"), "nonsense");
    expect(await run({})).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(readdirSync(path).sort()).toEqual([".git", "theirs"]);
  });

  test("a revision that is not there, and a repository that is not, are said", async () => {
    const { url } = makeRepository("missing");
    const { run } = cloneOf(url);
    expect((await run({ revision: "none" }))?.message).toContain('has no branch or tag "none"');
    const nowhere = await cloneOf(`${url}.not`).run({});
    expect(nowhere).toMatchObject({ code: "COMMAND_FAILED", exit_code: 128 });
  });

  test("submodules are brought to what is recorded, and found when they are elsewhere", async () => {
    const inner = makeRepository("inner");
    const outer = makeRepository("outer");
    const allow = ["-c", "protocol.file.allow=always"];
    git(outer.tree, ...allow, "submodule", "add", "-q", inner.url, "sub");
    commit(outer.tree, "with a submodule");
    git(outer.tree, "push", "-q", outer.url.slice(7), "main");
    const { path, run } = cloneOf(outer.url);
    // Git itself refuses a submodule from a path of the machine; so does the resource, unless the machine allows it.
    expect(await run({ submodules: true })).toMatchObject({ code: "COMMAND_FAILED" });
    git(path, ...allow, "submodule", "--quiet", "update", "--init");
    expect((await run({ submodules: true }))?.outcome).toBe("changed");
    expect((await run({ submodules: true }))?.outcome).toBe("unchanged");
    git(join(path, "sub"), "checkout", "-q", "v1");
    expect((await run({ submodules: true, force: true }))?.changes).toContainEqual({
      property: "submodules",
      before: "1 differ",
      after: "as recorded",
    });
    expect(git(path, "submodule", "status")).toMatch(/^[0-9a-f]{40} sub/);
  });
});
