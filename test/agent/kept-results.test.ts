import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { KeptResultsLimits } from "../../lib/agent/kept-results.ts";
import { OperationJournal, type OperationResult } from "../../lib/agent/operation-journal.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { uuid } from "../support/agent-commands.ts";
import { fill, mountSmallDisk, reasonNotToMount } from "../support/mounts.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const hour = 3_600_000;

function scene(keptResults: KeptResultsLimits = {}, stateDir = temporaryFolder()) {
  const clock = new FakeClock();
  const open = (limits = keptResults) =>
    new OperationJournal({ stateDir, clock, logger: silentLogger, keptResults: limits });
  const names = (): string[] => readdirSync(join(stateDir, "kept")).sort();
  return { stateDir, clock, open, journal: open(), names };
}

function end(journal: OperationJournal, number: number, text = ""): void {
  const operation_id = uuid(number);
  journal.accept({ operation_id, kind: "apply", not_after: "2030-01-01T01:00:00.000Z" });
  journal.finish(resultOf(number, text));
  journal.acknowledge(operation_id);
}

function resultOf(number: number, text = ""): OperationResult {
  const at = "2030-01-01T00:00:00.000Z";
  const times = { started_at: at, finished_at: at, duration_ms: 1 };
  const output = [{ module: "m", resource_id: "r", stream: "stdout" as const, text, truncated: false }];
  return { type: "result", operation_id: uuid(number), status: "succeeded", results: [], output, ...times };
}

/** Which of the operations 1 to `count` have a result. */
function kept(journal: OperationJournal, count: number): number[] {
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  return numbers.filter((number) => journal.resultOf(uuid(number)) !== null);
}

const reason = reasonNotToMount();
if (reason !== null) console.info(`The test of kept results on a full disk is skipped: ${reason}`);

