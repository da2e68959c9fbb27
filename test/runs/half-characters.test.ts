/**
 * Texts that are shortened where a character of two units stands.
 *
 * Symptom: a run was refused with `VALIDATION_FAILED` for a command with an emoji at its 79th character, and work failed on an agent that
 * skipped a resource for a reason with one at the wrong place. Cause: half of a character was left, and no hash is made over that: neither of
 * an event in the audit log nor of what an agent is sent.
 */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { startOf, isWellFormed } from "../../lib/internal/canonical-json.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

/** Every text in a value. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  if (typeof value === "object" && value !== null)
    for (const each of Object.values(value)) yield* textsIn(each);
}

function expectWhole(...values: unknown[]): void {
  for (const text of textsIn(values)) expect(isWellFormed(text), text.slice(-10)).toBe(true);
}

/** A text in which every second place is within a character; with `shift` 1 the others. */
const pairs = (length: number, shift: number): string => "x".repeat(shift) + "😀".repeat(length / 2);

describe("the beginning of a text", () => {
  it.each([
    ["", 3, ""],
    ["abc", 3, "abc"],
    ["abcd", 3, "abc"],
    ["a😀b", 1, "a"],
    ["a😀b", 2, "a"],
    ["a😀b", 3, "a😀"],
    ["a😀", 3, "a😀"],
    ["😀", 1, ""],
    ["😀", 2, "😀"],
    ["😀😀", 3, "😀"],
  ])("of %j, %i units at most", (text, most, beginning) => {
    expect(startOf(text, most)).toBe(beginning);
  });
});

// Shortened for the title, for each operation, and for the rollout; what is printed for the groups.
describe.each([100, 600, 5_000])("a command of %i units", (length) => {
  it.each([0, 1])("runs and is told with whole characters alone, shifted by %i", async (shift) => {
    await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
    const { runs, operations, rollouts, audit } = scene.test.orchestrator;
    const { agent } = scene.agents[0]!;
    const command = pairs(length, shift);
    const { rollout_id } = await runs.start(systemCaller, { selector: "*", command, wait_seconds: 0 });
    const { operation_id } = await agent.next("run");
    const printed = { module: "run", resource_id: "command", stream: "stdout" as const, truncated: false };
    const output = [{ ...printed, text: pairs(20_000, shift) }];
    agent.link.send({ ...emptyResult(operation_id), output });
    await agent.next("ack");
    await settleAll();
    const run = await runs.get(systemCaller, { rollout_id });
    expect(run.groups).toMatchObject([{ count: 1, output: [{ truncated: true }] }]);
    expectWhole(run, scene.test.events, (await audit.list(systemCaller)).items);
    expectWhole(
      await operations.get(systemCaller, { operation_id }),
      await rollouts.get(systemCaller, { rollout_id }),
    );
  });
});

it.each([0, 1])(
  "an agent that skips a resource for a long reason is sent it, shifted by %i",
  async (shift) => {
    await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
    const { modules, operations } = scene.test.orchestrator;
    const { agent, nodeId: node_id } = scene.agents[0]!;
    for (const count of [1, 7, 20]) {
      const names = Array.from({ length: count }, (_, at) => `p${at}`);
      const value = JSON.stringify(pairs(400, shift));
      const params = names.map((name) => `  ${name}: { type: string, default: ${value} }\n`).join("");
      const when = names.map((name) => `param.${name} = "${pairs(80, shift)}"`).join(" or ");
      const resources = `  - { type: file, path: /web, content: hi, when: ${JSON.stringify(when)} }\n`;
      await modules.upload(systemCaller, {
        content: `name: web\nparams:\n${params}resources:\n${resources}`,
      });
      await operations.plan(systemCaller, { node_id, modules: ["web"], wait_seconds: 0 });
      const sent = await agent.next("plan");
      expect(Object.values(sent.skip_reasons ?? {})).toEqual([expect.stringContaining("...")]);
      expectWhole(sent);
      agent.link.send(emptyResult(sent.operation_id));
      await agent.next("ack");
    }
  },
);

it("what an agent tells of itself anew is told with whole characters alone", async () => {
  await using scene = await createScene(1, undefined, { driftIntervalSeconds: 0 });
  const { agent, nodeId } = scene.agents[0]!;
  const collected_at = new Date(scene.clock.now()).toISOString();
  for (const [time, place] of ["here", pairs(400, 0), pairs(400, 1), "there"].entries()) {
    agent.link.send({ type: "attributes", attributes: { place }, collected_at });
    await settleAll();
    const told = scene.test.events.filter(({ event_type }) => event_type === "agent.attributesChanged");
    expect(told.filter(({ target }) => target?.id === nodeId)).toHaveLength(time);
    expectWhole(told);
  }
});

it.each([0, 1])(
  "a start without stored data says what is lost in whole characters, shifted by %i",
  async (shift) => {
    const losses = {
      list: () => [{ what: `the file ${pairs(1_000, shift)}` }],
      told: () => Promise.resolve(),
    };
    const storage = Object.assign(new MemoryStorage(), { losses });
    await using test = await createTestOrchestrator({ storage: storage as never });
    const { items } = await test.orchestrator.audit.list(systemCaller, {
      event_type: "storage.lossAccepted",
    });
    expect(items).toHaveLength(1);
    expectWhole(items.map(({ summary }) => summary));
  },
);
