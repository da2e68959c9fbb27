/** The tests of one room alone, which FLEETWRIGHT_MUTANT_TESTS names: its mutants are tried with nothing else. */
import { defineConfig } from "vitest/config";
import base from "../../vitest.config.ts";

const { projects: _, ...test } = base.test ?? {};
const include = (process.env["FLEETWRIGHT_MUTANT_TESTS"] ?? "").split(",").filter((path) => path !== "");
const exclude = [
  "test/**/*.real.test.ts",
  // What asks the compiler about the sources, or measures them: with all mutants in them at once they do not compile, and are long.
  "test/adapters/client/{bundle-size,generated,hover,input-types,package-types}.test.ts",
  // Sets the umask of its process, which no thread may: Stryker runs tests in threads.
  "test/state/agent-umask.test.ts",
];

// Mutants that never end are ended by Stryker, which knows how long the tests took without any: this only keeps a slow machine from failing them.
const testTimeout = 600_000;

export default defineConfig({
  ...base,
  test: { ...test, include, exclude, testTimeout, hookTimeout: testTimeout },
});
