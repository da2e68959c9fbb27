import { describe, expect, it } from "vitest";
import { MemoryStorage } from "fleetwright";
import { OperationStore } from "../../lib/operations/operation-store.ts";
import type { RolloutDocument } from "../../lib/rollouts/documents.ts";
import { RolloutMembers, type Listed } from "../../lib/rollouts/rollout-members.ts";
import { RolloutStore } from "../../lib/rollouts/rollout-store.ts";
import type { RolloutMember } from "../../lib/rollouts/schemas.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { pagesOf } from "../support/all-pages.ts";
import { OldOperations } from "../support/retention.ts";

const rollout_id = "019b0000-0000-7000-8000-000000000000";
const all = 2_500;

/** A rollout of 2,500 agents: every tenth was refused, every 500th failed, the last 100 have not been begun. */
async function scene() {
  const clock = new FakeClock();
  const { storage, context } = await OldOperations.open(new MemoryStorage({ clock }), clock);
  const agents = Array.from({ length: all }, (_, n) => ({ node_id: `n${n}`, name: `a${n}` }));
  const counts = { changed: 0, would_change: 0, unchanged: 1, failed: 0, skipped: 0 };
  await storage.commit(
    agents.slice(0, all - 100).map(({ node_id }, n) => {
      const error = { code: "AGENT_OFFLINE", message: "away" };
      const refusal = { rollout_id, node_id, error };
      const key = `${rollout_id}/${node_id}`;
      if (n % 10 === 1) return { kind: "put", collection: "rollout_refusals", key, value: refusal } as const;
      const status = n % 500 === 0 ? "failed" : "succeeded";
      const operation = { operation_id: `o${n}`, rollout_id, node_id, status, counts };
      return { kind: "put", collection: "operations", key: `o${n}`, value: operation } as const;
    }),
  );
  let reads = 0;
  const list = storage.list.bind(storage);
  storage.list = (collection, query) => {
    reads += 1;
    return list(collection, query);
  };
  const rollout = { rollout_id, status: "running", begun: all - 100 } as RolloutDocument;
  const listed: Listed = { rollout, targets: { agents, ends: [1000, 2000, all] } };
  const [operations, store] = [new OperationStore(context), new RolloutStore(context)];
  const parts = { operations, freezeOf: () => null, store };
  return { members: new RolloutMembers(parts), listed, reads: () => reads };
}

async function pages(
  { members, listed }: Awaited<ReturnType<typeof scene>>,
  filter: { status?: RolloutMember["status"]; limit: number },
): Promise<RolloutMember[][]> {
  const { limit, ...asked } = filter;
  return pagesOf((page) => members.page(listed, { rollout_id, ...asked, ...page }), limit);
}

describe("the agents of a rollout", () => {
  it("come in pages in its order, each once, with operation, refusal or neither", async () => {
    const found = await pages(await scene(), { limit: 300 });
    expect(found.map(({ length }) => length)).toEqual([300, 300, 300, 300, 300, 300, 300, 300, 100]);
    const members = found.flat();
    expect(members.map(({ name }) => name)).toEqual(Array.from({ length: all }, (_, n) => `a${n}`));
    expect(members[0]).toMatchObject({ batch: 1, operation_id: "o0", status: "failed" });
    expect(members[1]).toMatchObject({ status: "failed", error: { code: "AGENT_OFFLINE" } });
    expect(members[1002]).toMatchObject({ batch: 2, operation_id: "o1002", summary: "1 unchanged" });
    expect(members.at(-1)).toEqual({
      node_id: "n2499",
      name: "a2499",
      batch: 3,
      status: "waiting",
      summary: "",
    });
  });

  it("are filtered by status; one call looks at 2,000 of them at most", async () => {
    const found = await scene();
    const waiting = await pages(found, { status: "waiting", limit: 500 });
    expect(waiting.map(({ length }) => length)).toEqual([0, 100]);
    const failed = (await pages(found, { status: "failed", limit: 100 })).flat();
    expect(failed).toHaveLength(240 + 5);
    expect(new Set(failed.map(({ node_id }) => node_id)).size).toBe(245);
  });

  it("are shown with the rollout up to 1,000, at the cost of those", async () => {
    const { members, listed, reads } = await scene();
    const first = await members.first(listed);
    expect(first.map(({ name }) => name)).toEqual(Array.from({ length: 1000 }, (_, n) => `a${n}`));
    expect(reads()).toBe(1000);
  });

  it("are refused with a cursor of another filter or by hand", async () => {
    const { members, listed } = await scene();
    const { next_cursor } = await members.page(listed, { rollout_id, limit: 1 });
    for (const cursor of [next_cursor ?? "", "x"])
      await expect(members.page(listed, { rollout_id, status: "failed", cursor })).rejects.toMatchObject({
        code: "CURSOR_INVALID",
      });
  });
});
