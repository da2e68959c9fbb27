/**
 * What we did not change we never change back: random histories of applies that fail, die and are cancelled, of edits by
 * somebody else at any call, of versions, removals and losses of power, judged from outside.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type DrawnFault, History, type Step } from "../support/owned/history.ts";
import { things } from "../support/owned/things.ts";
import { isSoak } from "../support/soak.ts";

const which = fc.nat({ max: 5 });
const thing = fc.nat({ max: things.length - 1 });
const fault: fc.Arbitrary<DrawnFault> = fc.record({
  call: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 150 })),
  kind: fc.constantFrom(
    ...(["refused", "broken", "broken behind", "lost", "killed", "killed behind"] as const),
    ...(["cancelled", "power lost", "edited", "edited", "edited"] as const),
  ),
  thing,
  edit: which,
});
const wish = fc.option(which, { freq: 2 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("edit" as const), thing, edit: which }),
  fc.record({
    kind: fc.constant("apply" as const),
    wishes: fc.tuple(...things.map(() => wish)),
    faults: fc.array(fault, { maxLength: 4 }),
    judge: fc.constantFrom("accepts", "accepts", "refuses", "edits"),
  }),
);

test(
  "in no history is anything changed back that we did not change, or left that we did",
  { timeout: isSoak ? 7_200_000 : 60_000 },
  async () => {
    const seed = Number(process.env["FLEETWRIGHT_SEEDS"] ?? (isSoak ? Date.now() % 1_000_000 : 1));
    const totals = { histories: 0, lives: 0, first: 0, back: 0, kept: 0, unknown: 0 };
    const property = fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
      const folder = mkdtempSync(join(tmpdir(), "fleetwright-owned-"));
      try {
        const history = new History(folder);
        for (const each of steps) await history.take(each);
        await history.end();
        totals.histories += 1;
        totals.lives += history.lives;
        for (const name of ["first", "back", "kept", "unknown"] as const)
          totals[name] += history.oracle.counts[name];
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
    await fc.assert(property, { seed, numRuns: isSoak ? 10_000 : 150 });
    console.log(`Histories with seed ${seed}: ${JSON.stringify(totals)}`);
    expect(totals.first).toBeGreaterThan(totals.histories);
    expect(totals.lives).toBeGreaterThan(totals.histories);
    expect(totals.unknown).toBeLessThan(totals.kept / 10);
  },
);
