/**
 * One case of a conformance suite. A suite is data: any test runner can loop over its cases.
 *
 * @example With vitest
 * ```ts
 * import { nodeCrypto } from "fleetwright";
 * import { transportConformance, type CreateTransportUnderTest } from "fleetwright/testing";
 * import { test } from "vitest";
 *
 * declare const create: CreateTransportUnderTest;
 * for (const { name, run } of transportConformance(create, nodeCrypto)) test(name, run);
 * ```
 */
export interface ConformanceCase {
  /** A sentence about behaviour, unique in its suite. */
  name: string;
  /** The numbered promise of the port, as its interface tells them, that the case checks. */
  promise: number;
  /** The capability without which the case has no meaning; a runner skips it and says why. Absent = every implementation. */
  needs?: string;
  /** Resolves when the promise is kept, rejects with what was seen otherwise. */
  run(): Promise<void>;
}
