/** A checkout that is cut in the middle: what it had brought is git's own, and what others do meanwhile is theirs. */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { cloneOf, git } from "../../support/git-clone.ts";
import { hasPrograms } from "../../support/programs.ts";

const hasGit = hasPrograms("git");
if (!hasGit) console.warn("Skipped: interrupted checkouts: there is no git.");

type Tree = Record<string, string | null>;

const block = 1024;
const sized = (letter: string, blocks: number): string => letter.repeat(blocks * block);

/** Names in the order in which git writes them, and sizes that no limit but the highest lets through. */
const trees: Tree[] = [
  {
    "a/small": "1",
    "b big": sized("1", 3),
    "c-link": "->one",
    "d/e/small": "1",
    gone: "1",
    same: "1",
    turns: "1",
  },
  {
    "a/small": "2",
    "b big": sized("2", 5),
    "c-link": "->two",
    "d/e/small": "2",
    gone: null,
    new: "2",
    "z-bigger": sized("2", 7),
  },
  {
    "a/small": "3",
    "b big": sized("3", 2),
    new: null,
    "z-bigger": null,
    turns: null,
    "turns/in": "3",
    third: "3",
  },
];

const folder = mkdtempSync(join(tmpdir(), "fleetwright-interrupted-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let made: ReturnType<typeof makeRepository> | undefined;
/** Nobody changes it, so one does for all. */
const repository = (): ReturnType<typeof makeRepository> => (made ??= makeRepository("site"));

/** A repository whose commits hold the trees after one another. */
function makeRepository(name: string) {
  const path = join(folder, name);
  mkdirSync(path);
  git(path, "init", "--quiet");
  const commits = trees.map((tree) => {
    for (const [name, content] of Object.entries(tree)) if (content === null) rmSync(join(path, name));
    for (const [name, content] of Object.entries(tree)) if (content !== null) put(path, name, content);
    git(path, "add", "--all");
    git(path, "commit", "--quiet", "-m", "next");
    return git(path, "rev-parse", "HEAD");
  });
  const [one = "", two = "", three = ""] = commits;
  return { path, url: `file://${path}`, one, two, three };
}

function put(folder: string, name: string, content: string): void {
  const at = join(folder, name);
  mkdirSync(dirname(at), { recursive: true });
  rmSync(at, { force: true });
  if (content.startsWith("->")) symlinkSync(content.slice(2), at);
  else writeFileSync(at, content);
}

const noteOf = (path: string): string =>
  git(path, "config", "--default", "", "--get", "fleetwright.checkout");
/** What is checked out, what differs from it, and whether an interruption is still noted. */
const look = (path: string): string[] => [
  git(path, "rev-parse", "HEAD"),
  git(path, "status", "--porcelain", "--untracked-files=all", "--ignored"),
  noteOf(path),
];

/** A clone of the first commit whose checkout of the second one ended within its big files. */
async function cutClone(start: "empty" | "one", blocks = 4, own?: ReturnType<typeof makeRepository>) {
  const { path: origin, ...from } = own ?? repository();
  const clone = cloneOf(from.url);
  if (start === "one") await clone.run({ revision: from.one });
  clone.limit(blocks);
  const failed = await clone.run({ revision: from.two });
  clone.limit(null);
  return { origin, ...from, ...clone, failed };
}

// Blocks of a file that fit on the disk: not even the index, and then all but one or two of the big files.
const limits = [1, 2, 8];
const starts = ["empty", "one"] as const;
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
});

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
    const { path, run, plan, two } = await cutClone(start);
    rmSync(join(path, name.split("/")[0] ?? ""), { recursive: true, force: true });
    put(path, name, content);
    const refused = { outcome: "failed", code: "HOST_ERROR" };
    expect(await plan({ revision: two })).toMatchObject(refused);
    expect(await run({ revision: two })).toMatchObject(refused);
    expect(await run(null)).toMatchObject(refused);
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
    const { path, run, three } = await cutClone(start);
    put(path, "third", "mine");
    expect(await run({ revision: three })).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(contentOf(path, "third")).toBe("mine");
  });

  test.each(starts)("from %s: so is one where a commit that is yet to be fetched has it", async (start) => {
    const { path, run, plan, origin } = await cutClone(start, 4, makeRepository(`fetched-${start}`));
    put(origin, "later", "4");
    git(origin, "add", "--all");
    git(origin, "commit", "--quiet", "-m", "later");
    put(path, "later", "mine");
    // Nothing is fetched for a plan.
    expect(await plan({})).toMatchObject({ outcome: "would_change" });
    expect(await run({})).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
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

  test("is told and finished", async () => {
    const { path, run, failed, second, sub, wanted } = await cutSubmodule();
    expect(failed).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED" });
    expect(await run({ revision: second, submodules: true })).toMatchObject({ outcome: "changed" });
    expect([look(path), look(sub)]).toEqual([
      [second, "", ""],
      [wanted, "", ""],
    ]);
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

function contentOf(folder: string, name: string): string {
  const at = join(folder, name);
  return lstatSync(at).isSymbolicLink() ? `->${readlinkSync(at)}` : readFileSync(at, "utf8");
}
