/** A power loss can leave the file empty that says which commit a clone is at: no git finds a repository there. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cloneOf, git } from "../../support/git-clone.ts";
import { hasPrograms } from "../../support/programs.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A repository with two commits, the first of them tagged v1. */
function makeRepository(): string {
  const tree = join(temporaryFolder(), "tree");
  mkdirSync(tree);
  git(tree, "init", "-q");
  for (const content of ["one", "two"]) {
    writeFileSync(join(tree, "page"), `${content}\n`);
    git(tree, "add", ".");
    git(tree, "commit", "-qm", content);
  }
  git(tree, "tag", "v1", "HEAD~1");
  return `file://${tree}`;
}

test.skipIf(!hasPrograms("clones on this machine", "git", "rm"))(
  "a clone with files and an empty HEAD is left alone, and goes on with what the message tells",
  async () => {
    const { path, run } = cloneOf(makeRepository());
    await run({ revision: "v1" });
    writeFileSync(join(path, "mine"), "");
    writeFileSync(join(path, ".git/HEAD"), "");
    for (const definition of [{}, { force: true }, null]) {
      const { code, message } = (await run(definition))!;
      expect(code).toBe("HOST_ERROR");
      expect(message).toContain("whose .git/HEAD is empty");
    }
    expect(readdirSync(path).toSorted()).toEqual([".git", "mine", "page"]);
    const [, hash] = readFileSync(join(path, ".git/logs/HEAD"), "utf8").trim().split("\n").at(-1)!.split(" ");
    writeFileSync(join(path, ".git/HEAD"), `${hash}\n`);
    expect((await run({}))?.outcome).toBe("changed");
    expect(readFileSync(join(path, "page"), "utf8")).toBe("two\n");
    expect(git(path, "status", "--porcelain")).toBe("?? mine");
  },
);
