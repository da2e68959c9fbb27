import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { OperationResult } from "../../lib/agent/operation-journal.ts";
import { OperationJournal } from "../../lib/agent/operation-journal.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { resource, uuid } from "../support/agent-commands.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { failCall } from "../support/small-disk.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const notAfter = "2030-01-01T01:00:00.000Z";
const file = resource({ type: "file", path: "/etc/motd", content: "hello" });
const captured = [{ resource: file, prior: { type: "file", spec: { path: "/etc/motd", ensure: "absent" } } }];

describe("OperationJournal", () => {
  it("finds the result of a finished operation again, also when it was acknowledged, and sends that no more", () => {
    const { journal, restart } = begin();
    accept(journal, 1);
    journal.started(uuid(1));
    journal.finish(resultOf(1));
    const restarted = restart();
    expect(restarted.finished()).toEqual([uuid(1)]);
    expect(restarted.resultOf(uuid(1))).toEqual(resultOf(1));
    expect(restarted.cutOff()).toEqual([]);
    restarted.acknowledge(uuid(1));
    for (const each of [restarted, restart()]) {
      expect(each.finished()).toEqual([]);
      expect(each.isForgotten(uuid(1))).toBe(false);
      expect(each.resultOf(uuid(1))).toEqual(resultOf(1));
    }
  });

  it("knows an id for ever after it was accepted", () => {
    const { journal, restart } = begin();
    expect(journal.knows(uuid(1))).toBe(false);
    accept(journal, 1);
    expect(journal.knows(uuid(1))).toBe(true);
    journal.finish(resultOf(1));
    expect(restart().knows(uuid(1))).toBe(true);
    journal.acknowledge(uuid(1));
    expect(journal.knows(uuid(1))).toBe(true);
    expect(restart().knows(uuid(1))).toBe(true);
  });

  it("keeps the operation as it is where its id can't be noted as acknowledged", () => {
    const { journal, restart, stateDir, pathOf } = begin();
    accept(journal, 1);
    journal.finish(resultOf(1));
    const inTheWay = join(stateDir, "acknowledged.json");
    mkdirSync(join(inTheWay, "full"), { recursive: true });
    expect(() => journal.acknowledge(uuid(1))).toThrow();
    expect(existsSync(pathOf(1))).toBe(true);
    rmSync(inTheWay, { recursive: true });
    for (const each of [journal, restart()]) {
      expect(each.finished()).toEqual([uuid(1)]);
      expect(each.resultOf(uuid(1))).toEqual(resultOf(1));
    }
    journal.acknowledge(uuid(1));
    expect([restart().knows(uuid(1)), existsSync(pathOf(1))]).toEqual([true, false]);
  });

  it("forgets acknowledged ids only when their commands can't arrive any more, and never the last 1,000", async () => {
    const { journal, clock, restart, stateDir } = begin();
    const old = Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [uuid(at + 10), notAfter]));
    writeFileSync(join(stateDir, "acknowledged.json"), JSON.stringify({ version: 1, operations: old }));
    expect(journal.knows(uuid(10))).toBe(false);
    const second = restart();
    acknowledgeNew(second, 1);
    expect(restart().knows(uuid(10))).toBe(true);
    clock.jump(26 * 3_600_000);
    acknowledgeNew(second, 2);
    const third = restart();
    expect(third.knows(uuid(10))).toBe(false);
    expect(third.knows(uuid(1509))).toBe(true);
    expect(third.knows(uuid(2))).toBe(true);
  });

  it("forgets no more acknowledged ids than it has to", () => {
    const { clock, restart, stateDir } = begin();
    const old = Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [uuid(at + 10), notAfter]));
    writeFileSync(join(stateDir, "acknowledged.json"), JSON.stringify({ version: 1, operations: old }));
    clock.jump(26 * 3_600_000);
    acknowledgeNew(restart(), 1);
    expect([510, 511].map((number) => restart().knows(uuid(number)))).toEqual([false, true]);
  });

  it.each([
    [999, 1, false],
    [1000, 1, true],
    [1000, 2199, true],
    [1000, 2201, false],
  ])("of %i ids that it has, says of the one with number %i whether it may be forgotten: %s", (...given) => {
    const [count, asked, isGone] = given;
    const { restart, stateDir } = begin();
    const known = Object.fromEntries(
      Array.from({ length: count }, (_, at) => [uuid(2000 + 2 * at), notAfter]),
    );
    writeFileSync(join(stateDir, "acknowledged.json"), JSON.stringify({ version: 1, operations: known }));
    expect(restart().isForgotten(uuid(asked), true)).toBe(isGone);
  });

  it.each<[order: string, place: (at: number) => number]>([
    ["rising", (at) => at],
    ["falling", (at) => 999 - at],
    ["mixed", (at) => (at * 7) % 1000],
  ])("says the same of ids that were acknowledged in %s order", (_order, place) => {
    const { restart, stateDir } = begin();
    const known = Object.fromEntries(
      Array.from({ length: 1000 }, (_, at) => [uuid(2000 + 2 * place(at)), notAfter]),
    );
    writeFileSync(join(stateDir, "acknowledged.json"), JSON.stringify({ version: 1, operations: known }));
    const asked = [1, 2199, 2201, 3997, 3999];
    expect(asked.filter((number) => restart().isForgotten(uuid(number), true))).toEqual([1, 2199]);
  });

  it("ends what was cut off as interrupted, with the results so far", () => {
    const { journal, clock, restart } = begin();
    accept(journal, 1);
    clock.jump(1000);
    journal.started(uuid(1));
    journal.captured(uuid(1), captured);
    journal.results(uuid(1), [changed()]);
    clock.jump(5000);
    const restarted = restart();
    expect(restarted.finished()).toEqual([]);
    expect(cutOffOf(restarted)).toEqual([{ operation_id: uuid(1), captured }]);
    restarted.interrupt(uuid(1));
    expect(restart().resultOf(uuid(1))).toEqual({
      type: "result",
      operation_id: uuid(1),
      status: "interrupted",
      results: [changed()],
      output: [],
      started_at: "2030-01-01T00:00:01.000Z",
      finished_at: "2030-01-01T00:00:06.000Z",
      duration_ms: 5000,
    });
  });

  it("has no result of an operation whose last line was being written", () => {
    const { journal, restart, pathOf } = begin();
    accept(journal, 1);
    journal.results(uuid(1), [changed(), changed()]);
    journal.finish(resultOf(1));
    const text = readFileSync(pathOf(1), "utf8");
    writeFileSync(pathOf(1), text.slice(0, -1));
    expect(cutOffOf(restart())).toEqual([{ operation_id: uuid(1), captured: [] }]);
  });

  it("keeps the order of acceptance", () => {
    const { journal, clock, restart } = begin();
    for (const number of [3, 1, 2]) {
      accept(journal, number);
      clock.jump(1);
    }
    expect(
      restart()
        .cutOff()
        .map((each) => each.operation_id),
    ).toEqual([uuid(3), uuid(1), uuid(2)]);
  });

  it("reads past a last line that was being written", () => {
    const { journal, restart, pathOf, logger } = begin();
    accept(journal, 1);
    journal.captured(uuid(1), captured);
    appendFileSync(pathOf(1), '{"record":"finis');
    const restarted = restart();
    expect(cutOffOf(restarted)).toEqual([{ operation_id: uuid(1), captured }]);
    restarted.interrupt(uuid(1));
    expect(restart().resultOf(uuid(1))?.status).toBe("interrupted");
    expect(logger.of("error")).toEqual([]);
  });

  it("says so where a line in the middle is damaged, and keeps what comes before and after", () => {
    const { journal, restart, pathOf, logger } = begin();
    accept(journal, 1);
    journal.captured(uuid(1), captured);
    appendFileSync(pathOf(1), "garbage\n");
    journal.results(uuid(1), [changed()]);
    const restarted = restart();
    expect(cutOffOf(restarted)).toEqual([{ operation_id: uuid(1), captured }]);
    expect(logger.of("error")).toHaveLength(1);
    // The damage is told also where the agent is killed once more before the operation has ended.
    const again = restart();
    again.interrupt(uuid(1));
    expect(restart().resultOf(uuid(1))).toMatchObject({
      status: "interrupted",
      results: [changed()],
      error: { code: "STORAGE_CORRUPT", message: expect.stringContaining("from line 3 on") },
    });
  });

  it("tells the damage of a file before whatever else its operation was cut off by", () => {
    const { journal, restart, pathOf } = begin();
    accept(journal, 1);
    appendFileSync(pathOf(1), "garbage\n");
    journal.results(uuid(1), [changed()]);
    const restarted = restart();
    restarted.interrupt(uuid(1), { code: "COMMAND_FAILED", message: "The restart did not come." });
    expect(restarted.resultOf(uuid(1))?.error).toMatchObject({ code: "STORAGE_CORRUPT" });
  });

  it("has the result of an operation whose journal is damaged before it", () => {
    const { journal, restart, pathOf } = begin();
    accept(journal, 1);
    appendFileSync(pathOf(1), "garbage\n");
    journal.finish(resultOf(1));
    expect(restart().resultOf(uuid(1))).toEqual(resultOf(1));
  });

  it("ends an operation whose result is damaged while the agent runs", () => {
    const { journal, pathOf } = begin();
    accept(journal, 1);
    journal.finish(resultOf(1));
    const text = readFileSync(pathOf(1), "utf8");
    writeFileSync(pathOf(1), text.replace("succeeded", "suckeeded"));
    const result = { status: "interrupted", error: { code: "STORAGE_CORRUPT" } };
    expect(journal.resultOf(uuid(1))).toMatchObject(result);
    journal.acknowledge(uuid(1));
    expect(journal.knows(uuid(1))).toBe(true);
  });

  it.each(["", '{"record":"acc', "\0\0\0\0"])(
    "takes a file that begins with %j for an operation that was accepted: it ends interrupted, and says why",
    (text) => {
      const { restart, pathOf } = begin();
      writeFileSync(pathOf(1), text);
      const restarted = restart();
      expect(restarted.knows(uuid(1))).toBe(true);
      expect(cutOffOf(restarted)).toEqual([{ operation_id: uuid(1), captured: [] }]);
      restarted.interrupt(uuid(1));
      expect(restarted.resultOf(uuid(1))).toMatchObject({
        status: "interrupted",
        results: [],
        error: { code: "STORAGE_CORRUPT" },
      });
      restarted.acknowledge(uuid(1));
      expect(restart().knows(uuid(1))).toBe(true);
    },
  );

  it("removes what a killed process had not finished: its command was never answered", () => {
    const { restart, pathOf } = begin();
    writeFileSync(`${pathOf(1)}.new`, '{"record":"acc');
    expect(restart().knows(uuid(1))).toBe(false);
    expect(existsSync(`${pathOf(1)}.new`)).toBe(false);
  });

  it("reads the files of versions that wrote no checksums, once, and writes them again", () => {
    const { journal, restart, pathOf, stateDir, logger } = begin();
    accept(journal, 1);
    journal.captured(uuid(1), captured);
    journal.finish(resultOf(1));
    accept(journal, 2);
    acknowledgeNew(journal, 3);
    const paths = [pathOf(1), pathOf(2), join(stateDir, "acknowledged.json")];
    const sealed = paths.map((path) => readFileSync(path, "utf8"));
    for (const path of paths) {
      const text = readFileSync(path, "utf8");
      writeFileSync(path, text.replaceAll(/,"crc32":"[0-9a-f]{8}"\}\n/g, "}\n"));
    }
    const restarted = restart();
    expect(restarted.resultOf(uuid(1))).toEqual(resultOf(1));
    expect(cutOffOf(restarted)).toEqual([{ operation_id: uuid(2), captured: [] }]);
    expect(restarted.knows(uuid(3))).toBe(true);
    expect(paths.map((path) => readFileSync(path, "utf8"))).toEqual(sealed);
    expect(logger.of("error")).toEqual([]);
  });

  it.each(["write", "sync of the file", "sync of its folder"])(
    "forgets an operation whose acceptance failed at the %s: nobody was told that it is accepted",
    (where) => {
      const { journal, restart, stateDir } = begin();
      const call = where === "write" ? "writeSync" : "fsyncSync";
      const failing = failCall(call, where === "sync of its folder" ? 2 : 1);
      expect(() => accept(journal, 1)).toThrow(expect.objectContaining({ code: "STORAGE_FAILED" }));
      failing.end();
      expect(journal.knows(uuid(1))).toBe(false);
      const restarted = restart();
      expect([restarted.knows(uuid(1)), restarted.cutOff()]).toEqual([false, []]);
      expect(readdirSync(join(stateDir, "operations"))).toEqual([]);
      accept(restarted, 1);
      expect(restart().knows(uuid(1))).toBe(true);
    },
  );

  it("leaves files alone that are not its own", () => {
    const { restart, stateDir } = begin();
    writeFileSync(join(stateDir, "operations", "..jsonl"), "x");
    writeFileSync(join(stateDir, "operations", "notes.txt"), "x");
    expect(restart().cutOff()).toEqual([]);
    expect(readdirSync(join(stateDir, "operations"))).toEqual(["..jsonl", "notes.txt"]);
  });

  it("makes a path of nothing but a UUID", () => {
    const { journal, stateDir } = begin();
    const operation = { operation_id: "../../evil", kind: "apply" as const, not_after: notAfter };
    expect(() => journal.accept(operation)).toThrow(TypeError);
    expect(readdirSync(join(stateDir, "operations"))).toEqual([]);
  });

  it("keeps its files from other users", () => {
    const { journal, pathOf, stateDir } = begin();
    accept(journal, 1);
    expect(statSync(pathOf(1)).mode & 0o777).toBe(0o600);
    expect(statSync(join(stateDir, "operations")).mode & 0o777).toBe(0o700);
  });

  it("holds a result in memory without ending the operation on disk", () => {
    const { journal, restart, pathOf } = begin();
    accept(journal, 1);
    journal.captured(uuid(1), captured);
    journal.hold(resultOf(1));
    expect(journal.resultOf(uuid(1))).toEqual(resultOf(1));
    expect(readFileSync(pathOf(1), "utf8")).not.toContain("finished");
    expect(cutOffOf(restart())).toEqual([{ operation_id: uuid(1), captured }]);
  });
});

