import { expect, it } from "vitest";
import { MemoryStorage } from "fleetwright";
import { RolloutStore } from "../../lib/rollouts/rollout-store.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { OldOperations } from "../support/retention.ts";

const group = { rollout_id: "019b0000-0000-7000-8000-000000000000", changes: "c" };

/** A group of agents: some have an operation, others were refused. */
async function storeOf({ operations, refusals }: { operations: number; refusals: number }) {
  const clock = new FakeClock();
  const { storage, context } = await OldOperations.open(new MemoryStorage({ clock }), clock);
  const put = (collection: string, prefix: string, count: number) =>
    Array.from({ length: count }, (_, n) => {
      const value = { ...group, node_id: `${prefix}${n}` };
      return { kind: "put", collection, key: `${group.rollout_id}/${prefix}${n}`, value } as const;
    });
  await storage.commit([...put("operations", "o", operations), ...put("rollout_refusals", "r", refusals)]);
  return new RolloutStore(context);
}

it("the agents of a group come each once, whatever ends where a page does", async () => {
  for (const operations of [0, 1, 2, 3, 4])
    for (const refusals of [0, 1, 2, 3])
      for (const limit of [1, 2, 3, 4, 10]) {
        const store = await storeOf({ operations, refusals });
        const found: string[] = [];
        for (let from: string | null = ""; from !== null;) {
          const page: Awaited<ReturnType<RolloutStore["membersOf"]>> = await store.membersOf(group, {
            limit,
            from,
          });
          expect(page.nodeIds.length).toBeLessThanOrEqual(limit);
          found.push(...page.nodeIds);
          from = page.next;
        }
        const numbered = (prefix: string, count: number): string[] =>
          Array.from({ length: count }, (_, n) => `${prefix}${n}`);
        expect(found).toEqual([...numbered("o", operations), ...numbered("r", refusals)]);
      }
});
