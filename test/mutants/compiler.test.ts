import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface Mutant {
  fileName: string;
  location: Record<"start" | "end", { line: number; column: number }>;
  replacement: string;
}
type Compiler = new () => { complaintAbout(mutant: Mutant): string | null };

const fileName = fileURLToPath(new URL("floors.ts", import.meta.url));

/** The mutant that has something else in the place of a text that stands in this folder's floors.ts. */
function mutantOf(original: string, replacement: string): Mutant {
  const before = readFileSync(fileName, "utf8").split(original)[0]!.split("\n");
  const start = { line: before.length - 1, column: before.at(-1)!.length };
  return {
    fileName,
    location: { start, end: { ...start, column: start.column + original.length } },
    replacement,
  };
}

test("a mutant that does not compile is told from one that does, in whatever order", async () => {
  const module = (await import(new URL("compiler.mjs", import.meta.url).href)) as { Compiler: Compiler };
  const compiler = new module.Compiler();
  const complaints = [
    mutantOf("floors[room]?.[sample]", "floors[room].[sample]"),
    mutantOf("reached < floor", "reached <= floor"),
    mutantOf("return reached >= floor", 'return ""'),
    mutantOf("floors[room]?.[sample] ?? 0", "floors[room]?.[sample] && 0"),
    mutantOf("score * 10", "score / 10"),
  ].map((mutant) => compiler.complaintAbout(mutant));
  expect(complaints).toEqual([
    "Identifier expected.",
    null,
    "Type 'string' is not assignable to type 'boolean'.",
    expect.stringContaining("possibly 'undefined'"),
    null,
  ]);
});
