/**
 * Every mutation of the router with a storage that fails at its first, second, third ... call: it is refused and nothing was done, or answered
 * and all was; what is told, listed and found after a restart is what is stored; and made again, it is made.
 */
import { afterAll, expect, test } from "vitest";
import { playCallsWithWork } from "../support/calls-with-work.ts";
import { playExampleCalls } from "../support/example-calls.ts";
import { endCounting } from "../support/failing-storage.ts";
import { type Finding, interruptEverywhere } from "../support/interrupt-everywhere.ts";
import type { Moment } from "../support/interrupted-call.ts";
import { mutations } from "../support/mutations.ts";

/** Mutations that are not tried, and why. */
const untried: Readonly<Record<string, string>> = {
  "auth.verify": "a challenge is answered once, whatever comes of it, and each refusal is told",
  "terminals.open": "needs a shell: a second agent with the same key ends those of the first",
  "terminals.ticket": "changes nothing, and needs a shell",
};

/** What is as it should be all the same, and why. */
type Accepted = Partial<Record<Finding["kind"], string>>;

const eachAlone: Accepted = { "answered, and not done": "it says of each agent whether it was changed" };

const expected: Readonly<Record<string, Accepted>> = {
  "agents.rejectPending": { "answered, and not done": "it says how many it rejected, and how many remain" },
  "agents.setNames": eachAlone,
  "agents.setStatuses": eachAlone,
  "tags.change": eachAlone,
  "channels.test": { "answered, and not done": "it says what came of it, also that it could not be sent" },
  "secrets.rotateKey": {
    "refused, and done in part": "the next rotation goes on with one that broke off",
    "not the same again": "the next rotation goes on with one that broke off",
  },
};

afterAll(endCounting);

test("a call whose storage fails in the middle is refused and not made, or answered and made", async () => {
  const tried = new Set<string>();
  const found = new Map<string, string>();
  const interrupt = async (moment: Moment): Promise<void> => {
    const { procedure } = moment;
    if (!mutations.includes(procedure) || tried.has(procedure) || procedure in untried) return;
    tried.add(procedure);
    for (const { call, kind, seen } of await interruptEverywhere(moment))
      found.set(`${procedure}: ${kind}`, `at ${call}: ${seen}`);
  };
  // First those that have more to do than in the examples.
  await playCallsWithWork(interrupt);
  await playExampleCalls(undefined, undefined, interrupt);
  expect(mutations.filter((name) => !tried.has(name)).toSorted()).toEqual(Object.keys(untried).toSorted());
  const accepted = Object.entries(expected).flatMap(([name, kinds]) =>
    Object.keys(kinds).map((kind) => `${name}: ${kind}`),
  );
  expect(Object.fromEntries([...found].filter(([what]) => !accepted.includes(what)))).toEqual({});
  expect(Object.keys(expected).filter((name) => !tried.has(name))).toEqual([]);
}, 300_000);
