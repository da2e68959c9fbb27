/** What the journal of an operation says, and what it says of nothing: the files of others, and times of a clock that was set. */
import { expect, test } from "vitest";
import { interruptionOf } from "../../lib/agent/interruption.ts";
import {
  parseJournal,
  recordsBeforeChanges,
  toLine,
  type JournalRecord,
} from "../../lib/agent/journal-record.ts";
import type { OperationResult } from "../../lib/agent/operation-journal.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { resource, uuid } from "../support/agent-commands.ts";

const at = "2030-01-01T00:00:00.000Z";
const motd = resource({ id: "motd", type: "file", path: "/motd", content: "ours" });

function resultOf(operation_id: string): OperationResult {
  const times = { started_at: at, finished_at: at, duration_ms: 1 };
  return { type: "result", operation_id, status: "succeeded", results: [], output: [], ...times };
}

const accepted = (operation_id: string): JournalRecord => ({
  record: "accepted",
  operation_id,
  kind: "apply",
  not_after: at,
  at,
});

/** The records that say whose they are. */
const withOwner: [name: string, of: (operation_id: string) => JournalRecord][] = [
  ["accepted", accepted],
  ["finished", (operation_id) => ({ record: "finished", result: resultOf(operation_id) })],
  [
    "restarting",
    (operation_id) => ({
      record: "restarting",
      resource: motd,
      own_run: "run",
      owed: [],
      result: resultOf(operation_id),
    }),
  ],
];

test.each(withOwner)("a file with what was %s of another operation says nothing of this one", (_name, of) => {
  const lines = (operation_id: string): string => [accepted(uuid(1)), of(operation_id)].map(toLine).join("");
  expect(parseJournal(lines(uuid(1)), uuid(1))).toMatchObject({ damagedLine: null, isSound: true });
  expect(parseJournal(lines(uuid(2)), uuid(1))).toEqual({ records: [], damagedLine: 1, isSound: false });
});

test("what each thing is about is noted where that is known of all of them, since it is told apart by its place", () => {
  const entries: (AppliedResource & { identity?: string })[] = [
    { resource: motd, prior: null, identity: "path:/motd" },
    { resource: motd, prior: null },
  ];
  const identitiesOf = (captured: typeof entries): unknown => {
    const [record] = recordsBeforeChanges(captured);
    expect(parseJournal([accepted(uuid(1)), record!].map(toLine).join(""), uuid(1)).isSound).toBe(true);
    return record?.record === "captured" ? record.identities : "nothing captured";
  };
  expect(identitiesOf([entries[0]!])).toEqual(["path:/motd"]);
  expect(identitiesOf([entries[0]!, entries[0]!])).toEqual(["path:/motd", "path:/motd"]);
  for (const captured of [entries, entries.toReversed(), [entries[1]!]])
    expect(identitiesOf(captured)).toBeUndefined();
  expect(recordsBeforeChanges([])).toEqual([]);
});

/** An operation was taken on at 0 s, began at 10 s, and was found cut off when the clock said this. */
test.each([
  ["after that", 25_000, { started_at: 10_000, duration_ms: 15_000 }],
  ["before it began, since the clock was set back", 4_000, { started_at: 10_000, duration_ms: 0 }],
])("an operation that was cut off took no less than no time, found %s", (_name, nowMs, told) => {
  const start = Date.parse(at);
  const clock = Object.assign(new FakeClock(), { now: () => start + nowMs });
  const time = (ms: number): string => new Date(start + ms).toISOString();
  const records: JournalRecord[] = [accepted(uuid(1)), { record: "started", at: time(10_000) }];
  expect(interruptionOf(uuid(1), { records, damagedLine: null, isSound: true }, { clock })).toMatchObject({
    status: "interrupted",
    started_at: time(told.started_at),
    finished_at: time(nowMs),
    duration_ms: told.duration_ms,
  });
});

test("an operation that was cut off before it began took since it was taken on", () => {
  const clock = Object.assign(new FakeClock(), { now: () => Date.parse(at) + 3_000 });
  const journal = { records: [accepted(uuid(1))], damagedLine: null, isSound: true };
  expect(interruptionOf(uuid(1), journal, { clock })).toMatchObject({ started_at: at, duration_ms: 3_000 });
});
