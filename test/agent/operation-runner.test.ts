import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import type { OperationResult } from "../../lib/agent/operation-journal.ts";
import { OperationJournal } from "../../lib/agent/operation-journal.ts";
import { OperationRunner } from "../../lib/agent/operation-runner.ts";
import type { OperationOutcome } from "../../lib/agent/run-operation.ts";
import type { HostCommand } from "../../lib/host/host.ts";
import type { MemoryProgram } from "../../lib/host/memory-host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { silentLogger } from "../../lib/logger.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import type { AgentMessage } from "../../lib/wire/messages.ts";
import { apply, plan, resource, uuid } from "../support/agent-commands.ts";
import { type Deferred, deferred, settle } from "../support/deferred.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const motd = resource({ type: "file", path: "/motd", content: "hello" });
const slow = resource({ id: "slow", type: "script", run: "wait", creates: "/done" });

describe("OperationRunner", () => {
  it("applies, tells how it ended, and keeps what is applied", async () => {
    const { runner, ended, host, stateDir } = begin();
    runner.submit(apply(1, { resources: [motd] }));
    const result = await ended(1);
    expect(result).toMatchObject({ status: "succeeded", operation_id: uuid(1) });
    expect(result.results).toMatchObject([{ outcome: "changed", identity: "/motd" }]);
    expect(text(host, "/motd")).toBe("hello");
    expect(new AppliedSet(stateDir).resources).toMatchObject([{ resource: motd }]);
  });

  it("runs an operation once, however often it is ordered", async () => {
    const { runner, ended, host, journal, restart } = begin();
    runner.submit(apply(1, { resources: [motd] }));
    runner.submit(apply(1, { resources: [motd] }));
    await ended(1);
    host.files.removeFile("/motd");
    runner.submit(apply(1, { resources: [motd] }));
    journal.acknowledge(uuid(1));
    for (const each of [runner, restart()]) {
      const again = (): void => each.submit(apply(1, { resources: [motd] }));
      expect(again).toThrow(expect.objectContaining({ code: "RESULT_GONE" }));
    }
    runner.submit(plan(2));
    await ended(2);
    expect(host.files.stat("/motd")).toBeNull();
  });

  it.each<[notAfter: string, asked: number, code: string]>([
    ["1970-01-01T00:00:00.000Z", 1, "RESULT_GONE"],
    ["1970-01-01T00:00:00.000Z", 9_999, "COMMAND_EXPIRED"],
    ["1970-01-01T00:00:00.001Z", 1, "COMMAND_EXPIRED"],
    ["2029-01-01T00:00:00.000Z", 1, "COMMAND_EXPIRED"],
  ])("answers a command with the time %s and the id %i, which it may have forgotten, with %s", (...given) => {
    const [not_after, asked, code] = given;
    const { restart, stateDir } = begin();
    const ids = Array.from({ length: 1000 }, (_, at) => [uuid(2000 + at), "2030-01-01T00:00:00.000Z"]);
    const known = { version: 1, operations: Object.fromEntries(ids) };
    writeFileSync(join(stateDir, "acknowledged.json"), JSON.stringify(known));
    const runner = restart();
    expect(() => runner.submit({ ...plan(asked), not_after })).toThrow(expect.objectContaining({ code }));
  });

  it("tells how long an operation and its resources took in whole milliseconds", async () => {
    const gate = deferred();
    const { runner, ended, clock } = begin((host) => async () => {
      await gate.promise;
      return finishes(host);
    });
    runner.submit(apply(1, { resources: [slow] }));
    await settle();
    await clock.advance(44.976);
    gate.resolve();
    const { duration_ms, results } = await ended(1);
    expect([duration_ms, results[0]?.duration_ms]).toEqual([45, 45]);
  });

  it("runs one at a time, in the order of acceptance", async () => {
    const gate = deferred();
    const { runner, ended, order } = begin((host) => async () => {
      await gate.promise;
      return finishes(host);
    });
    runner.submit(apply(1, { resources: [slow] }));
    runner.submit(apply(2, { resources: [slow, motd] }));
    await settle();
    expect(order).toEqual([]);
    gate.resolve();
    await ended(2);
    expect(order).toEqual([uuid(1), uuid(2)]);
  });

  it("refuses what comes after its time, by the orchestrator's clock", async () => {
    const { runner, clock, journal } = begin();
    await clock.advance(3_600_001);
    expect(() => runner.submit(apply(1))).toThrow(expect.objectContaining({ code: "COMMAND_EXPIRED" }));
    expect(journal.knows(uuid(1))).toBe(false);
  });

  it("takes what comes in the last millisecond of its time", async () => {
    const { runner, clock, ended } = begin();
    await clock.advance(3_600_000);
    runner.submit(apply(1));
    expect(await ended(1)).toMatchObject({ status: "succeeded" });
  });

  it("does not begin what waited past its time", async () => {
    const gate = deferred();
    const { runner, ended, clock, host } = begin((host) => async () => {
      await gate.promise;
      return finishes(host);
    });
    runner.submit(apply(1, { resources: [slow], timeout_seconds: 86_400 }));
    runner.submit(apply(2, { resources: [motd] }));
    clock.leap(3_600_001);
    gate.resolve();
    expect(await ended(2)).toMatchObject({ status: "cancelled", error: { code: "COMMAND_EXPIRED" } });
    expect(host.files.stat("/motd")).toBeNull();
  });

  it("refuses to take everything away unless that is said", async () => {
    const { runner, ended, host } = begin();
    runner.submit(apply(1, { resources: [motd] }));
    await ended(1);
    expect(() => runner.submit(apply(2))).toThrow(expect.objectContaining({ code: "EMPTY_DESIRED_STATE" }));
    runner.submit(apply(3, { allow_empty: true }));
    expect((await ended(3)).results).toMatchObject([{ action: "remove", outcome: "changed" }]);
    expect(host.files.stat("/motd")).toBeNull();
    runner.submit(apply(4));
    expect(await ended(4)).toMatchObject({ status: "succeeded", results: [] });
  });

  it("takes an apply of nothing for modules that have nothing, and refuses it for those that have", async () => {
    const { runner, ended, host } = begin();
    runner.submit(apply(1, { resources: [motd] }));
    await ended(1);
    runner.submit(apply(2, { scope: ["other"] }));
    expect(await ended(2)).toMatchObject({ status: "succeeded", results: [] });
    expect(() => runner.submit(apply(3, { scope: ["other", "web"] }))).toThrow(
      expect.objectContaining({ code: "EMPTY_DESIRED_STATE" }),
    );
    expect(host.files.stat("/motd")).not.toBeNull();
  });

  it("refuses an id that is no lower-case UUID", () => {
    const { runner } = begin();
    const operation_id = "ABCDEF00-0000-4000-8000-000000000000";
    expect(() => runner.submit(apply(1, { operation_id }))).toThrow(
      expect.objectContaining({ code: "VALIDATION_FAILED" }),
    );
  });

  it("lets 100 wait and refuses more", async () => {
    const gate = deferred();
    const { runner, ended } = begin((host) => async () => {
      await gate.promise;
      return finishes(host);
    });
    runner.submit(apply(0, { resources: [slow] }));
    for (let number = 1; number <= 100; number += 1) runner.submit(apply(number, { resources: [motd] }));
    expect(() => runner.submit(apply(101))).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));
    gate.resolve();
    await ended(100);
  });

  it("cancels what waits and what runs", async () => {
    const gate = deferred();
    const { runner, ended, host } = begin((host) => async () => {
      await gate.promise;
      return finishes(host);
    });
    runner.submit(apply(1, { resources: [slow, motd] }));
    runner.submit(apply(2, { resources: [motd] }));
    await settle();
    runner.cancel(uuid(2));
    runner.cancel(uuid(1));
    gate.resolve();
    const first = await ended(1);
    expect(first.status).toBe("cancelled");
    expect(first.results).toMatchObject([
      { outcome: "failed", code: "CANCELLED", message: "It was cancelled: it exited with 0 after SIGTERM." },
      { outcome: "skipped", skipped_because: "cancelled" },
    ]);
    expect(await ended(2)).toMatchObject({ status: "cancelled", results: [] });
    expect(host.files.stat("/motd")).toBeNull();
    runner.cancel(uuid(1));
    expect(() => runner.cancel(uuid(9))).toThrow(expect.objectContaining({ code: "NOT_FOUND" }));
  });

  it("cuts an operation that takes too long", async () => {
    const { runner, ended, clock } = begin(() => untilAborted);
    runner.submit(apply(1, { resources: [slow], timeout_seconds: 5 }));
    await settle();
    await clock.advance(5000);
    expect((await ended(1)).status).toBe("timed_out");
  });

  it("tells progress and output while it runs, and all of the output at the end", async () => {
    const { runner, ended, sent, clock } = begin((machine) => () => ({
      ...finishes(machine),
      stdout: "working\n",
    }));
    runner.submit(apply(1, { resources: [slow] }));
    const result = await ended(1);
    await clock.advance(1000);
    const output = [
      { module: "web", resource_id: "slow", stream: "stdout", text: "working\n", truncated: false },
    ];
    expect(result.output).toEqual(output);
    expect(sent).toEqual([
      { type: "output", operation_id: uuid(1), output },
      { type: "progress", operation_id: uuid(1), results: result.results },
    ]);
  });

  it("writes down what stood before, before anything is changed", async () => {
    const seen: unknown[] = [];
    const { runner, ended, journal } = begin((host) => () => {
      seen.push(...cutOffOf(journal));
      return finishes(host);
    });
    runner.submit(apply(1, { resources: [slow, motd] }));
    await ended(1);
    expect(seen).toMatchObject([
      { operation_id: uuid(1), captured: [{ resource: slow }, { resource: motd, prior: { type: "file" } }] },
    ]);
  });

  it("ends what runs when it stops, and leaves what waits for the next start", async () => {
    const gate = deferred();
    const { runner, ended, restartJournal } = begin((host) => async () => {
      await gate.promise;
      return finishes(host);
    });
    runner.submit(apply(1, { resources: [slow, motd] }));
    runner.submit(apply(2, { resources: [motd] }));
    await settle();
    const stopped = runner.stop();
    expect(() => runner.submit(apply(3))).toThrow(expect.objectContaining({ code: "UNAVAILABLE" }));
    gate.resolve();
    await stopped;
    expect((await ended(1)).status).toBe("interrupted");
    expect(cutOffOf(restartJournal())).toEqual([{ operation_id: uuid(2), captured: [] }]);
  });

  it("keeps what was captured where what is applied can't be written down", async () => {
    const { runner, ended, applied, stateDir, restartJournal } = begin();
    // A folder in the place of the file: the file can't be replaced.
    const blocked = join(stateDir, "applied.json");
    mkdirSync(blocked);
    runner.submit(apply(1, { resources: [motd] }));
    expect(await ended(1)).toMatchObject({ status: "partial", error: { code: "STORAGE_FAILED" } });
    expect(cutOffOf(restartJournal())).toMatchObject([{ captured: [{ resource: motd }] }]);
    expect(applied.resources).toMatchObject([{ resource: motd }]);
    expect(() => applied.save()).toThrow(expect.objectContaining({ code: "STORAGE_FAILED" }));
    rmSync(blocked, { recursive: true });
    applied.save();
    expect(new AppliedSet(stateDir).resources).toMatchObject([{ resource: motd }]);
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
  runner: OperationRunner;
  journal: OperationJournal;
  applied: AppliedSet;
  host: MemoryHost;
  clock: FakeClock;
  stateDir: string;
  /** What was sent while operations ran. */
  sent: AgentMessage[];
  /** Ids in the order of their end. */
  order: string[];
  ended: (number: number) => Promise<OperationResult>;
  restart: () => OperationRunner;
  restartJournal: () => OperationJournal;
}

/** @param program - What the shell of the machine does. Default: it does the work at once. */
function begin(program: (host: MemoryHost) => MemoryProgram = (host) => () => finishes(host)): Setup {
  const stateDir = temporaryFolder();
  const clock = new FakeClock();
  const host: MemoryHost = new MemoryHost({
    programs: { "/bin/sh": (line, signal) => program(host)(line, signal) },
  });
  // Nothing is kept of what was acknowledged: RESULT_GONE; what is kept is the matter of kept-results.test.ts.
  const context = { stateDir, clock, logger: silentLogger, keptResults: { count: 0 } };
  const journal = new OperationJournal(context);
  const applied = new AppliedSet(stateDir);
  const sent: AgentMessage[] = [];
  const order: string[] = [];
  const waiting = new Map<string, Deferred<OperationResult>>();
  const endOf = (id: string): Deferred<OperationResult> => {
    const known = waiting.get(id) ?? deferred<OperationResult>();
    waiting.set(id, known);
    return known;
  };
  const create = (kept: OperationJournal): OperationRunner =>
    new OperationRunner({
      ...context,
      journal: kept,
      applied,
      host,
      types: resourceTypes,
      orchestratorNow: () => clock.now(),
      runsCommands: true,
      progress: (message) => void sent.push(message),
      ended({ result }: OperationOutcome) {
        order.push(result.operation_id);
        endOf(result.operation_id).resolve(result);
      },
    });
  const restartJournal = (): OperationJournal => new OperationJournal(context);
  return {
    runner: create(journal),
    journal,
    applied,
    host,
    clock,
    stateDir,
    sent,
    order,
    ended: (number) => endOf(uuid(number)).promise,
    restart: () => create(restartJournal()),
    restartJournal,
  };
}

/** Does the work of the slow script. */
function finishes(host: MemoryHost): { exitCode: number } {
  host.files.writeFile("/done", Buffer.from(""), {});
  return { exitCode: 0 };
}

function untilAborted(_line: HostCommand, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(new Error("It was ended.")));
  });
}

function text(host: MemoryHost, path: string): string {
  return Buffer.from(host.files.readFile(path)).toString("utf8");
}
