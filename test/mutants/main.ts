/**
 * Changes the sources of a room in small ways, one at a time, and tells which of these mutants its tests do not notice:
 * `npm run mutants -- lib/selectors`, or a single file of it; with `--sample 10` a tenth of them, with `--seed 2` another tenth, with
 * `--record` a better score becomes the floor. What does not compile is no mutant. Results are kept in `.mutants`, also of a run that is
 * cut off, so that a second one tries only what is new. A room below its floor, and a mutant that survives a single file, end it with 1.
 */
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { equivalents } from "./equivalents.ts";
import { holdsFloor } from "./floors.ts";
import { rooms } from "./rooms.ts";

type MutantResult = Awaited<ReturnType<Stryker["runMutationTest"]>>[number];

const repository = fileURLToPath(new URL("../../", import.meta.url));
const noticed = new Set<MutantResult["status"]>(["Killed", "Timeout"]);
const missed = new Set<MutantResult["status"]>(["Survived", "NoCoverage"]);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    sample: { type: "string", default: "100" },
    seed: { type: "string", default: "1" },
    record: { type: "boolean", default: false },
    concurrency: { type: "string", default: "2" },
  },
});
const [path = ""] = positionals;
const room = Object.keys(rooms).find((each) => path === each || path.startsWith(`${each}/`));
const inner = Object.keys(rooms).filter((each) => each.startsWith(`${path}/`));
if (room === undefined || !isPercent(values.sample)) {
  console.error(
    `Name a room, or a file of one, and the percent of a sample: ${Object.keys(rooms).join(", ")}`,
  );
  process.exit(2);
}
process.exit((await tryRoom(room)) ? 0 : 1);

async function tryRoom(name: string): Promise<boolean> {
  const isWhole = path === name;
  const include = rooms[name]!.map((each) => (each.endsWith(".ts") ? each : `${each}/**/*.test.ts`));
  process.env["FLEETWRIGHT_MUTANT_TESTS"] = include.join(",");
  process.env["FLEETWRIGHT_MUTANT_SAMPLE"] = `${values.sample}:${values.seed}`;
  const mutants = await mutate(
    isWhole ? [`${path}/**/*.ts`, ...inner.map((each) => `!${each}/**/*.ts`)] : [path],
  );
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
  // Another seed draws another sample, of which no floor tells anything.
  return values.seed !== "1" || holdsFloor({ room: name, sample: values.sample, score }, values.record);
}

async function mutate(files: string[]): Promise<MutantResult[]> {
  const isSample = values.sample !== "100";
  const key = path.replaceAll(/[^a-z-]+/g, "-") + (isSample ? `-${values.sample}-${values.seed}` : "");
  return new Stryker({
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner", "./test/mutants/sample.mjs", "./test/mutants/kept.mjs"],
    checkers: ["sample"],
    concurrency: Number(values.concurrency),
    dryRunTimeoutMinutes: 30,
    // A slow machine must not pass for a mutant that never ends.
    timeoutMS: 20_000,
    mutate: files,
    vitest: { configFile: "test/mutants/vitest.config.ts", related: false },
    coverageAnalysis: "perTest",
    // What runs once, when a file is loaded, would be tried with every test there is.
    ignoreStatic: true,
    incremental: true,
    incrementalFile: `.mutants/${key}.json`,
    reporters: ["progress-append-only", "kept"],
    ignorePatterns: ["dist", "coverage", "docs", ".mutants"],
    tempDirName: ".mutants/sandbox",
  }).runMutationTest();
}

function isPercent(text: string): boolean {
  return Number(text) > 0 && Number(text) <= 100;
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
