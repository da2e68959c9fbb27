/**
 * Changes the sources of a room in small ways, one at a time, and tells which of these mutants its tests do not notice:
 * `npm run mutants -- lib/selectors`, or a single file of it. Results are kept in `.mutants`, so that a second run tries only what has
 * changed. A room below its floor, and a mutant that survives a single file, end it with 1.
 */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Stryker } from "@stryker-mutator/core";
import { equivalents } from "./equivalents.ts";
import { rooms, type Room } from "./rooms.ts";

type MutantResult = Awaited<ReturnType<Stryker["runMutationTest"]>>[number];

const repository = fileURLToPath(new URL("../../", import.meta.url));
const noticed = new Set<MutantResult["status"]>(["Killed", "Timeout"]);
const missed = new Set<MutantResult["status"]>(["Survived", "NoCoverage"]);

const [path = ""] = process.argv.slice(2);
const name = Object.keys(rooms).find((each) => path === each || path.startsWith(`${each}/`));
if (name === undefined) {
  console.error(`Name a room, or a file of one: ${Object.keys(rooms).join(", ")}`);
  process.exit(2);
}
process.exit((await tryRoom(name, rooms[name]!)) ? 0 : 1);

async function tryRoom(room: string, { tests, floor }: Room): Promise<boolean> {
  const isWhole = path === room;
  const include = tests.map((each) => (each.endsWith(".ts") ? each : `${each}/**/*.test.ts`));
  process.env["FLEETWRIGHT_MUTANT_TESTS"] = include.join(",");
  const mutants = await mutate(isWhole ? `${path}/**/*.ts` : path);
  const counted = mutants.filter((mutant) => noticed.has(mutant.status) || missed.has(mutant.status));
  const left = counted.filter((mutant) => missed.has(mutant.status) && !isEquivalent(mutant));
  const real = counted.length - counted.filter(isEquivalent).length;
  for (const mutant of left) console.log(toLine(mutant));
  tellFiles(counted);
  const score = real === 0 ? 100 : (100 * (real - left.length)) / real;
  console.log(
    `${path}: ${score.toFixed(1)} % of ${real} mutants noticed, ${counted.length - real} equivalent.`,
  );
  if (!isWhole) return left.length === 0;
  if (floor !== undefined && score < floor) console.error(`Its floor is ${floor} %.`);
  return score >= (floor ?? 0);
}

async function mutate(files: string): Promise<MutantResult[]> {
  const key = files.replaceAll(/[^a-z-]+/g, "-");
  return new Stryker({
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner"],
    mutate: [files],
    vitest: { configFile: "test/mutants/vitest.config.ts", related: false },
    coverageAnalysis: "perTest",
    // What runs once, when a file is loaded, would be tried with every test there is.
    ignoreStatic: true,
    incremental: true,
    incrementalFile: `.mutants/${key}.json`,
    reporters: ["progress-append-only"],
    ignorePatterns: ["dist", "coverage", "docs", ".mutants"],
    tempDirName: ".mutants/sandbox",
  }).runMutationTest();
}

function isEquivalent(mutant: MutantResult): boolean {
  const line = lineOf(mutant).trim();
  const file = shortName(mutant);
  return equivalents.some(
    (each) => each.file === file && each.line === line && each.replacement === mutant.replacement,
  );
}

function tellFiles(mutants: readonly MutantResult[]): void {
  for (const file of [...new Set(mutants.map(shortName))].toSorted()) {
    const inFile = mutants.filter((mutant) => shortName(mutant) === file);
    const killed = inFile.filter(({ status }) => noticed.has(status)).length;
    console.log(`${String(killed).padStart(5)} of ${String(inFile.length).padStart(4)}  ${file}`);
  }
}

function toLine(mutant: MutantResult): string {
  const { location, replacement, status } = mutant;
  const instead = replacement?.replaceAll(/\s+/g, " ") ?? "";
  return `${status} ${shortName(mutant)}:${location.start.line}: ${lineOf(mutant).trim()}  ->  ${instead}`;
}

function lineOf({ fileName, location }: MutantResult): string {
  return readFileSync(fileName, "utf8").split("\n")[location.start.line - 1] ?? "";
}

function shortName({ fileName }: MutantResult): string {
  return relative(repository, fileName);
}
