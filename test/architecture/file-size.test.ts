import { describe, expect, it } from "vitest";
import { sourceFiles } from "./source-tree.ts";

const sourceLimit = 300;
const testLimit = 400;

/** Files that may be longer, each with its reason. One that is short again, or gone, must leave the list. */
const exceptions: Record<string, string> = {
  "adapters/client/routed-verbs.ts": "generated: the verbs of every feature, which are read one at a time",
};

const files = sourceFiles("lib", "adapters", "examples", "test");
const limitOf = (path: string): number => (path.startsWith("test/") ? testLimit : sourceLimit);

describe("the size of files", () => {
  it(`stays within ${sourceLimit} lines for a source and ${testLimit} for a test, so that one can be read at a sitting`, () => {
    const long = files.filter((file) => file.lines > limitOf(file.path) && !(file.path in exceptions));
    expect(long.map((file) => `${file.path}: ${file.lines} lines`)).toEqual([]);
  });

  it("has no exception that is not needed any more", () => {
    const needed = new Set(files.filter((file) => file.lines > limitOf(file.path)).map((file) => file.path));
    expect(Object.keys(exceptions).filter((path) => !needed.has(path))).toEqual([]);
  });

  it("has no folder of scraps: a reader would open ten files to read one thought", () => {
    const sources = files.filter((file) => !file.path.startsWith("test/"));
    const folderOf = (path: string): string => path.slice(0, path.lastIndexOf("/"));
    const folders = [...new Set(sources.map((file) => folderOf(file.path)))];
    const scraps = folders.filter((folder) => {
      const inside = sources.filter((file) => folderOf(file.path) === folder);
      return inside.length > 2 && inside.every((file) => file.lines < 15);
    });
    expect(scraps).toEqual([]);
  });
});
