/** What an orchestrator shows of itself: verbs, each of which asks who calls. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemCaller, type Orchestrator } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { featuresOf, verbsOf } from "../support/verbs-of.ts";

const anonymous = { kind: "anonymous" } as const;
/** A feature has no more verbs than somebody remembers. */
const mostVerbs = 15;

/** Verbs that nobody has signed in for, with why. */
const open: Readonly<Record<string, string>> = {
  "access.challenge": "begins a sign-in",
  "access.verify": "ends a sign-in",
  "access.authenticate": "tells who a token is of",
  "status.get": "tells a caller who did not sign in no more than whether it works",
  "figures.count": "counts, for the program that the orchestrator is embedded in",
  "figures.onCommit": "the same, of how long commits take",
  "figures.onEnded": "the same, of operations that end",
  "terminals.accept": "takes a socket over, which has to show a ticket before anything else",
  "idempotency.once": "makes the call that it is given, which asks",
};

const life = [
  "start",
  "stop",
  "beginDrain",
  "letGo",
  "listen",
  "checkReady",
  "servedAt",
  "publicKey",
  "resourceTypes",
];

let test: TestOrchestrator;
beforeAll(async () => (test = await createTestOrchestrator()));
afterAll(() => test[Symbol.asyncDispose]());

type Verb = (...input: unknown[]) => unknown;

const features = (orchestrator: Orchestrator): [string, object][] => featuresOf(orchestrator);

describe("an orchestrator", () => {
  it("has features, and beside them only what starts and ends it or tells what it is", () => {
    const { orchestrator } = test;
    expect(features(orchestrator).map(([name]) => name)).toEqual([
      "access",
      "operators",
      "agents",
      "agents.tags",
      "enrolmentTokens",
      "modules",
      "assignments",
      "events",
      "operations",
      "rollouts",
      "runs",
      "drift",
      "terminals",
      "secrets",
      "notifications",
      "channels",
      "maintenanceWindows",
      "metrics",
      "thresholds",
      "audit",
      "discovery",
      "backups",
      "restores",
      "idempotency",
      "figures",
      "summary",
      "status",
    ]);
    const own = Object.getOwnPropertyNames(Object.getPrototypeOf(orchestrator) as object);
    expect(own.filter((name) => name !== "constructor").toSorted()).toEqual(life.toSorted());
  });

  it("lets nobody reach the inside of a feature", () => {
    const inside = new Set<unknown>(Object.values(servicesOf(test.orchestrator)));
    const seen = features(test.orchestrator).map(([, feature]) => feature);
    expect(seen.filter((feature) => inside.has(feature))).toEqual([]);
  });

  it("has at most 15 verbs in each feature", () => {
    const many = features(test.orchestrator).filter(([, feature]) => verbsOf(feature).length > mostVerbs);
    expect(many.map(([name]) => name)).toEqual([]);
  });

  // A program without types may leave the caller out, or put the input in its place.
  it.each<[string, unknown]>([
    ["whoever has not signed in", anonymous],
    ["a call without a caller", undefined],
    ["null in place of a caller", null],
    ["the input in place of a caller", {}],
    ["text in place of a caller", "system"],
  ])("refuses %s, for every verb and before anything else", async (_, caller) => {
    const before = test.events.length;
    const asked: string[] = [];
    for (const [path, feature] of features(test.orchestrator)) {
      for (const verb of verbsOf(feature)) {
        const name = `${path}.${verb}`;
        if (name in open) continue;
        const code = await refusalOf(feature, verb, caller);
        expect(`${name}: ${code}`).toBe(`${name}: UNAUTHENTICATED`);
        asked.push(name);
      }
    }
    expect(asked.length).toBeGreaterThan(50);
    expect(test.events.length).toBe(before);
    console.info(
      `${asked.length} verbs refuse ${JSON.stringify(caller)} as a caller; ${Object.keys(open).length} are open.`,
    );
  });

  it("names no verb as open that there is not", async () => {
    const all = features(test.orchestrator).flatMap(([path, feature]) =>
      verbsOf(feature).map((verb) => `${path}.${verb}`),
    );
    expect(Object.keys(open).filter((name) => !all.includes(name))).toEqual([]);
    // Open to whoever says that they are nobody, not to whoever says nothing.
    await expect(test.orchestrator.status.get(undefined as never)).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
    });
    // And the process itself may: the features are alive.
    await expect(test.orchestrator.status.get(systemCaller)).resolves.toMatchObject({ status: "ok" });
  });
});

/** The code that a verb refuses a caller with, whose input is wrong as well; undefined where it does not. */
async function refusalOf(feature: object, verb: string, caller: unknown): Promise<string | undefined> {
  try {
    const answer = (feature as Record<string, Verb>)[verb]!(
      caller,
      verb === "authorize" ? "agents.list" : { nonsense: true },
    );
    if (answer !== null && typeof answer === "object" && Symbol.asyncIterator in answer)
      await (answer as AsyncGenerator).next();
    else await answer;
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}
