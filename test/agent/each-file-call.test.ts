/** One call to a file fails, each in its turn, in the life of what an agent writes down: a refused step leaves nothing, and the next try is taken. */
import { expect, test } from "vitest";
import { type OperationResult, OperationJournal } from "../../lib/agent/operation-journal.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { resource, uuid } from "../support/agent-commands.ts";
import { failingAt } from "../support/failing-files.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const notAfter = "2030-01-01T01:00:00.000Z";
const file = resource({ type: "file", path: "/etc/motd", content: "hello" });
const captured = [{ resource: file, prior: { type: "file", spec: { path: "/etc/motd", ensure: "absent" } } }];
const at = "2030-01-01T00:00:00.000Z";

/** A step of a life. */
type Step = [name: string, take: (journal: OperationJournal) => void];

const accept = (number: number): Step => [
  `accept ${number}`,
  (journal) => journal.accept({ operation_id: uuid(number), kind: "apply", not_after: notAfter }),
];
const capture = (number: number): Step => [
  `capture ${number}`,
  (journal) => journal.captured(uuid(number), captured),
];
const begin = (number: number, identity: string): Step => [
  `begin ${number} ${identity}`,
  (journal) => journal.begun(uuid(number), { identity, removal: false }),
];

const steps: readonly Step[] = [
  accept(1),
  ["start 1", (journal) => journal.started(uuid(1))],
  capture(1),
  begin(1, "a"),
  ["finish 1", (journal) => journal.finish(resultOf(1))],
  accept(2),
  ["finish 2", (journal) => journal.finish(resultOf(2))],
  ["acknowledge 1", (journal) => journal.acknowledge(uuid(1))],
  accept(3),
  capture(3),
  begin(3, "a"),
  begin(3, "b"),
];

function resultOf(number: number): OperationResult {
  const times = { started_at: at, finished_at: at, duration_ms: 0 };
  return {
    type: "result",
    operation_id: uuid(number),
    status: "succeeded",
    results: [],
    output: [],
    ...times,
  };
}

/** Takes each step, a refused one a second time. Gives the steps that were refused, and those that were so twice. */
function live(context: { stateDir: string; clock: FakeClock; logger: RecordingLogger }): {
  once: string[];
  twice: string[];
} {
  const refused: { once: string[]; twice: string[] } = { once: [], twice: [] };
  const tried = (name: string, take: () => void): void => {
    for (const times of ["once", "twice"] as const) {
      try {
        return take();
      } catch {
        refused[times].push(name);
      }
    }
  };
  let journal: OperationJournal | null = null;
  tried("open", () => (journal = new OperationJournal(context)));
  for (const [name, take] of steps) tried(name, () => take(journal!));
  return refused;
}

/** What the next life knows, a line each. */
function known(journal: OperationJournal): string[] {
  const cut = journal.cutOff().flatMap(({ operation_id, records }) =>
    records.map((record) => {
      const what = record.record === "begun" ? `begun ${record.identity}` : record.record;
      return `${operation_id.slice(-1)} ${what}`;
    }),
  );
  const ended = journal.finished().map((id) => `${id.slice(-1)} ${journal.resultOf(id)?.status}`);
  return [
    ...[1, 2, 3].filter((number) => journal.knows(uuid(number))).map((number) => `knows ${number}`),
    ...cut,
    ...ended,
  ];
}

const known3 = ["knows 1", "knows 2", "knows 3"];
const cut3 = ["3 accepted", "3 captured", "3 begun a", "3 begun b"];

test.each(["EIO", "ENOSPC"] as const)("each call of a journal of operations fails once with %s", (code) => {
  const wrong: unknown[] = [];
  for (let number = 0; ; number++) {
    const context = { stateDir: temporaryFolder(), clock: new FakeClock(), logger: new RecordingLogger() };
    const { result: refused, failed } = failingAt(number, code, () => live(context));
    const isHeld = context.logger.lines.some(
      ({ level, fields }) => level === "error" && fields?.["operation_id"] === uuid(2),
    );
    const found = known(new OperationJournal(context));
    // A result that can't be written down is kept in memory: to the next life the operation was cut off.
    const expected = [
      ...known3,
      ...(isHeld ? ["2 accepted"] : []),
      ...cut3,
      ...(isHeld ? [] : ["2 succeeded"]),
    ];
    const isRight = JSON.stringify(found) === JSON.stringify(expected) && refused.twice.length === 0;
    if (!isRight) wrong.push({ failed, ...refused, found });
    if (failed === null) break;
  }
  expect(wrong).toEqual([]);
});
