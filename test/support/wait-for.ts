import { vi } from "vitest";

/** Tries an assertion until it holds, as long as a machine that others use as well may need: what hangs is ended by the test's own limit. */
export function waitFor<T>(assertion: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(assertion, { timeout: 30_000 });
}
