import type { ConformanceCase } from "./conformance.ts";
import { blobCases } from "./storage/blob-cases.ts";
import { commitCases } from "./storage/commit-cases.ts";
import { followCases } from "./storage/follow-cases.ts";
import { leaseCases } from "./storage/lease-cases.ts";
import { lifetimeCases } from "./storage/lifetime-cases.ts";
import { listCases } from "./storage/list-cases.ts";
import { logCases } from "./storage/log-cases.ts";
import { seriesCases } from "./storage/series-cases.ts";
import { withStorage, type CreateStorage } from "./storage/subject.ts";
import { valueCases } from "./storage/value-cases.ts";

export type { CreateStorage, StorageSubject } from "./storage/subject.ts";

/**
 * The cases that every storage passes: at least one for each numbered promise of the `Storage` port.
 *
 * Each case makes a storage of its own and closes it. `needs` names what a storage may lack: "series" (it keeps time
 * series), "fill" (the test can make it run out of space), "crash" (the test can show what kill -9 would leave) or "shared"
 * (several processes may open the same data at once).
 *
 * @param create - Makes an empty storage, not yet opened, and what a case needs beside it.
 * @example With vitest
 * ```ts
 * import { MemoryData, MemoryStorage } from "fleetwright";
 * import { FakeClock, storageConformance } from "fleetwright/testing";
 * import { test } from "vitest";
 *
 * const cases = storageConformance(async () => {
 *   const [clock, data] = [new FakeClock(), new MemoryData()];
 *   const again = () => new MemoryStorage({ clock, data });
 *   return { storage: again(), clock, again, dispose: async () => {} };
 * });
 * for (const { name, promise, needs, run } of cases) {
 *   if (needs === undefined) test(`${promise}. ${name}`, run);
 * }
 * ```
 */
export function storageConformance(create: CreateStorage): ConformanceCase[] {
  const cases = [
    ...commitCases,
    ...listCases,
    ...logCases,
    ...blobCases,
    ...leaseCases,
    ...followCases,
    ...lifetimeCases,
    ...valueCases,
    ...seriesCases,
  ];
  return cases.map(({ run, ...described }) => ({ ...described, run: () => withStorage(create, run) }));
}
