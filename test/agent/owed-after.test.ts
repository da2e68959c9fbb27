/** What is owed after an operation that was cut off, from the lines of its journal. */
import { describe, expect, test } from "vitest";
import type { JournalRecord } from "../../lib/agent/journal-record.ts";
import { owedAfter } from "../../lib/agent/owed-after.ts";
import { ThingNames } from "../../lib/agent/thing-names.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import type { OwedTrigger, Watching } from "../../lib/state/owed.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import type { ResourceResult } from "../../lib/state/result.ts";

const operation_id = "01890000-0000-7000-8000-000000000002";
const earlier = "01890000-0000-7000-8000-000000000001";

const watching = (id: string, ...watched: string[]): Watching => ({
  thing: `script:m/${id}`,
  module: "m",
  resource_id: id,
  type: "script",
  identity: `m/${id}`,
  watched: watched.map((each) => ({ thing: `path:/${each}`, key: `m/${each}`, trigger: "run" as const })),
});

const begun = (thing: string, removal = false): JournalRecord => ({
  record: "begun",
  identity: thing,
  removal,
});

const result = (id: string, more: Partial<ResourceResult> = {}): JournalRecord => ({
  record: "result",
  result: {
    resource_id: id,
    module: "m",
    type: "file",
    identity: `/${id}`,
    outcome: "changed",
    action: "update",
    changes: [],
    caused_by: [],
    attempts: 1,
    duration_ms: 1,
    ...more,
  },
});

/** Who owes because of whom. */
function after(
  records: JournalRecord[],
  { owed = [], isComplete = true }: { owed?: OwedTrigger[]; isComplete?: boolean } = {},
): string[] {
  const names = new ThingNames([], { host: new MemoryHost(), types: resourceTypes });
  const told: JournalRecord = {
    record: "watching",
    resources: [watching("load", "a", "b"), watching("then", "b")],
  };
  const left = owedAfter({ operation_id, records: [told, ...records] }, { owed, names, isComplete });
  return left.map(
    ({ resource_id, causes, operation_id: since }) => `${resource_id} ${causes.join()} ${since.at(-1)}`,
  );
}

const paid = result("load", { type: "script", identity: "m/load", action: "run", caused_by: ["a"] });
const owes: OwedTrigger[] = [
  { ...watching("load"), trigger: "run" as const, causes: ["m/old"], operation_id: earlier },
].map(({ watched: _none, ...each }) => each);

describe("after a cut", () => {
  test.each<[string, JournalRecord[], string[]]>([
    ["nothing was begun", [], []],
    ["one was begun", [begun("path:/a")], ["load m/a 2"]],
    ["one was changed", [begun("path:/b"), result("b")], ["load m/b 2", "then m/b 2"]],
    ["nothing came of it", [begun("path:/a"), { record: "untouched", identity: "path:/a" }], []],
    [
      "nothing came of one of two",
      [begun("path:/a"), begun("path:/b"), { record: "untouched", identity: "path:/b" }],
      ["load m/a 2"],
    ],
    ["what it caused was done", [begun("path:/a"), result("a"), begun("script:m/load"), paid], []],
    [
      "who owes ran for another reason",
      [begun("path:/a"), result("load", { type: "script", identity: "m/load", action: "run" })],
      ["load m/a 2"],
    ],
    [
      "who owes was not changed by it",
      [
        begun("path:/a"),
        result("load", { type: "script", identity: "m/load", outcome: "failed", caused_by: ["a"] }),
      ],
      ["load m/a 2"],
    ],
    [
      "it was done, and another began",
      [begun("path:/a"), paid, begun("path:/b")],
      ["load m/b 2", "then m/b 2"],
    ],
    [
      "what had its id was taken away",
      [begun("path:/was", true), result("b", { identity: "/was", action: "remove" })],
      [],
    ],
    [
      "it is to be absent",
      [begun("path:/b"), result("b", { action: "remove" })],
      ["load m/b 2", "then m/b 2"],
    ],
  ])("where %s", (_name, records, expected) => {
    expect(after(records)).toEqual(expected);
  });

  test("what was owed before stays, with its first operation, until it is done", () => {
    expect(after([], { owed: owes })).toEqual(["load m/old 1"]);
    expect(after([begun("path:/a")], { owed: owes })).toEqual(["load m/old,m/a 1"]);
    expect(after([begun("path:/a"), { record: "untouched", identity: "path:/a" }], { owed: owes })).toEqual([
      "load m/old 1",
    ]);
    expect(after([paid], { owed: owes })).toEqual([]);
  });

  test("all is owed that may be, where the last lines may be lost", () => {
    expect(after([], { isComplete: false })).toEqual(["load m/a,m/b 2", "then m/b 2"]);
  });
});