/** What was captured for each operation that was cut off. */
function cutOffOf(journal: OperationJournal): unknown[] {
  return journal.cutOff().map(({ operation_id, records }) => ({
    operation_id,
    captured: records.flatMap((record) => (record.record === "captured" ? record.resources : [])),
  }));
}

interface Setup {
  journal: OperationJournal;
  clock: FakeClock;
  logger: RecordingLogger;
  stateDir: string;
  restart: () => OperationJournal;
  pathOf: (number: number) => string;
}

function begin(): Setup {
  const stateDir = temporaryFolder();
  const context = { stateDir, clock: new FakeClock(), logger: new RecordingLogger() };
  const restart = (): OperationJournal => new OperationJournal(context);
  const pathOf = (number: number): string => join(stateDir, "operations", `${uuid(number)}.jsonl`);
  return { ...context, journal: restart(), restart, pathOf };
}

function accept(journal: OperationJournal, number: number): void {
  journal.accept({ operation_id: uuid(number), kind: "apply", not_after: notAfter });
}

function acknowledgeNew(journal: OperationJournal, number: number): void {
  accept(journal, number);
  journal.finish(resultOf(number));
  journal.acknowledge(uuid(number));
}

function changed(): ResourceResult {
  const { resource_id, module, type, identity } = file;
  const change = { property: "ensure", before: "absent", after: "present" };
  return {
    resource_id,
    module,
    type,
    identity,
    outcome: "changed",
    action: "create",
    changes: [change],
    caused_by: [],
    attempts: 1,
    duration_ms: 1,
  };
}

function resultOf(number: number): OperationResult {
  return {
    type: "result",
    operation_id: uuid(number),
    status: "succeeded",
    results: [changed()],
    output: [],
    started_at: "2030-01-01T00:00:00.000Z",
    finished_at: "2030-01-01T00:00:01.000Z",
    duration_ms: 1000,
  };
}
