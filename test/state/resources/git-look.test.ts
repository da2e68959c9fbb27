/** What git is asked about a clone that stands, and what is made of its answers. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeRepository } from "../../support/cut-clone.ts";
import { cloneOf, git } from "../../support/git-clone.ts";
import { hasPrograms } from "../../support/programs.ts";

const hasGit = hasPrograms("git");
if (!hasGit) console.warn("Skipped: looks at clones: there is no git.");

describe.runIf(hasGit)("a look at a clone", () => {
  test("takes the last of several addresses, as git does", async () => {
    const { url, one } = makeRepository("twice");
    const { path, run, plan } = cloneOf(url);
    await run({ revision: one });
    git(path, "config", "--add", "remote.origin.url", "https://elsewhere.example/\nsite.git");
    expect((await plan({ revision: one }))?.changes).toEqual([
      { property: "repository", before: "https://elsewhere.example/site.git", after: url },
    ]);
    git(path, "config", "--add", "remote.origin.url", url);
    expect((await plan({ revision: one }))?.outcome).toBe("unchanged");
  });

  test("reads the address of its own remote, and of none whose name begins or ends the same", async () => {
    const { url, one } = makeRepository("names");
    const { path, run, plan } = cloneOf(url);
    await run({ revision: one, remote: "up-2" });
    for (const name of ["up", "up-22", "UP-2", "x.up-2", "up-2.url"])
      git(path, "config", `remote.${name}.url`, "https://elsewhere.example/");
    expect((await plan({ revision: one, remote: "up-2" }))?.outcome).toBe("unchanged");
  });

  test("finds no commit in a clone that somebody has only begun, and has it checked out", async () => {
    const { url, one } = makeRepository("unborn");
    const { path, run, plan } = cloneOf(url);
    mkdirSync(path);
    git(path, "init", "--quiet");
    git(path, "remote", "add", "origin", url);
    expect((await plan({ revision: one }))?.changes).toEqual([
      expect.objectContaining({ property: "revision", before: null, after: one }),
    ]);
    expect(await run({ revision: one })).toMatchObject({ outcome: "changed" });
    expect(git(path, "rev-parse", "HEAD")).toBe(one);
  });

  test("takes no file for the commit that is checked out", async () => {
    const { url, one } = makeRepository("named");
    const { path, run, plan } = cloneOf(url);
    mkdirSync(path);
    git(path, "init", "--quiet");
    git(path, "remote", "add", "origin", url);
    for (const name of [one, "HEAD^{commit}"]) writeFileSync(join(path, name), "");
    expect((await plan({ revision: one }))?.changes).toEqual([
      expect.objectContaining({ property: "revision", before: null, after: one }),
    ]);
    await run({ revision: one });
    expect(git(path, "rev-parse", "HEAD")).toBe(one);
  });

  test("says of a clone that git can't read what git says, and leaves it alone", async () => {
    const { url, one } = makeRepository("unread");
    const { path, folder, run } = cloneOf(url);
    await run({ revision: one });
    const config = join(path, ".git/config");
    const before = readFileSync(config, "utf8");
    writeFileSync(config, "[core\n");
    expect(await run({ revision: one })).toMatchObject({
      code: "COMMAND_FAILED",
      message: expect.stringContaining("bad config line 1"),
    });
    writeFileSync(config, before);
    const head = join(path, ".git/HEAD");
    writeFileSync(head, "no commit of any kind\n");
    expect(await run({ revision: one })).toMatchObject({
      code: "COMMAND_FAILED",
      message: expect.stringContaining("not a git repository"),
    });
    // What is above has nothing to do with it.
    git(folder, "init", "--quiet");
    expect(await run({ revision: one })).toMatchObject({
      code: "HOST_ERROR",
      message: `${path} holds a clone that git can't read.`,
    });
    expect(readFileSync(head, "utf8")).toBe("no commit of any kind\n");
  });
});
