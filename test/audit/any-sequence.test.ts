/**
 * Events that are added, prunes, several at once, and a process that is killed before or after any step that outlives it, in any order: the
 * log verifies after each life, and what it tells of removals follows each other without a gap. FLEETWRIGHT_SEEDS="<first>-<last>" runs
 * other seeds.
 */
import { expect, test } from "vitest";
import { MemoryStorage, systemCaller, toTimestamp } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import { MortalProcess } from "../support/mortal-process.ts";
import { seededRandom } from "../support/random.ts";
import { seedsFor } from "../support/soak.ts";

const seeds = seedsFor({ usual: 40, soak: 10_000 });
const lives = 6;

interface Prunes {
  /** As the log told of them, oldest first, those included that were removed since. */
  stretches: Map<number, number>;
  prunedThrough: number;
}

async function live(test: TestOrchestrator, clock: FakeClock, random: () => number): Promise<void> {
  const { audit } = test.orchestrator;
  const step = async (): Promise<unknown> => {
    const kind = random();
    if (kind < 0.5)
      return audit.setRetention(systemCaller, { retention_days: 1 + Math.floor(random() * 3000) });
    if (kind < 0.6) return clock.advance(Math.floor(random() * 5_000));
    if (kind < 0.65) return clock.advance(3_600_000);
    const before = toTimestamp(clock.now() - Math.floor(random() * 20_000));
    if (kind < 0.7) return audit.prune(systemCaller, { before, dry_run: true });
    return audit.prune(systemCaller, { before });
  };
  for (let round = 0; round < 12; round += 1) {
    const atOnce = Array.from({ length: 1 + Math.floor(random() * 4) }, step);
    // A process that was killed answers nothing.
    await Promise.allSettled(atOnce);
    await clock.advance(1_000);
  }
}

function note({ stretches }: Prunes, events: readonly { event_type: string; metadata: object }[]): void {
  for (const { event_type, metadata } of events) {
    const { from_sequence, through_sequence } = metadata as Record<string, number>;
    if (event_type === "audit.pruned") stretches.set(from_sequence!, through_sequence!);
  }
}

/** Verifies, and follows what the log tells of its own removals. */
async function check({ orchestrator, storage }: TestOrchestrator, prunes: Prunes): Promise<void> {
  const { audit } = orchestrator;
  const { head, base } = await storage.readLog("audit", { limit: 1 });
  const verified = await audit.verify(systemCaller);
  expect(verified).toMatchObject({ valid: true, to_sequence: head.sequence });
  expect(verified.from_sequence).toBeGreaterThan(base.sequence);
  // Never backwards.
  expect(verified.from_sequence - 1).toBeGreaterThanOrEqual(prunes.prunedThrough);
  prunes.prunedThrough = verified.from_sequence - 1;
  note(prunes, (await audit.list(systemCaller, { event_type: "audit.pruned", limit: 500 })).items);
  let at = 0;
  for (let next = prunes.stretches.get(at + 1); next !== undefined; next = prunes.stretches.get(at + 1))
    at = next;
  expect(at).toBe(prunes.prunedThrough);
}

test(
  `any sequence of events, prunes at once and kills verifies: ${seeds.length} seeds`,
  { timeout: 600_000 },
  async () => {
    let [killed, pruned] = [0, 0];
    for (const seed of seeds) {
      const random = seededRandom(seed);
      const data = new MemoryData();
      const clock = new FakeClock();
      const prunes: Prunes = { stretches: new Map(), prunedThrough: 0 };
      for (let life = 0; life < lives; life += 1) {
        const process = new MortalProcess(new MemoryStorage({ data, clock }));
        const fleet = await createTestOrchestrator({ storage: process.storage, clock });
        await check(fleet, prunes).catch((cause: unknown) => {
          throw new Error(`Seed ${seed}, life ${life}: ${String(cause)}`, { cause });
        });
        process.left = Math.floor(random() * 150);
        await live(fleet, clock, random);
        if (process.left === 0) killed += 1;
        // One that tells of a removal may be removed itself before the next life.
        note(prunes, fleet.events);
        await fleet[Symbol.asyncDispose]();
      }
      pruned += prunes.stretches.size;
    }
    console.log(`Killed ${killed} of ${seeds.length * lives} lives, ${pruned} prunes`);
    expect(killed).toBeGreaterThan(seeds.length);
    expect(pruned).toBeGreaterThan(seeds.length);
  },
);
