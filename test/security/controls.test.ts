/** Every control that docs/security.md tells of has tests, which are there and say what they show. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { repository } from "../architecture/source-tree.ts";
import { controls } from "./controls.ts";

const read = (path: string): string => readFileSync(join(repository, path), "utf8");

describe.each(controls)("%s", (name, shownBy) => {
  it.each(shownBy)("is shown by %s: %s", (file, words) => {
    expect(existsSync(join(repository, file))).toBe(true);
    expect(read(file)).toContain(words);
  });

  it("has a row in docs/security.md, with these files", () => {
    const section = /^## Controls$(.*?)^## /ms.exec(read("docs/security.md"))?.[1] ?? "";
    const rows = section.split("\n").map((row) => row.split("|").map((cell) => cell.trim()));
    const shown = rows.find(([, control]) => control === name)?.[3] ?? "";
    const files = [...new Set(shownBy.map(([file]) => file))];
    expect([...shown.matchAll(/`([^`]+)`/g)].map(([, file]) => `test/${file}`)).toEqual(files);
  });
});

it("the table has no row that no test stands for", () => {
  const section = /^## Controls$(.*?)^## /ms.exec(read("docs/security.md"))?.[1] ?? "";
  const names = [...section.matchAll(/^\| ([^|]+?) +\|/gm)].map(([, name]) => name);
  expect(names.filter((name) => !/^-+$/.test(name!))).toEqual(["Control", ...controls.map(([name]) => name)]);
});
