import { vi } from "vitest";

// With a mutant in the sources, what never comes true is noticed before Stryker takes the process for one that hangs, and starts another.
const timeout = process.env["FLEETWRIGHT_MUTANT_TESTS"] === undefined ? 30_000 : 8_000;

/**
 * Tries an assertion until it holds, as long as a machine that others use as well may need: what hangs is ended by the test's own limit.
 * Where it lets time pass on a fake clock, `intervalMs` is what real connections have meanwhile.
 */
export function waitFor<T>(assertion: () => T | Promise<T>, intervalMs = 5): Promise<T> {
  return vi.waitFor(assertion, { timeout, interval: intervalMs });
}
