/**
 * Lets only the mutants of a sample through, and of these only what compiles, as a checker of Stryker, whose processes load JavaScript alone.
 * FLEETWRIGHT_MUTANT_SAMPLE has the percent of all and the seed, as "10:1". Whether a mutant is in is decided by what it is, not by how many
 * stand before it: a change elsewhere draws no other sample.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { Compiler } from "./compiler.mjs";

const [percent, seed] = (process.env["FLEETWRIGHT_MUTANT_SAMPLE"] ?? "100:1").split(":");
const compiler = new Compiler();
const lines = new Map();

/** @param {string} fileName */
function linesOf(fileName) {
  if (!lines.has(fileName)) lines.set(fileName, readFileSync(fileName, "utf8").split("\n"));
  return lines.get(fileName);
}

function isInSample({ fileName, location, mutatorName, replacement }) {
  // Both count from zero here, other than in results.
  const { line, column } = location.start;
  const text = linesOf(fileName)[line];
  const identity = [seed, relative(process.cwd(), fileName), text, column, mutatorName, replacement];
  const hash = createHash("sha256").update(JSON.stringify(identity)).digest();
  return hash.readUInt32BE(0) < (Number(percent) / 100) * 2 ** 32;
}

function resultOf(mutant) {
  if (!isInSample(mutant)) return { status: "compileError", reason: "not in the sample" };
  const reason = compiler.complaintAbout(mutant);
  return reason === null ? { status: "passed" } : { status: "compileError", reason };
}

const checker = {
  init: () => Promise.resolve(),
  group: (mutants) => Promise.resolve([mutants.map(({ id }) => id)]),
  check: (mutants) =>
    Promise.resolve(Object.fromEntries(mutants.map((mutant) => [mutant.id, resultOf(mutant)]))),
};

export const strykerPlugins = [{ kind: "Checker", name: "sample", value: checker }];
