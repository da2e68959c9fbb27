/** What others do in a clone whose checkout was cut is theirs. */
import { chmodSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  contentOf,
  cutClone,
  folder,
  killedClone,
  look,
  makeRepository,
  noteOf,
  put,
  repository,
  sized,
  starts,
} from "../../support/cut-clone.ts";
import { cloneOf, git } from "../../support/git-clone.ts";
import { hasPrograms } from "../../support/programs.ts";

const hasGit = hasPrograms("git");
if (!hasGit) console.warn("Skipped: interrupted checkouts: there is no git.");

describe.runIf(hasGit)("what others do in a clone whose checkout was cut", () => {
  type Edit = [what: string, name: string, content: string];
  const edits: Edit[] = [
    ["a file that had been written", "a/small", "mine"],
    ["a file that was cut", "b big", "mine"],
    ["the end of a file that was cut", "b big", `${sized("2", 1)}mine`],
    ["a file that was yet to come", "z-bigger", "mine"],
    ["a file that no commit changes", "same", "mine"],
    ["a link", "c-link", "->mine"],
    ["a link in the place of a file", "a/small", "->two"],
    ["a file in the place of a link", "c-link", "two"],
    ["a new file", "new", "mine"],
    ["a file in the place of a folder", "d", "mine"],
    ["a file in the place of what is a file", "z-bigger/mine", "mine"],
    ["names that git quotes", "a/small", "m\u00ednë"],
  ];
  const cases = edits.map((edit, index) => [starts[index % 2] ?? "one", ...edit] as const);

  test.each(cases)("from %s: %s stays theirs without force", async (start, _what, name, content) => {
    const { path, run, two } = await killedClone(start);
    rmSync(join(path, name.split("/")[0] ?? ""), { recursive: true, force: true });
    put(path, name, content);
    expect(await run({ revision: two })).toMatchObject({ outcome: "failed" });
    expect(await run(null)).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(contentOf(path, name)).toBe(content);
    expect(await run({ revision: two, force: true })).toMatchObject({ outcome: "changed" });
    expect(look(path)).toEqual([two, "", ""]);
  });

  test.each(starts)("from %s: a new file beside stays, and holds up the removal alone", async (start) => {
    const { path, run, two } = await cutClone(start);
    const names = ["mine", "a/mine \u00fc\n", "-mine", "d/e/mine/in"];
    for (const name of names) put(path, name, "mine");
    expect(await run(null)).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(await run({ revision: two })).toMatchObject({ outcome: "changed" });
    for (const name of names) expect(contentOf(path, name)).toBe("mine");
    expect([git(path, "rev-parse", "HEAD"), git(path, "diff", "HEAD"), noteOf(path)]).toEqual([two, "", ""]);
  });

  test.each(starts)("from %s: a new file where another commit has one is in its way", async (start) => {
    const { path, run, three } = await killedClone(start);
    put(path, "third", "mine");
    expect(await run({ revision: three })).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
    expect(contentOf(path, "third")).toBe("mine");
  });

  test.each(starts)("from %s: so is one where a commit that is yet to be fetched has it", async (start) => {
    const { path, run, plan, origin } = await killedClone(start, 4, makeRepository(`fetched-${start}`));
    put(origin, "later", "4");
    git(origin, "add", "--all");
    git(origin, "commit", "--quiet", "-m", "later");
    put(path, "later", "mine");
    // Nothing is fetched for a plan.
    expect(await plan({})).toMatchObject({ outcome: "would_change" });
    expect(await run({})).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
    expect(contentOf(path, "later")).toBe("mine");
  });

  test("another checkout by hand ends it: what is changed there is theirs", async () => {
    const { path, run, one, three } = await cutClone("one");
    git(path, "checkout", "-q", "--force", three);
    put(path, "a/small", "");
    expect(await run({ revision: one })).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(contentOf(path, "a/small")).toBe("");
  });
});

