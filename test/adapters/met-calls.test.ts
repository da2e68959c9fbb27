/**
 * Every mutation of the router meets somebody else between what it read and what it commits: what comes of both is what would have come of
 * one after the other, or the call is refused as a conflict and nothing of it is done. FLEETWRIGHT_SEEDS="<seed>-<seed>" takes another
 * sample, a soak all meetings.
 */
import { afterAll, expect, test } from "vitest";
import { playExampleCalls } from "../support/example-calls.ts";
import { endMeetings } from "../support/meeting-storage.ts";
import { mutations } from "../support/mutations.ts";
import { courseOf, Races } from "../support/race-everywhere.ts";
import { seededRandom } from "../support/random.ts";
import { meetingsOf } from "../support/rivals.ts";
import { isSoak, seedsFor } from "../support/soak.ts";

/** Mutations that are not tried, and why. */
const untried: Readonly<Record<string, string>> = {
  "auth.verify": "a challenge is answered once: test/access/sign-in.test.ts",
  "terminals.open": "needs a shell: a second agent with the same key ends those of the first",
  "terminals.ticket": "changes nothing, and needs a shell",
};

/** Meetings that come out as neither order, and why that is as it should be: by the call, and what the rival's name holds. */
const accepted: readonly [procedure: string, rival: string, reason: string][] = [
  ["tags.change", " /agents/", "whom a selector means is asked once; each is then told of as it is by then"],
  ["runs.cancel", "/cancel", "of two who ask for one thing at once each is told of"],
  ["auth.signOut", "/auth/session", "of two who end one session at once each has ended it"],
  ["secrets.rotateKey", "/secrets-key/rotate", "of two at once the one goes on with the key of the other"],
];

const withAgent = "goes with its agent, whose document is expected";
const withChannel = "goes with its channel, whose document is expected";

/** What is written whatever revision stands there, by verb and collection, and why. */
const unexpecting: Readonly<Record<string, string>> = {
  "delete agent_attributes": withAgent,
  "delete agent_findings": withAgent,
  "delete agent_names": withAgent,
  "delete drift_states": withAgent,
  "put agent_names": "both agents' documents are expected, and a name is written with its agent's alone",
  "put removed_agents": "says no more than that there was one with this key",
  "put applied_modules": "follows from the agent's state, which is expected",
  "delete operator_names": "goes with its operator, whose document is expected",
  "delete sessions": "whatever became of it, it is to end",
  "put module_revisions": "is new with its module, whose document is expected",
  "delete module_revisions": "goes with its module, whose document is expected",
  "put loose_contents": "says no more than that it is there; who takes it away expects what they saw",
  "put rollout_groups": "is new, of a rollout that this process alone leads",
  "delete secret_values":
    "goes with its owner, whose document is expected, and never changes but by a new key",
  "put secret_expiries": "follows from the secret, which is expected",
  "delete secret_expiries": "follows from the secret, which is expected",
  "delete channel_states": withChannel,
  "delete audit_places": withChannel,
  "delete deliveries": "goes when its channel is gone",
};

const [seed = 0] = seedsFor({ usual: 1, soak: 1 });

afterAll(endMeetings);

test(
  `what meets somebody else is as one after the other (seed ${seed})`,
  async () => {
    const random = seededRandom(seed);
    const tried = new Set<string>();
    const found = new Map<string, string>();
    const unsaid = new Set<string>();
    const used = new Set<(typeof accepted)[number]>();
    await playExampleCalls(undefined, undefined, async (moment) => {
      const { procedure } = moment;
      if (!mutations.includes(procedure) || tried.has(procedure) || procedure in untried) return;
      tried.add(procedure);
      const course = await courseOf(moment);
      for (const { kind, collection, isExpecting } of course.commits.flatMap(({ writes }) => writes))
        if (!isExpecting) unsaid.add(`${kind} ${collection}`);
      const all = meetingsOf(course.moment, course.commits);
      const some = isSoak ? all : all.splice(Math.floor(random() * all.length), 1);
      const races = new Races(course);
      for (const meeting of some) {
        const lost = await races.meet(meeting);
        if (lost === null) continue;
        const known = accepted.find(([call, rival]) => call === procedure && lost.rival.includes(rival));
        if (known) used.add(known);
        else found.set(`${procedure}, commit ${lost.at}, met ${lost.rival}`, lost.seen);
      }
    });
    expect(Object.fromEntries(found)).toEqual({});
    expect(mutations.filter((name) => !tried.has(name)).toSorted()).toEqual(Object.keys(untried).toSorted());
    expect([...unsaid].toSorted()).toEqual(Object.keys(unexpecting).toSorted());
    if (isSoak) expect(accepted.filter((each) => !used.has(each))).toEqual([]);
  },
  isSoak ? 3_600_000 : 300_000,
);