const untouched = (thing: string): JournalRecord => ({ record: "untouched", identity: thing });
const done = (id: string): JournalRecord =>
  result(id, { type: "script", identity: `m/${id}`, action: "run", caused_by: ["b"] });

/** Every line of a journal that counts here, with what it makes of causes by watcher. */
const steps: [line: JournalRecord, effect: (model: Model) => void][] = [
  [begun("path:/a"), (model) => model.begin("a")],
  [begun("path:/b"), (model) => model.begin("b")],
  [untouched("path:/a"), (model) => model.takeBack("a")],
  [untouched("path:/b"), (model) => model.takeBack("b")],
  [result("a"), (model) => model.change("a")],
  [result("b"), (model) => model.change("b")],
  [result("a", { outcome: "failed" }), () => undefined],
  [done("load"), (model) => model.owed.delete("load")],
  [done("then"), (model) => model.owed.delete("then")],
];

/** What is owed, in the simplest words: who watches what, and which of the causes came with a change that has begun. */
class Model {
  readonly owed = new Map<string, { causes: string[]; since: string }>();
  readonly #begun = new Map<string, [watcher: string, cause: string][]>();

  begin(id: string): void {
    this.#begun.set(id, this.change(id));
  }

  change(id: string): [string, string][] {
    const watchers = id === "b" ? ["load", "then"] : ["load"];
    return watchers.flatMap((watcher) => {
      const entry = this.owed.get(watcher) ?? { causes: [], since: "2" };
      if (entry.causes.includes(`m/${id}`)) return [];
      this.owed.set(watcher, { ...entry, causes: [...entry.causes, `m/${id}`] });
      return [[watcher, `m/${id}`]];
    });
  }

  takeBack(id: string): void {
    for (const [watcher, cause] of this.#begun.get(id) ?? []) {
      const entry = this.owed.get(watcher);
      const causes = entry?.causes.filter((each) => each !== cause) ?? [];
      if (entry && causes.length > 0) this.owed.set(watcher, { ...entry, causes });
      else this.owed.delete(watcher);
    }
    this.#begun.delete(id);
  }

  all(): string[] {
    return [...this.owed].map(([id, { causes, since }]) => `${id} ${causes.join()} ${since}`).toSorted();
  }
}

/** Who may owe already, because of what. */
const priors: [watcher: string, causes: string[]][][] = [
  [],
  [["load", ["m/a"]]],
  [["load", ["m/old", "m/b"]]],
  [
    ["then", ["m/b"]],
    ["load", ["m/b"]],
  ],
];

test("after up to four lines of any kind, whatever was owed before, it is what a few simple words say", () => {
  const wrong: object[] = [];
  for (const prior of priors) {
    const owed = prior.map(([id, causes]) => {
      const { watched: _none, ...watcher } = watching(id);
      return { ...watcher, trigger: "run" as const, causes, operation_id: earlier };
    });
    for (let code = 0; code < steps.length ** 4; code += 1) {
      const chosen = [0, 1, 2, 3].map((at) => steps[Math.floor(code / steps.length ** at) % steps.length]!);
      const model = new Model();
      for (const [id, causes] of prior) model.owed.set(id, { causes, since: "1" });
      for (const [, effect] of chosen) effect(model);
      const lines = chosen.map(([line]) => line);
      const left = after(lines, { owed }).toSorted();
      if (left.join("; ") !== model.all().join("; ")) wrong.push({ prior, lines, left, right: model.all() });
    }
  }
  expect(wrong.slice(0, 3)).toEqual([]);
});
