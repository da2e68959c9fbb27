/** `from` is in what is listed, `to` is not, to the millisecond: who pages by hours gets nothing twice and misses nothing. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createScene } from "../support/rollout-scene.ts";

it("operations are listed from an instant on and up to another, which is not in it", async () => {
  await using scene = await createScene(1);
  const { operations } = scene.test.orchestrator;
  const node_id = scene.agents[0]!.nodeId;
  const made: { id: string; atMs: number }[] = [];
  for (let count = 0; count < 3; count += 1) {
    const asked = await operations.apply(systemCaller, { node_id, wait_seconds: 0 });
    await scene.finish(scene.agents[0]);
    made.unshift({ id: asked.operation_id, atMs: Date.parse(asked.created_at) });
    await scene.clock.advance(1_000);
  }
  const listed = async (filter: { from?: string; to?: string }): Promise<string[][]> => {
    const lists = [
      await operations.list(systemCaller, filter),
      await operations.list(systemCaller, { ...filter, kind: "apply", status: "succeeded" }),
      await operations.listForAgent(systemCaller, { ...filter, node_id }),
    ];
    return lists.map(({ items }) => items.map(({ operation_id }) => operation_id));
  };
  const at = (ms: number): string => new Date(ms).toISOString();
  const among = (isIn: (atMs: number) => boolean): string[] =>
    made.flatMap(({ id, atMs }) => (isIn(atMs) ? id : []));
  for (const one of made)
    for (const moment of [one.atMs - 1, one.atMs, one.atMs + 1]) {
      const from = among((atMs) => atMs >= moment);
      const to = among((atMs) => atMs < moment);
      expect(await listed({ from: at(moment) }), `from ${at(moment)}`).toEqual([from, from, from]);
      expect(await listed({ to: at(moment) }), `to ${at(moment)}`).toEqual([to, to, to]);
      const none = { from: at(moment), to: at(moment) };
      expect(await listed(none)).toEqual([[], [], []]);
    }
});
