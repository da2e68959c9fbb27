/** Which baseline of an agent may be put back by itself: one that nothing else was asked of the machine after. */
import { expect, test } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { toJsonObject } from "../../lib/json.ts";
import type { AgentStateDocument, OperationDocument } from "../../lib/operations/documents.ts";
import { findRepeatable } from "../../lib/operations/repeated-baseline.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { OldOperations } from "../support/retention.ts";

const nodeId = "a";
type Other = Partial<OperationDocument> & Pick<OperationDocument, "kind">;
type Module = NonNullable<AgentStateDocument["modules"]>[string];
const begun = 5_000;

/** An apply that put modules in place, and what else is of its machine. */
async function scene({ before = [], after = [] }: { before?: Other[]; after?: Other[] } = {}): Promise<{
  storage: OldOperations["storage"];
  baseline: string;
  ids: string[];
}> {
  const clock = new FakeClock();
  const old = await OldOperations.open(new MemoryStorage({ clock }), clock);
  const ids: string[] = [];
  const add = async (fields: Partial<OperationDocument>): Promise<string> =>
    old.add({ kind: "apply", node_id: nodeId, ...fields });
  for (const other of before) ids.push(await add(other));
  const baseline = await add({ begun_at: begun });
  for (const other of after) ids.push(await add(other));
  const at = new Date(clock.now()).toISOString();
  const whole = (operation_id: string): Module => ({
    revision: 1,
    operation_id,
    assignments: [],
    applied: { revision: 1, operation_id },
  });
  const state: AgentStateDocument = {
    node_id: nodeId,
    baseline: { operation_id: baseline, snapshot: "s", at },
    modules: {
      web: whole(baseline),
      base: whole("of another apply"),
      torn: { ...whole(baseline), operation_id: "one that failed" },
      doubtful: { ...whole(baseline), doubtful: true },
    },
  };
  await old.put("agent_states", nodeId, toJsonObject(state));
  return { storage: old.storage, baseline, ids };
}

test.each([
  [["web"], true],
  [["web", "base"], true],
  [[], true],
  [["torn"], false],
  [["web", "torn"], false],
  [["doubtful"], false],
  [["unknown"], false],
] as const)("of modules %j: %s", async (modules, may) => {
  const { storage, baseline } = await scene();
  const found = await findRepeatable(storage, { nodeId, operationId: baseline, modules });
  expect(found?.value.baseline?.operation_id).toBe(may ? baseline : undefined);
});

test("of an apply that is not its newest, and of an agent of which nothing is known: none", async () => {
  const { storage, baseline } = await scene();
  expect(await findRepeatable(storage, { nodeId, operationId: "older", modules: [] })).toBeNull();
  expect(await findRepeatable(storage, { nodeId: "b", operationId: baseline, modules: [] })).toBeNull();
});

test.each<[string, boolean, Other, ("before" | "after")?]>([
  ["an apply that failed", true, { kind: "apply", status: "failed" }],
  ["an apply that waits", false, { kind: "apply", status: "queued" }],
  ["an apply that runs", false, { kind: "apply", status: "running" }],
  ["a forgetting that runs", false, { kind: "forget", status: "running" }],
  ["a plan that runs", true, { kind: "plan", status: "running" }],
  ["a run that runs", true, { kind: "run", status: "running" }],
  ["an apply of another agent", true, { kind: "apply", status: "running", node_id: "b" }],
  ["an unknown apply that began later", false, { kind: "apply", status: "unknown", begun_at: begun + 1 }],
  ["an unknown apply that began before", true, { kind: "apply", status: "unknown", begun_at: begun - 1 }],
  [
    "an unknown apply that began in the same moment",
    false,
    { kind: "apply", status: "unknown", begun_at: begun },
  ],
  [
    "an unknown apply that began in the same moment, made before",
    true,
    { kind: "apply", status: "unknown", begun_at: begun },
    "before",
  ],
  ["an unknown apply of an earlier version", false, { kind: "apply", status: "unknown" }],
  [
    "an unknown apply of an earlier version, made before",
    true,
    { kind: "apply", status: "unknown" },
    "before",
  ],
  [
    "an unknown forgetting that began later",
    false,
    { kind: "forget", status: "unknown", begun_at: begun + 1 },
  ],
])("beside %s: %s", async (_, may, other, when = "after") => {
  const { storage, baseline } = await scene({ [when]: [other] });
  const found = await findRepeatable(storage, { nodeId, operationId: baseline, modules: ["web"] });
  expect(found !== null).toBe(may);
});

test("the apply that repeats it does not stand in its own way, and any other does", async () => {
  const { storage, baseline, ids } = await scene({ after: [{ kind: "apply", status: "queued" }] });
  const repeated = { nodeId, operationId: baseline, modules: ["web"] };
  expect(await findRepeatable(storage, { ...repeated, by: ids[0]! })).not.toBeNull();
  expect(await findRepeatable(storage, { ...repeated, by: "another" })).toBeNull();
});

test("by what its apply was begun counts, and where that is not kept, by its id", async () => {
  const { storage, baseline } = await scene({
    after: [{ kind: "apply", status: "unknown", begun_at: begun - 1 }],
  });
  await storage.commit([{ kind: "delete", collection: "operations", key: baseline }]);
  expect(await findRepeatable(storage, { nodeId, operationId: baseline, modules: ["web"] })).toBeNull();
});
