/** Changes of tags: of the version that was seen, told as what they became, and written only where something is other. */
import { describe, expect, it, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { CallClaim, OperatorCaller } from "../../lib/callers/caller.ts";
import type { ChangeOptions } from "../../lib/document-version.ts";
import { approved } from "../support/leaving-agents.ts";

type Verbs = TestOrchestrator["orchestrator"]["agents"]["tags"];
type Change = (tags: Verbs, node_id: string, options?: ChangeOptions) => Promise<unknown>;

const verbs: Readonly<Record<string, Change>> = {
  replace: (tags, node_id, options) => tags.replace(systemCaller, { node_id, tags: { b: "2" } }, options),
  set: (tags, node_id, options) => tags.set(systemCaller, { node_id, key: "b", value: "2" }, options),
  remove: (tags, node_id, options) => tags.remove(systemCaller, { node_id, key: "a" }, options),
};

test.each(Object.entries(verbs))(
  "%s changes the version that was seen, and no other",
  async (_verb, change) => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { nodeId: node_id } = await approved(test, 1);
    const { version } = await agents.tags.replace(systemCaller, { node_id, tags: { a: "1" } });
    const before = await agents.get(systemCaller, { node_id });
    for (const ifVersion of [[version - 1], [version + 1], []]) {
      const refused = change(agents.tags, node_id, { ifVersion });
      await expect(refused).rejects.toMatchObject({ code: "PRECONDITION_FAILED", details: { version } });
    }
    expect(await agents.get(systemCaller, { node_id })).toEqual(before);
    await change(agents.tags, node_id, { ifVersion: [version - 1, version] });
    expect((await agents.get(systemCaller, { node_id })).version).toBe(version + 1);
  },
);

/** An operator whose call is told of, in the order in which it claims. */
function operator(told: unknown[]): OperatorCaller {
  const claim: CallClaim = {
    tell: (answer) => void told.push(answer),
    conceal: () => void told.push("concealed"),
    ride: () => null,
    landed: () => {},
    missed: (error) => error,
  };
  const who = { operator_id: "0197a5b4-6d1e-7c3a-9f00-000000000001", username: "ann", session_id: "s" };
  return { kind: "operator", role: "Admin", ...who, claim };
}

describe("a call with an idempotency key", () => {
  it("is answered again with what it was answered with, also where that is nothing", async () => {
    await using test = await createTestOrchestrator();
    const { tags } = test.orchestrator.agents;
    const { nodeId: node_id } = await approved(test, 1);
    const told: unknown[] = [];
    const caller = operator(told);
    const answers = [
      await tags.replace(caller, { node_id, tags: { a: "1" } }),
      await tags.set(caller, { node_id, key: "b", value: "2" }),
      await tags.remove(caller, { node_id, key: "a" }),
    ];
    expect(told).toEqual(answers);
    expect(answers.slice(0, 2)).toMatchObject([{ tags: { a: "1" } }, { tags: { a: "1", b: "2" } }]);
  });
});

describe("a change of many", () => {
  const before = { a: "1", b: "2" };

  it.each<[change: { set?: Record<string, string>; remove?: string[] }, after: object]>([
    [{ set: { a: "1" } }, before],
    [{ set: { b: "2", a: "1" } }, before],
    [{ remove: ["c"] }, before],
    [{ set: { a: "1" }, remove: ["c", "d"] }, before],
    [{ set: { a: "2" } }, { a: "2", b: "2" }],
    [{ set: { a: "" } }, { a: "", b: "2" }],
    [{ set: { c: "1" } }, { a: "1", b: "2", c: "1" }],
    [{ remove: ["a"] }, { b: "2" }],
    [
      { set: { c: "2" }, remove: ["b"] },
      { a: "1", c: "2" },
    ],
    [
      { set: { constructor: "2" }, remove: ["b"] },
      { a: "1", constructor: "2" },
    ],
  ])("writes and tells where something is other: %j", async (change, after) => {
    await using test = await createTestOrchestrator();
    const { agents } = test.orchestrator;
    const { nodeId: node_id } = await approved(test, 1);
    const { version } = await agents.tags.replace(systemCaller, { node_id, tags: before });
    const toldBefore = test.events.length;
    const isOther = after !== before;
    const answer = await agents.tags.change(systemCaller, {
      ...change,
      node_ids: [node_id],
    });
    expect(answer.items).toMatchObject([{ node_id, outcome: isOther ? "changed" : "unchanged" }]);
    expect(await agents.get(systemCaller, { node_id })).toMatchObject({
      tags: after,
      version: version + Number(isOther),
    });
    const events = test.events.slice(toldBefore).map(({ event_type, metadata }) => [event_type, metadata]);
    expect(events).toEqual(isOther ? [["agent.tagsChanged", { before, after }]] : []);
  });
});
