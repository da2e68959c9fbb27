/** Agents with equal changes, counted, written, and corrected once it is known how an operation ended. */
import { beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { toJsonObject } from "../../lib/json.ts";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import { ChangeGroups, type GroupEnd } from "../../lib/rollouts/change-groups.ts";
import type { RolloutDocument } from "../../lib/rollouts/documents.ts";
import type { GroupDocument } from "../../lib/rollouts/group-documents.ts";
import { noCounts } from "../../lib/rollouts/progress.ts";
import { noRecap } from "../../lib/rollouts/recap.ts";
import { correctionOf } from "../../lib/rollouts/rollout-corrections.ts";
import { countOutcomes } from "../../lib/state/result.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { operationDocument } from "../support/operation-document.ts";
import { OldOperations } from "../support/retention.ts";

const counts = { ...countOutcomes([]), total: 3, changed: 2, removed: 1, unchanged: 1 };
const ended = (changes: string | undefined, more: Partial<GroupEnd> = {}): GroupEnd => ({
  status: "succeeded",
  counts,
  ...(changes !== undefined && { changes }),
  ...more,
});
const stored = (changes: string, agents: number, more: Partial<GroupDocument> = {}): GroupDocument => ({
  rollout_id: "r",
  changes,
  agents,
  outcome: "changed",
  status: "succeeded",
  counts: { changed: 2, would_change: 0, unknown: 0, removed: 1, failed: 0 },
  ...more,
});
const put = (group: GroupDocument) => ({
  kind: "put",
  collection: "rollout_groups",
  key: `r/${group.changes}`,
  value: group,
});
const gone = (changes: string) => ({ kind: "delete", collection: "rollout_groups", key: `r/${changes}` });

describe("groups of agents with equal changes", () => {
  let groups: ChangeGroups;
  beforeEach(() => {
    groups = new ChangeGroups();
  });

  test("are written whole, each once for all that happened since", () => {
    expect(groups.isUnwritten).toBe(false);
    for (const changes of ["a", "b", "a"]) groups.join(ended(changes));
    expect(groups.isUnwritten).toBe(true);
    expect(groups.take("r", 10).writes).toEqual([put(stored("a", 2)), put(stored("b", 1))]);
    expect(groups.isUnwritten).toBe(false);
    expect(groups.take("r", 10)).toEqual({ taken: [], writes: [] });
    groups.join(ended("b"));
    expect(groups.take("r", 10).writes).toEqual([put(stored("b", 2))]);
  });

  test("say how their agents ended", () => {
    const error = { code: "INTERNAL", message: "No." };
    groups.join(ended("a", { status: "failed", error }));
    const { writes } = groups.take("r", 10);
    expect(writes).toEqual([put(stored("a", 1, { status: "failed", outcome: "failed", error }))]);
  });

  test("are taken some at a time, and given back where they could not be written", () => {
    for (const changes of ["a", "b", "c"]) groups.join(ended(changes));
    const { taken } = groups.take("r", 2);
    expect(taken).toEqual(["a", "b"]);
    expect(groups.take("r", 2).taken).toEqual(["c"]);
    groups.giveBack(taken);
    expect(groups.isUnwritten).toBe(true);
    expect(groups.take("r", 9).taken).toEqual(["a", "b"]);
  });

  test("go once nobody is in them, and take in nobody of a version that had none", () => {
    groups.join(ended("a"));
    groups.take("r", 10);
    groups.join(ended(undefined));
    groups.leave(undefined);
    groups.leave("unknown");
    expect(groups.isUnwritten).toBe(false);
    groups.leave("a");
    expect(groups.take("r", 10).writes).toEqual([gone("a")]);
  });

  test("that are stored go with the next write, but for those in which somebody is", () => {
    groups.join(ended("a"));
    groups.take("r", 10);
    for (const changes of ["a", "b"]) groups.recall(stored(changes, 7));
    expect(groups.take("r", 10).writes).toEqual([put(stored("a", 1)), gone("b")]);
  });

  test("have one text each in memory", () => {
    groups.join(ended("a"));
    expect(["a", "b", undefined].map((changes) => groups.nameOf(changes))).toEqual(["a", "b", undefined]);
  });
});

describe("what an agent tells late of its operation of a rollout", () => {
  let old: OldOperations;
  beforeEach(async () => {
    const clock = new FakeClock();
    old = await OldOperations.open(new MemoryStorage({ clock }), clock);
  });

  const rollout: RolloutDocument = {
    rollout_id: "r",
    assignment: "web",
    kind: "apply",
    trigger: "manual",
    status: "partial",
    strategy: {},
    modules: [],
    matched: 3,
    batches: 1,
    batch: 0,
    begun: 3,
    counts: { ...noCounts(), unknown: 2, succeeded: 1 },
    recap: { ...noRecap(), unknown: 2, changed: 1, removing: 1, resources: counts },
    targets: "t",
    requested_by: { type: "operator", id: "1", name: "ada" },
    created_at: "2030-01-01T00:00:00.000Z",
  };
  const of = (status: OperationDocument["status"], more: Partial<OperationDocument>): OperationDocument =>
    operationDocument({ rollout_id: "r", status, counts, ...more });
  const before = of("unknown", { changes: "lost", counts: countOutcomes([]) });
  const after = of("succeeded", { changes: "a" });
  const keep = async (document: RolloutDocument, groups: GroupDocument[] = []): Promise<void> => {
    await old.put("rollouts", "r", toJsonObject(document));
    for (const group of groups) await old.put("rollout_groups", `r/${group.changes}`, toJsonObject(group));
  };
  const written = async (told = { before, after }) => {
    const { writes = [] } = await correctionOf(old.storage, told);
    return writes.map((write) =>
      "expected" in write ? [write.expected, { ...write, expected: 0 }] : [null, write],
    );
  };
  const corrected = {
    ...rollout,
    counts: { ...noCounts(), unknown: 1, succeeded: 2 },
    recap: {
      ...noRecap(),
      unknown: 1,
      changed: 2,
      removing: 2,
      resources: { ...counts, total: 6, changed: 4, removed: 2, unchanged: 2 },
    },
  };
  const rolloutPut = (value: RolloutDocument) => [
    1,
    { kind: "put", collection: "rollouts", key: "r", value, expected: 0 },
  ];

  test("corrects its counts and its recap, and moves the agent to its group", async () => {
    await keep(rollout, [stored("lost", 2, { status: "unknown", outcome: "unknown" }), stored("a", 1)]);
    const lost = stored("lost", 1, { status: "unknown", outcome: "unknown" });
    expect(await written()).toEqual([
      rolloutPut(corrected),
      [1, { ...put(lost), expected: 0 }],
      [1, { ...put(stored("a", 2)), expected: 0 }],
    ]);
  });

  test("ends a group in which nobody is any more, and makes one that is new", async () => {
    await keep(rollout, [stored("lost", 1)]);
    expect(await written()).toEqual([
      rolloutPut(corrected),
      [1, { ...gone("lost"), expected: 0 }],
      [0, { ...put(stored("a", 1)), expected: 0 }],
    ]);
  });

  test("makes a group where that of before is not kept, and none for what has no changes", async () => {
    await keep(rollout);
    expect(await written()).toEqual([rolloutPut(corrected), [0, { ...put(stored("a", 1)), expected: 0 }]]);
    const { changes: _, ...ofEarlierVersion } = before;
    expect(await written({ before: ofEarlierVersion, after })).toEqual([rolloutPut(corrected)]);
  });

  test("corrects the counts alone of a command, and of a rollout of a version without a recap", async () => {
    await keep({ ...rollout, kind: "run" });
    const run = { before: { ...before, kind: "run" as const }, after: { ...after, kind: "run" as const } };
    const [first] = await written(run);
    expect(first).toEqual(rolloutPut({ ...corrected, kind: "run", recap: rollout.recap! }));
    const { recap: _, ...ofEarlierVersion } = rollout;
    const { recap: _none, ...counted } = corrected;
    await keep(ofEarlierVersion);
    const [[, second]] = (await written()) as [[number, object]];
    expect(second).toEqual(rolloutPut(counted)[1]);
  });

  test("changes nothing of a rollout that goes on and counts itself, which must not end in this moment", async () => {
    await keep({ ...rollout, status: "stopping" });
    expect(await written()).toEqual([rolloutPut({ ...rollout, status: "stopping" })]);
  });

  test("writes nothing where the rollout is not kept", async () => {
    expect(await written()).toEqual([]);
  });
});