describe.runIf(hasGit)("what git itself would leave alone", () => {
  const hidden: [what: string, name: string, hide: (path: string, name: string) => void, content: string][] =
    [
      [
        "a file that git was told not to look at",
        "same",
        (path, name) => void git(path, "update-index", "--assume-unchanged", name),
        "mine",
      ],
      [
        "a file that git was told to leave out",
        "same",
        (path, name) => void git(path, "update-index", "--skip-worktree", name),
        "mine",
      ],
      ["an ignored file", "mine.log", (path) => put(path, ".git/info/exclude", "*.log\n"), "mine"],
      ["the right to run a file", "a/small", () => {}, "2"],
    ];

  test.each(hidden)("stays when a checkout that was cut is finished: %s", async (_, name, hide, content) => {
    const { path, run, two, three } = await cutClone("one");
    hide(path, name);
    put(path, name, content);
    chmodSync(join(path, name), 0o755);
    for (const revision of [two, three]) {
      await run({ revision });
      expect([contentOf(path, name), statSync(join(path, name)).mode & 0o777]).toEqual([content, 0o755]);
    }
  });

  test("a file stays that is another commit's by its content, where HEAD has moved", async () => {
    const { path, run, two } = await cutClone("one");
    put(path, "a/small", "1");
    await run({ revision: two });
    expect(contentOf(path, "a/small")).toBe("1");
  });

  test("a note of somebody's own making is none", async () => {
    const { path, run, one } = await cutClone("one");
    await run({ revision: one });
    const hash = (n: number): string => n.toString(16).padStart(40, "0");
    for (const note of [
      "--help",
      `${one} --help`,
      [one, ...Array.from({ length: 1_500 }, (_, n) => hash(n))].join(" "),
    ]) {
      git(path, "config", "--replace-all", "fleetwright.checkout", note);
      git(path, "config", "--add", "fleetwright.checkout", note);
      expect(await run({ revision: one })).toMatchObject({ outcome: "unchanged" });
    }
  });

  test("what a filter of the repository says is no failure", async () => {
    const own = makeRepository("filtered");
    put(own.path, ".gitattributes", "* filter=loud\n");
    git(own.path, "add", "--all");
    git(own.path, "commit", "--quiet", "-m", "filtered");
    const { path, run } = cloneOf(own.url);
    await run({ revision: own.one });
    git(path, "config", "filter.loud.smudge", "echo 'error: all is well' >&2; cat");
    expect(await run({})).toMatchObject({ outcome: "changed" });
  });
});

describe.runIf(hasGit)("a checkout of submodules that found no space", () => {
  const allow = ["-c", "protocol.file.allow=always"];

  /** A clone whose submodule is at the first commit, while that of the second, with big files, is wanted and was cut. */
  async function cutSubmodule() {
    const inner = repository();
    const outer = mkdtempSync(join(folder, "outer-"));
    git(outer, "init", "--quiet");
    git(outer, ...allow, "submodule", "add", "--quiet", inner.url, "sub");
    const at = (commit: string): string => {
      git(join(outer, "sub"), "checkout", "--quiet", commit);
      git(outer, "commit", "--quiet", "--all", "-m", "next");
      return git(outer, "rev-parse", "HEAD");
    };
    const [first, second] = [at(inner.one), at(inner.two)];
    const clone = cloneOf(`file://${outer}`);
    await clone.run({ revision: first });
    git(clone.path, ...allow, "submodule", "--quiet", "update", "--init");
    clone.limit(4);
    const failed = await clone.run({ revision: second, submodules: true });
    clone.limit(null);
    return { ...clone, second, failed, sub: join(clone.path, "sub"), wanted: inner.two };
  }

  test("is told until force overwrites it, whose files there may be anybody's", async () => {
    const { path, run, failed, second, sub, wanted } = await cutSubmodule();
    expect(failed).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
    const wanting = { revision: second, submodules: true };
    for (let n = 0; n < 2; n += 1) expect(await run(wanting)).toMatchObject({ outcome: "failed" });
    expect(await run({ ...wanting, force: true })).toMatchObject({ outcome: "changed" });
    expect([look(path), look(sub)]).toEqual([
      [second, "", ""],
      [wanted, "", ""],
    ]);
  });

  test("goes with its clone only without commits of somebody's", async () => {
    const { run, sub } = await cutSubmodule();
    git(sub, "checkout", "--quiet", "--force", "-b", "mine");
    git(sub, "commit", "--quiet", "--allow-empty", "-m", "mine");
    expect(await run(null)).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(existsSync(sub)).toBe(true);
  });

  test("leaves there what is somebody's", async () => {
    const { run, second, sub } = await cutSubmodule();
    put(sub, "b big", "mine");
    expect(await run({ revision: second, submodules: true })).toMatchObject({ code: "HOST_ERROR" });
    expect(contentOf(sub, "b big")).toBe("mine");
    const forced = { revision: second, submodules: true, force: true };
    expect(await run(forced)).toMatchObject({ outcome: "changed" });
    expect(look(sub)[1]).toBe("");
  });
});
