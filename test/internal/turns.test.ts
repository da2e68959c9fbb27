import { expect, it } from "vitest";
import { nextTurn } from "../../lib/internal/next-turn.ts";
import { Turns } from "../../lib/internal/turns.ts";

/** Begins pieces that note themselves when there is room for them. */
function begin(turns: Turns, names: readonly number[], done: number[]): void {
  for (const name of names) void turns.next().then(() => done.push(name));
}

it("does no more pieces in a turn than there is room for, in the order they came", async () => {
  const turns = new Turns(3);
  const done: number[] = [];
  begin(turns, [1, 2, 3, 4, 5, 6, 7], done);
  await Promise.resolve();
  expect(done).toEqual([1, 2, 3]);
  const seen: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    await nextTurn();
    seen.push(done.length);
  }
  expect(done).toEqual([1, 2, 3, 4, 5, 6, 7]);
  for (const [index, count] of seen.entries()) expect(count - (seen[index - 1] ?? 3)).toBeLessThanOrEqual(3);
});

it("lets nobody pass who came later", async () => {
  const turns = new Turns(1);
  const done: number[] = [];
  begin(turns, [1, 2, 3], done);
  await nextTurn();
  begin(turns, [4], done);
  for (let turn = 0; turn < 6; turn += 1) await nextTurn();
  expect(done).toEqual([1, 2, 3, 4]);
});

it("has its whole room again when nobody has come for a turn", async () => {
  const turns = new Turns(2);
  const done: number[] = [];
  begin(turns, [1, 2], done);
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  begin(turns, [3, 4], done);
  await Promise.resolve();
  expect(done).toEqual([1, 2, 3, 4]);
});