describe("results that were acknowledged", () => {
  it("are of their own operation, whatever a damaged folder has under its name", () => {
    const { open, journal, names, stateDir } = scene();
    for (const number of [1, 2]) end(journal, number);
    const [first, second] = names().map((name) => join(stateDir, "kept", name));
    copyFileSync(first!, second!);
    const again = open();
    expect(again.resultOf(uuid(1))).toEqual(resultOf(1));
    expect(again.resultOf(uuid(2))).toBeNull();
    expect([again.knows(uuid(2)), again.isForgotten(uuid(2))]).toEqual([true, true]);
  });

  it.skipIf(reason !== null)(
    "go where the disk is full, before anything is refused or lost for want of space",
    () => {
      const disk = mountSmallDisk("4m");
      const { journal } = scene({}, join(disk, "agent"));
      const text = "x".repeat(60_000);
      for (let number = 1; number <= 20; number += 1) end(journal, number, text);
      expect(kept(journal, 20)).toHaveLength(20);
      fill(join(disk, "ballast"));
      for (const number of [21, 22]) {
        end(journal, number, text);
        expect(journal.resultOf(uuid(number))).toEqual(resultOf(number, text));
      }
      expect([kept(journal, 20), journal.knows(uuid(1))]).toEqual([[], true]);
    },
  );

  it.skipIf(reason !== null).each(["accepted", "finished", "acknowledged"])(
    "go where the disk is full by the time that an operation is %s, and nothing of it is lost",
    (moment) => {
      const disk = mountSmallDisk("4m");
      const { journal, open } = scene({}, join(disk, "agent"));
      for (let number = 1; number <= 20; number += 1) end(journal, number, "x".repeat(20_000));
      const fillAt = (step: string): void => {
        if (step === moment) fill(join(disk, "ballast"));
      };
      const operation_id = uuid(21);
      fillAt("accepted");
      journal.accept({ operation_id, kind: "apply", not_after: "2030-01-01T01:00:00.000Z" });
      fillAt("finished");
      journal.finish(resultOf(21, "x".repeat(20_000)));
      expect(open().finished()).toEqual([operation_id]);
      fillAt("acknowledged");
      journal.acknowledge(operation_id);
      for (const each of [journal, open()]) {
        expect([kept(each, 20), each.finished(), each.knows(operation_id)]).toEqual([[], [], true]);
        expect(each.resultOf(operation_id)).toEqual(resultOf(21, "x".repeat(20_000)));
      }
    },
  );

  it("go, oldest first, past their number", async () => {
    const { journal, clock, open, names } = scene({ count: 3 });
    for (const number of [1, 2, 3, 4, 5]) {
      end(journal, number);
      await clock.advance(1);
    }
    expect([kept(journal, 5), kept(open(), 5), names().length]).toEqual([[3, 4, 5], [3, 4, 5], 3]);
    expect([1, 2].map((number) => journal.isForgotten(uuid(number)))).toEqual([true, true]);
    expect([1, 2].map((number) => journal.knows(uuid(number)))).toEqual([true, true]);
  });

  it("go, oldest first, past their bytes, also one that is too large by itself", async () => {
    const { journal, clock, open } = scene({ bytes: 5_000 });
    for (const number of [1, 2, 3]) {
      end(journal, number, "x".repeat(1_700));
      await clock.advance(1);
    }
    expect([kept(journal, 3), kept(open(), 3)]).toEqual([
      [2, 3],
      [2, 3],
    ]);
    end(journal, 4, "x".repeat(6_000));
    expect([kept(journal, 4), kept(open(), 4)]).toEqual([[], []]);
  });

  it("go after their time, also without another one that ends", async () => {
    const { journal, clock, open } = scene({ hours: 2 });
    end(journal, 1);
    await clock.advance(hour);
    end(journal, 2);
    await clock.advance(hour - 1);
    expect(kept(journal, 2)).toEqual([1, 2]);
    await clock.advance(1);
    expect([kept(journal, 2), kept(open(), 2)]).toEqual([[2], [2]]);
    await clock.advance(hour);
    expect([kept(journal, 2), kept(open(), 2)]).toEqual([[], []]);
  });

  it("are within smaller bounds from the next start on", async () => {
    const { journal, clock, open } = scene();
    for (const number of [1, 2, 3]) {
      end(journal, number);
      await clock.advance(1);
    }
    expect(kept(open({ count: 1 }), 3)).toEqual([3]);
    expect(kept(open(), 3)).toEqual([3]);
  });

  it("are gone where the disk damages or loses them, and nothing else is", () => {
    const { journal, stateDir, open, names } = scene();
    for (const number of [1, 2]) end(journal, number);
    const [first = ""] = names();
    writeFileSync(join(stateDir, "kept", first), "damaged");
    mkdirSync(join(stateDir, "kept", "folder"));
    writeFileSync(join(stateDir, "kept", "1-strange.jsonl"), "");
    for (const each of [journal, open()]) {
      expect([kept(each, 2), each.isForgotten(uuid(1)), each.knows(uuid(1))]).toEqual([[2], true, true]);
    }
  });

  it("go oldest first also after a start, whatever the clock said when they came", () => {
    const { journal, stateDir, open, names } = scene();
    for (const number of [1, 2, 3]) end(journal, number);
    // A clock that was far back: its names sort behind those that are newer.
    for (const [number, atMs] of [
      [1, "9"],
      [2, "80"],
      [3, "700"],
    ] as const) {
      const name = names().find((each) => each.endsWith(`${uuid(number)}.jsonl`)) ?? "";
      renameSync(join(stateDir, "kept", name), join(stateDir, "kept", `${atMs}-${uuid(number)}.jsonl`));
    }
    expect(kept(open({ count: 2, hours: 876_600 }), 3)).toEqual([2, 3]);
  });

  it("leave the disk at the start of an agent, and no later, where they are past what is kept", async () => {
    const { journal, clock, open, names } = scene();
    for (const number of [1, 2]) end(journal, number);
    await clock.advance(24 * hour);
    open();
    expect(names()).toEqual([]);
  });

  it("are there once, the newest, where a copy of the folder brought one twice", () => {
    const { journal, stateDir, open, names } = scene();
    end(journal, 1);
    const [name = ""] = names();
    copyFileSync(join(stateDir, "kept", name), join(stateDir, "kept", `5-${uuid(1)}.jsonl`));
    expect([kept(open(), 1), names()]).toEqual([[1], [name]]);
  });

  it("may be of just so many bytes as are kept", () => {
    const { journal, stateDir, open, names } = scene();
    end(journal, 1);
    const { size } = statSync(join(stateDir, "kept", names()[0] ?? ""));
    expect(kept(open({ bytes: size }), 1)).toEqual([1]);
    expect(kept(open({ bytes: size - 1 }), 1)).toEqual([]);
  });

  it("are not sent again, nor kept beside open operations, where they can't be kept", () => {
    const { journal, stateDir, open } = scene();
    rmSync(join(stateDir, "kept"), { recursive: true });
    end(journal, 1);
    expect(readdirSync(join(stateDir, "operations"))).toEqual([]);
    const restarted = open();
    expect([restarted.finished(), restarted.isForgotten(uuid(1))]).toEqual([[], true]);
  });

  it("are kept by a process that was killed in the middle of an acknowledgement", () => {
    const { journal, stateDir, open, names } = scene();
    end(journal, 1);
    const [name = ""] = names();
    // As it is where only the id was written: the file is still with those of open operations.
    const other = open();
    other.accept({ operation_id: uuid(3), kind: "apply", not_after: "2030-01-01T01:00:00.000Z" });
    other.finish(resultOf(3));
    writeFileSync(
      join(stateDir, "acknowledged.json"),
      `${JSON.stringify({ version: 1, operations: { [uuid(1)]: "2030-01-01T01:00:00.000Z", [uuid(3)]: "2030-01-01T01:00:00.000Z" } })}\n`,
    );
    const restarted = open();
    expect([name.endsWith(`${uuid(1)}.jsonl`), kept(restarted, 3), restarted.finished()]).toEqual([
      true,
      [1, 3],
      [],
    ]);
    expect(readdirSync(join(stateDir, "operations"))).toEqual([]);
  });
});
