/** Somebody else writes between the read and the commit of everything that is done: it is done again on what is there by then. */
import { expect, test } from "vitest";
import { playExampleCalls } from "../support/example-calls.ts";
import { TouchingStorage } from "../support/racing-storage.ts";

test("no call fails, and nothing in the background, where each commit meets one of somebody else", async () => {
  const storage = new TouchingStorage();
  const raced = await playExampleCalls(undefined, storage);
  const undisturbed = await playExampleCalls();
  const namesOf = (calls: typeof raced): string[] => calls.map(([procedure]) => procedure);
  expect(namesOf(raced)).toEqual(namesOf(undisturbed));
  // What the examples do goes over this many kinds of documents, or the storage above disturbs nobody.
  expect(storage.counts.size).toBeGreaterThanOrEqual(20);
}, 60_000);
