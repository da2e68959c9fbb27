/** A checkout that is cut in the middle is told, and finished by whatever comes next. */
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cutClone, look, makeRepository, put, repository, sized, starts } from "../../support/cut-clone.ts";
import { cloneOf, git } from "../../support/git-clone.ts";
import { hasPrograms } from "../../support/programs.ts";

const hasGit = hasPrograms("git");
if (!hasGit) console.warn("Skipped: interrupted checkouts: there is no git.");

// Blocks of a file that fit on the disk: not even the index, and then all but one or two of the big files.
const limits = [1, 2, 8];
const cuts = starts.flatMap((start) => limits.map((blocks) => [start, blocks] as const));

describe.runIf(hasGit)("a checkout that found no space", () => {
  test.each(cuts)("from %s, at %i blocks, is told and finished", async (start, blocks) => {
    const { path, run, plan, two, failed } = await cutClone(start, blocks);
    expect(failed).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
    if (blocks > 1) expect(failed?.message).toContain("error: unable to write file");
    expect(await plan({ revision: two })).toMatchObject({ outcome: "would_change" });
    expect(await run({ revision: two })).toMatchObject({ outcome: "changed" });
    expect(look(path)).toEqual([two, "", ""]);
    expect(readFileSync(join(path, "z-bigger"), "utf8")).toBe(sized("2", 7));
    expect(await run({ revision: two })).toMatchObject({ outcome: "unchanged" });
    expect(await run(null)).toMatchObject({ outcome: "changed" });
    expect(existsSync(path)).toBe(false);
  });

  test.each(cuts)("from %s, at %i blocks, gives way to another commit", async (start, blocks) => {
    const { path, run, one, two, three } = await cutClone(start, blocks);
    expect(await run({ revision: three })).toMatchObject({ outcome: "changed" });
    expect(look(path)).toEqual([three, "", ""]);
    for (const revision of [one, two]) {
      expect(await run({ revision })).toMatchObject({ outcome: "changed" });
      expect(look(path)).toEqual([revision, "", ""]);
    }
  });

  test.each(cuts)("from %s, at %i blocks, gives way to what was there before", async (start, blocks) => {
    const { path, run, one } = await cutClone(start, blocks);
    expect(await run({ revision: one })).toMatchObject({ outcome: "changed" });
    expect(look(path)).toEqual([one, "", ""]);
  });

  test.each(starts)("from %s, is removed", async (start) => {
    const { path, run } = await cutClone(start);
    expect(await run(null)).toMatchObject({ outcome: "changed" });
    expect(existsSync(path)).toBe(false);
  });

  test.each(starts)("from %s, is cut again and again, by other commits too", async (start) => {
    const { path, run, limit, one, two, three } = await cutClone(start);
    for (const [revision, blocks] of [
      [three, 2],
      [two, 8],
      [one, 2],
      [two, 4],
    ] as const) {
      limit(blocks);
      expect(await run({ revision })).toMatchObject({ outcome: "failed" });
    }
    limit(null);
    expect(await run({ revision: three })).toMatchObject({ outcome: "changed" });
    expect(look(path)).toEqual([three, "", ""]);
  });

  test.each(starts)("from %s, with force, is told and finished the same", async (start) => {
    const { url, one, two } = repository();
    const { path, run, limit } = cloneOf(url);
    if (start === "one") await run({ revision: one });
    limit(4);
    expect(await run({ revision: two, force: true })).toMatchObject({ outcome: "failed" });
    put(path, "b big", "mine");
    limit(null);
    expect(await run({ revision: two, force: true })).toMatchObject({ outcome: "changed" });
    expect(look(path)).toEqual([two, "", ""]);
  });
});

describe.runIf(hasGit)("a checkout that a kill or a power loss has cut", () => {
  /** What git had done by then: some files, the index or not, and a lock from before the machine started. */
  const states: [string, (path: string, two: string) => void][] = [
    ["before the first file", () => {}],
    ["behind the first file", (path) => put(path, "a/small", "2")],
    ["amid a file", (path) => (put(path, "a/small", "2"), put(path, "b big", sized("2", 3).slice(1)))],
    ["amid a link", (path) => rmSync(join(path, "c-link"))],
    ["behind a link", (path) => put(path, "c-link", "->two")],
    ["behind what it takes away", (path) => rmSync(join(path, "gone"))],
    ["behind a new file", (path) => put(path, "new", "2")],
    ["behind an empty file", (path) => put(path, "z-bigger", "")],
    ["behind the index", (path, two) => void git(path, "read-tree", "-u", "--reset", two)],
    ["behind HEAD", (path, two) => void git(path, "checkout", "-q", "--detach", two)],
  ];

  test.each(states)("%s, is finished", async (_, leave) => {
    const { url, one, two } = repository();
    const { path, run } = cloneOf(url);
    await run({ revision: one });
    git(path, "config", "fleetwright.checkout", `${one} ${two}`);
    leave(path, two);
    const lock = join(path, ".git/index.lock");
    writeFileSync(lock, "");
    utimesSync(lock, 1, 1);
    expect(await run({ revision: two })).toMatchObject({ outcome: "changed" });
    expect(look(path)).toEqual([two, "", ""]);
  });

  test("behind the index of a commit that only takes away, gives way to what was there before", async () => {
    const own = makeRepository("less");
    git(own.path, "rm", "--quiet", "third");
    git(own.path, "commit", "--quiet", "-m", "less");
    const less = git(own.path, "rev-parse", "HEAD");
    for (const revision of [own.three, less, own.one]) {
      const { path, run } = cloneOf(own.url);
      await run({ revision: own.three });
      git(path, "config", "fleetwright.checkout", `${own.three} ${less}`);
      git(path, "read-tree", "-u", "--reset", less);
      expect(await run({ revision })).toMatchObject({ outcome: "changed" });
      expect(look(path)).toEqual([revision, "", ""]);
    }
  });
});
