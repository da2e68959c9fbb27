/** Clones of a repository of three commits whose checkout was cut in the middle. */
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { cloneOf, git } from "./git-clone.ts";

type Tree = Record<string, string | null>;

export const block = 1024;
export const sized = (letter: string, blocks: number): string => letter.repeat(blocks * block);

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

/** For all files that one process runs: none of them is the last that it knows of. */
export const folder = mkdtempSync(join(tmpdir(), "fleetwright-interrupted-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

let made: ReturnType<typeof makeRepository> | undefined;
/** Nobody changes it, so one does for all. */
export const repository = (): ReturnType<typeof makeRepository> => (made ??= makeRepository("site"));

/** A repository whose commits hold the trees after one another. */
export function makeRepository(name: string) {
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

export function put(folder: string, name: string, content: string): void {
  const at = join(folder, name);
  mkdirSync(dirname(at), { recursive: true });
  rmSync(at, { force: true });
  if (content.startsWith("->")) symlinkSync(content.slice(2), at);
  else writeFileSync(at, content);
}

export const noteOf = (path: string): string =>
  git(path, "config", "--default", "", "--get", "fleetwright.checkout");
/** What is checked out, what differs from it, and whether an interruption is still noted. */
export const look = (path: string): string[] => [
  git(path, "rev-parse", "HEAD"),
  git(path, "status", "--porcelain", "--untracked-files=all", "--ignored"),
  noteOf(path),
];

/** A clone of the first commit whose checkout of the second one ended within its big files. */
export async function cutClone(start: "empty" | "one", blocks = 4, own?: ReturnType<typeof makeRepository>) {
  const { path: origin, ...from } = own ?? repository();
  const clone = cloneOf(from.url);
  if (start === "one") await clone.run({ revision: from.one });
  clone.limit(blocks);
  const failed = await clone.run({ revision: from.two });
  clone.limit(null);
  return { origin, ...from, ...clone, failed };
}

/** The same, killed before it wrote its index, so that HEAD is where it was. */
export async function killedClone(...args: Parameters<typeof cutClone>) {
  const cut = await cutClone(...args);
  const [start] = args;
  rmSync(join(cut.path, ".git/index"));
  if (start === "empty") writeFileSync(join(cut.path, ".git/HEAD"), "ref: refs/heads/main\n");
  else {
    git(cut.path, "update-ref", "--no-deref", "HEAD", cut.one);
    git(cut.path, "read-tree", "HEAD");
  }
  return cut;
}

/** How each cut clone began. */
export const starts = ["empty", "one"] as const;

/** The content of a file, or where a link leads. */
export function contentOf(folder: string, name: string): string {
  const at = join(folder, name);
  return lstatSync(at).isSymbolicLink() ? `->${readlinkSync(at)}` : readFileSync(at, "utf8");
}
