/** Pages of a log whose oldest entries are trimmed away while they are read. */
import { expect, test } from "vitest";
import { readLogPage } from "../../lib/storage/log-reader.ts";
import type { LogEntry } from "../../lib/storage/storage.ts";

const placeOf = (sequence: number) => ({ sequence, hash: null });
const entryOf = (sequence: number): LogEntry => ({ sequence, at: sequence, hash: null, value: { sequence } });

/** A log of ten entries in blocks of two, of which some are gone by the time they are asked for. */
function readTrimmed(goneUpTo: number, query: { reverse?: boolean; limit?: number; from?: number }) {
  const state = { head: placeOf(10), base: placeOf(0) };
  const blockAt = (sequence: number): Promise<LogEntry[]> => {
    const first = sequence - ((sequence - 1) % 2);
    return Promise.resolve(sequence <= goneUpTo ? [] : [first, first + 1].map(entryOf));
  };
  return readLogPage(state as Parameters<typeof readLogPage>[0], { blockAt }, query);
}

test.each([
  ["none", 0, {}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
  ["the first", 2, {}, [3, 4, 5, 6, 7, 8, 9, 10]],
  ["all but the last", 8, {}, [9, 10]],
  ["all", 10, {}, []],
  ["the first, from the third on", 4, { from: 3 }, [5, 6, 7, 8, 9, 10]],
  ["the first, read backwards", 4, { reverse: true }, [10, 9, 8, 7, 6, 5]],
])(
  "where %s are gone by then the others are read, each once and in order",
  async (_what, gone, query, expected) => {
    const page = await readTrimmed(gone, { limit: 50, ...query });
    expect(page.entries.map(({ sequence }) => sequence)).toEqual(expected);
    expect(page.next).toBeNull();
  },
);

test("a page that is full says where the next one begins, behind what is gone", async () => {
  const page = await readTrimmed(4, { limit: 2 });
  expect([page.entries.map(({ sequence }) => sequence), page.next]).toEqual([[5, 6], 7]);
});
