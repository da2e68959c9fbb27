/** Work that comes again and again: slice by slice, also after a round that failed, and never after it was ended. */
import { expect, it } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { keepRounds } from "../../lib/upkeep/rounds.ts";
import { deferred, settleAll } from "../support/deferred.ts";

/** Rounds of some slices, with what they did and when. */
function scene({ slices, failsIn = [] }: { slices: number; failsIn?: number[] }) {
  const clock = new FakeClock();
  const start = clock.now();
  const done: [atMs: number, what: string][] = [];
  const note = (what: string): void => void done.push([clock.now() - start, what]);
  let rounds = 0;
  const end = keepRounds({
    clock,
    everyMs: 60_000,
    pauseMs: 1_000,
    failed: (error) => note(String(error)),
    async *round() {
      const round = (rounds += 1);
      try {
        for (let slice = 1; slice <= slices; slice += 1) {
          note(`${round}.${slice}`);
          yield;
          if (failsIn.includes(round)) throw new Error(`round ${round}`);
        }
      } finally {
        note(`${round} let go`);
      }
    },
  });
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500) {
      await settleAll();
      await clock.advance(Math.min(500, left));
      await settleAll();
    }
  };
  return { done, end, pass };
}

it("a round begins at once, has a pause after each slice, and the next begins so long after its end", async () => {
  const { done, end, pass } = scene({ slices: 2 });
  await pass(65_000);
  await end();
  expect(done).toEqual([
    [0, "1.1"],
    [1_000, "1.2"],
    [2_000, "1 let go"],
    [62_000, "2.1"],
    [63_000, "2.2"],
    [64_000, "2 let go"],
  ]);
});

it("a round that fails is told, and the next one comes all the same", async () => {
  const { done, end, pass } = scene({ slices: 2, failsIn: [1, 2] });
  await pass(124_000);
  await end();
  expect(done.map(([, what]) => what)).toEqual(
    ["1.1", "1 let go", "Error: round 1", "2.1", "2 let go", "Error: round 2", "3.1", "3.2"].concat([
      "3 let go",
    ]),
  );
});

it.each([
  ["before the first slice", 0, ["1.1", "1 let go"]],
  ["between two slices", 500, ["1.1", "1 let go"]],
  ["between two rounds", 30_000, ["1.1", "1.2", "1 let go"]],
])("that is ended %s does nothing more, and lets go of what it holds", async (_when, ms, expected) => {
  const { done, end, pass } = scene({ slices: 2 });
  await settleAll();
  await pass(ms);
  await end();
  const atEnd = done.map(([, what]) => what);
  expect(atEnd).toEqual(ms === 0 && atEnd.length === 0 ? [] : expected);
  await pass(200_000);
  expect(done.map(([, what]) => what)).toEqual(atEnd);
});

it("whoever ends it is told when what is under way has come to an end", async () => {
  const clock = new FakeClock();
  const held = deferred();
  const done: string[] = [];
  const end = keepRounds({
    clock,
    everyMs: 60_000,
    pauseMs: 1_000,
    failed: (error) => void done.push(String(error)),
    async *round() {
      done.push("begun");
      await held.promise;
      done.push("done");
      yield;
      done.push("too much");
    },
  });
  await clock.advance(1);
  await settleAll();
  expect(done).toEqual(["begun"]);
  const ended = end().then(() => done.push("ended"));
  await settleAll();
  expect(done).toEqual(["begun"]);
  held.resolve();
  await ended;
  expect(done).toEqual(["begun", "done", "ended"]);
});
