import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { equivalents } from "./equivalents.ts";
import { rooms } from "./rooms.ts";

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

test("every equivalent mutant is of a line that stands in its file, once", () => {
  const astray = equivalents.filter(
    ({ file, line }) =>
      read(file)
        .split("\n")
        .filter((each) => each.trim() === line).length !== 1,
  );
  expect(astray).toEqual([]);
});

test("every floor is of a room and a sample, in percent", () => {
  const floors = JSON.parse(read("test/mutants/floors.json")) as Record<string, Record<string, number>>;
  expect(Object.keys(floors).filter((room) => !(room in rooms))).toEqual([]);
  const percents = Object.values(floors).flatMap((each) => Object.entries(each).flat().map(Number));
  expect(percents.filter((percent) => !(percent > 0 && percent <= 100))).toEqual([]);
});
