import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

interface Kept {
  onDryRunCompleted(event: object): void;
  onMutantTested(mutant: object): void;
}

const source = "test/mutants/floors.ts";
const place = { start: { line: 3, column: 1 }, end: { line: 3, column: 9 } };
const mutant = (id: string, more: object): object => ({ id, fileName: source, location: place, ...more });

let folder: string;
let kept: Kept;
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  folder = mkdtempSync(join(tmpdir(), "kept-"));
  const module = (await import(new URL("kept.mjs", import.meta.url).href)) as {
    Kept: new (options: { incrementalFile: string }) => Kept;
  };
  kept = new module.Kept({ incrementalFile: join(folder, "room", "found.json") });
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

test("what was found is on disk after some seconds, as a whole file that a next run reads", () => {
  const fileName = "test/mutants/tables.test.ts";
  const startPosition = { line: 0, column: 4 };
  kept.onDryRunCompleted({ result: { tests: [{ id: "t1", name: "a test", fileName, startPosition }] } });
  kept.onMutantTested(mutant("1", { status: "Killed", killedBy: ["t1"] }));
  vi.advanceTimersByTime(9_999);
  kept.onMutantTested(mutant("2", { status: "Survived" }));
  expect(readdirSync(folder)).toEqual([]);
  vi.advanceTimersByTime(1);
  kept.onMutantTested(mutant("3", { status: "Survived" }));
  expect(readdirSync(join(folder, "room"))).toEqual(["found.json"]);
  expect(JSON.parse(readFileSync(join(folder, "room", "found.json"), "utf8"))).toMatchObject({
    files: {
      [source]: {
        source: readFileSync(source, "utf8"),
        mutants: [
          { id: "1", location: place, status: "Killed", killedBy: ["t1"] },
          { id: "2", status: "Survived" },
          { id: "3", status: "Survived" },
        ],
      },
    },
    testFiles: {
      [fileName]: {
        source: readFileSync(fileName, "utf8"),
        tests: [{ id: "t1", name: "a test", location: { start: { line: 1, column: 5 } } }],
      },
    },
  });
});
