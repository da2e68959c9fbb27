/** A clone in which somebody made commits that its repository has not is theirs: it goes with `force` alone. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cloneOf, git } from "../../support/git-clone.ts";
import { hasPrograms } from "../../support/programs.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const hasGit = hasPrograms("git");
if (!hasGit) console.warn("Skipped: commits that only a clone has: there is no git.");

/** A repository with a branch of two commits, the first of which has a tag; its address has the scheme that shallow clones need. */
function repository() {
  const path = join(temporaryFolder(), "site");
  mkdirSync(path);
  git(path, "init", "--quiet");
  const commit = (content: string): string => {
    writeFileSync(join(path, "page"), content);
    git(path, "add", "page");
    git(path, "commit", "--quiet", "-m", content);
    return git(path, "rev-parse", "HEAD");
  };
  const first = commit("one");
  git(path, "tag", "v1");
  const second = commit("two");
  git(path, "config", "receive.denyCurrentBranch", "ignore");
  git(path, "config", "uploadpack.allowAnySHA1InWant", "true");
  return { url: `file://${path}`, commit, first, second };
}

function commitIn(clone: string): void {
  writeFileSync(join(clone, "page"), "mine");
  git(clone, "commit", "--quiet", "-a", "-m", "mine");
}

describe.runIf(hasGit)("a clone that is no longer wanted", () => {
  test.each<[string, (clone: string) => void]>([
    ["on a branch of its own", (clone) => (git(clone, "switch", "-q", "-c", "own"), commitIn(clone))],
    [
      "on a branch that was left again",
      (clone) => {
        git(clone, "switch", "-q", "-c", "own");
        commitIn(clone);
        git(clone, "checkout", "-q", "--detach", "origin/main");
      },
    ],
    ["where it stands", (clone) => commitIn(clone)],
    [
      "where it stands, which somebody left and came back to",
      (clone) => {
        commitIn(clone);
        const own = git(clone, "rev-parse", "HEAD");
        git(clone, "checkout", "-q", "--detach", "origin/main");
        git(clone, "checkout", "-q", own);
        git(clone, "reset", "-q", "--hard");
      },
    ],
    ["in a stash", (clone) => (writeFileSync(join(clone, "page"), "mine"), void git(clone, "stash", "-q"))],
    ["as a note", (clone) => void git(clone, "notes", "add", "-m", "seen")],
  ])("stays with a commit %s, until that is given away, or with force", async (_, make) => {
    const clone = cloneOf(repository().url);
    expect(await clone.run({})).toMatchObject({ outcome: "changed" });
    make(clone.path);
    const refused = await clone.run(null);
    expect(refused).toMatchObject({
      outcome: "failed",
      code: "HOST_ERROR",
      message: expect.stringContaining("holds commits that its repository has not"),
    });
    expect(existsSync(join(clone.path, "page"))).toBe(true);
    git(clone.path, "checkout", "-q", "--detach", "origin/main");
    await clone.run({ force: true });
    expect(await clone.run(null)).toMatchObject({ outcome: "changed" });
    expect(existsSync(clone.path)).toBe(false);
  });

  test("goes once its own commits are in the repository", async () => {
    const clone = cloneOf(repository().url);
    await clone.run({});
    git(clone.path, "switch", "-q", "-c", "own");
    commitIn(clone.path);
    expect(await clone.run(null)).toMatchObject({ outcome: "failed" });
    git(clone.path, "push", "-q", "origin", "own");
    expect(await clone.run(null)).toMatchObject({ outcome: "changed" });
    expect(existsSync(clone.path)).toBe(false);
  });

  const ways = ["main", "v1", "HEAD", "a hash"].flatMap((revision) =>
    [undefined, 1].map((depth) => [revision, depth] as const),
  );
  test.each(ways)("goes where all in it came from the repository: %s, depth %s", async (revision, depth) => {
    const { url, commit, first } = repository();
    const shallow = depth === undefined ? {} : { depth };
    const clone = cloneOf(url);
    await clone.run({ ...shallow, revision: "v1" });
    if (depth === undefined) git(clone.path, "branch", "at-the-tag", "origin/main", "--no-track");
    await clone.run({ ...shallow, revision: revision === "a hash" ? first : revision });
    const third = commit("three");
    // A shallow clone has no branch of its remote then, and no tag: what it stands at is on none.
    if (depth === undefined) git(clone.path, "fetch", "-q");
    await clone.run({ ...shallow, revision: revision === "a hash" ? third : revision });
    // Somebody changed a file and undid that, and went back to a commit that was there before.
    writeFileSync(join(clone.path, "page"), "mine");
    git(clone.path, "stash", "-q");
    git(clone.path, "stash", "drop", "-q");
    git(clone.path, "reset", "-q", "--hard", first);
    expect(await clone.run(null)).toMatchObject({ outcome: "changed" });
    expect(existsSync(clone.path)).toBe(false);
  });
});

test.runIf(hasGit)("a file that nobody committed and that a commit has is named", async () => {
  const { url } = repository();
  const clone = cloneOf(url);
  await clone.run({ revision: "v1" });
  const upstream = url.slice("file://".length);
  for (const name of ["a", "b", "c"]) writeFileSync(join(upstream, name), "theirs");
  git(upstream, "add", ".");
  git(upstream, "commit", "--quiet", "-m", "more");
  for (const name of ["a", "b", "c"]) writeFileSync(join(clone.path, name), "mine");
  const result = await clone.run({ revision: "main" });
  expect(result).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
  expect(result?.message).toMatch(
    /error: The following untracked working tree files would be overwritten by checkout: \| c \|/,
  );
});
