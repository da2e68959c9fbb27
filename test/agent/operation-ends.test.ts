/** How operations end: what is told, what is noted, and what is left, also where something fails on the way. */
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { OperationJournal, type OperationResult } from "../../lib/agent/operation-journal.ts";
import { OperationRunner, type OperationRunnerOptions } from "../../lib/agent/operation-runner.ts";
import { createOpenSecrets } from "../../lib/agent/operation-secrets.ts";
import type { OperationCommand } from "../../lib/agent/run-context.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { OrchestratorError } from "../../lib/errors.ts";
import { MemoryHost, type MemoryProgram } from "../../lib/host/memory-host.ts";
import { sealSecrets, type SealedSecrets } from "../../lib/secret-format/sealed-secrets.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { apply, resource, uuid } from "../support/agent-commands.ts";
import { type Deferred, deferred, settle } from "../support/deferred.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const motd = resource({ type: "file", path: "/motd", content: "ours" });
const script = resource({ id: "slow", type: "script", run: "wait", creates: "/done" });

interface Scene extends Pick<OperationRunnerOptions, "journal" | "applied"> {
  host: MemoryHost;
  clock: FakeClock;
  logger: RecordingLogger;
  stateDir: string;
  runner: OperationRunner;
  /** Types of what was told, in order, with "ended" for an end. */
  told: string[];
  /** All that left the runner, as text. */
  sent: string[];
  ends: (command: OperationCommand) => Promise<OperationResult>;
  ended: (number: number) => Promise<OperationResult>;
}

function begin(
  parts: Pick<OperationRunnerOptions, "openSecrets"> & Partial<Pick<OperationRunnerOptions, "progress">> = {},
  program: MemoryProgram = () => ({ exitCode: 0 }),
): Scene {
  const stateDir = temporaryFolder();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const host = new MemoryHost({
    programs: {
      async "/bin/sh"(command, signal) {
        const result = await program(command, signal);
        host.files.writeFile("/done", Buffer.from(""), {});
        return result;
      },
    },
  });
  const told: string[] = [];
  const sent: string[] = [];
  const waiting = new Map<string, Deferred<OperationResult>>();
  const endOf = (id: string): Deferred<OperationResult> => {
    const known = waiting.get(id) ?? deferred<OperationResult>();
    waiting.set(id, known);
    return known;
  };
  const options = {
    journal: new OperationJournal({ stateDir, clock, logger, boot: "a" }),
    applied: new AppliedSet(stateDir),
    host,
    clock,
    logger,
    types: resourceTypes,
    orchestratorNow: () => clock.now(),
    runsCommands: true,
    progress(message: object) {
      told.push((message as { type: string }).type);
      sent.push(JSON.stringify(message));
    },
    ended({ result }: { result: OperationResult }) {
      told.push("ended");
      endOf(result.operation_id).resolve(result);
    },
    ...parts,
  };
  const runner = new OperationRunner(options);
  const ended = (number: number): Promise<OperationResult> => endOf(uuid(number)).promise;
  const ends = (command: OperationCommand): Promise<OperationResult> => {
    runner.submit(command);
    return endOf(command.operation_id).promise;
  };
  const { journal, applied } = options;
  return { journal, applied, host, clock, logger, stateDir, runner, told, sent, ended, ends };
}

/** The disk takes no list of what is applied until what is returned is called. */
function block({ stateDir }: Scene): () => void {
  const path = join(stateDir, "applied.json");
  rmSync(path, { force: true });
  mkdirSync(path);
  return () => rmSync(path, { recursive: true });
}

const run = (number: number, parts: object = {}): OperationCommand => {
  const { allow_empty: _none, ...rest } = apply(number, { resources: [script] }) as { allow_empty?: unknown };
  return { ...rest, type: "run", ...parts } as unknown as OperationCommand;
};

describe("the end of an operation", () => {
  it("is told behind all that was told while it ran", async () => {
    const scene = begin({}, () => ({ stdout: "working\n" }));
    await scene.ends(apply(1, { resources: [script, motd] }));
    expect(scene.told).toEqual(["output", "progress", "ended"]);
  });

  it("comes when its time is over, and no moment before", async () => {
    const scene = begin(
      {},
      (_line, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(new Error("It was ended."))),
        ),
    );
    scene.runner.submit(apply(1, { resources: [script], timeout_seconds: 5 }));
    await settle();
    await scene.clock.advance(4_999);
    await settle();
    expect(scene.told).not.toContain("ended");
    await scene.clock.advance(1);
    expect(await scene.ended(1)).toMatchObject({ status: "timed_out" });
  });

  it("says why it never began: a cancel without an error, all else with one", async () => {
    const gate = deferred();
    const scene = begin({}, async () => {
      await gate.promise;
      return { exitCode: 0 };
    });
    scene.runner.submit(apply(1, { resources: [script], timeout_seconds: 86_400 }));
    scene.runner.submit(apply(2));
    scene.runner.submit(apply(3, { resources: [motd] }));
    scene.runner.submit(apply(4, { resources: [motd], not_after: "2030-01-01T00:00:01.000Z" }));
    scene.runner.cancel(uuid(3));
    await settle();
    scene.clock.leap(1_001);
    gate.resolve();
    // What it would take away came while it waited.
    expect(await scene.ended(2)).toMatchObject({
      status: "failed",
      error: { code: "EMPTY_DESIRED_STATE" },
    });
    const cancelled = await scene.ended(3);
    expect([cancelled.status, cancelled.error]).toEqual(["cancelled", undefined]);
    expect(await scene.ended(4)).toMatchObject({ status: "cancelled", error: { code: "COMMAND_EXPIRED" } });
    expect(scene.host.files.stat("/motd")).toBeNull();
  });

  it("is no interruption where all was done before the agent stopped", async () => {
    const gate = deferred();
    const scene = begin({}, async () => {
      await gate.promise;
      return { exitCode: 0 };
    });
    scene.runner.submit(apply(1, { resources: [script] }));
    await settle();
    const stopped = scene.runner.stop();
    gate.resolve();
    await stopped;
    expect(await scene.ended(1)).toMatchObject({ status: "succeeded", results: [{ outcome: "changed" }] });
  });

  it("is an interruption where the agent has to stop at once in the middle of a command", async () => {
    const scene = begin(
      {},
      (_command, signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Error("It was ended.")));
        }),
    );
    scene.runner.submit(run(1));
    await settle();
    const stopped = scene.runner.stop();
    scene.runner.cut();
    await stopped;
    expect(await scene.ended(1)).toMatchObject({ status: "interrupted", error: { code: "UNAVAILABLE" } });
  });

  it("leaves what is not desired any more where it is told to hold removals", async () => {
    const scene = begin();
    await scene.ends(apply(1, { resources: [motd] }));
    const held = await scene.ends(apply(2, { allow_empty: true, hold_removals: true }));
    expect(held.results).toMatchObject([{ outcome: "skipped", skipped_because: "unattended" }]);
    expect(scene.host.files.stat("/motd")).not.toBeNull();
    expect(scene.applied.resources).toHaveLength(1);
  });

  it("removes copies of old files that nothing needs any more, and is none the worse where that fails", async () => {
    const scene = begin();
    const { host } = scene;
    host.files.writeFile("/motd", Buffer.from("theirs"), {});
    await scene.ends(apply(1, { resources: [motd] }));
    const kept = scene.applied.resources[0]!.prior!.spec["content_backup"] as string;
    expect(host.backups.sizeBytes(kept)).toBe(6);
    const { prune } = host.backups;
    host.backups.prune = () => {
      throw new Error("It can't be removed.");
    };
    expect(await scene.ends(apply(2, { allow_empty: true }))).toMatchObject({ status: "succeeded" });
    expect(scene.logger.of("warn")).toEqual([
      "Copies of old files that nothing needs any more could not be removed.",
    ]);
    expect(host.backups.sizeBytes(kept)).toBe(6);
    host.backups.prune = prune;
    await scene.ends(apply(3, { resources: [motd] }));
    await scene.ends(apply(4, { allow_empty: true }));
    expect(host.backups.sizeBytes(kept)).toBeNull();
    expect(Buffer.from(host.files.readFile("/motd")).toString()).toBe("theirs");
  });
});

describe("what could not be noted as applied", () => {
  it("makes an operation partial where something changed, and failed where nothing did", async () => {
    const scene = begin();
    const unblock = block(scene);
    const failure = { error: { code: "STORAGE_FAILED" } };
    const first = await scene.ends(apply(1, { resources: [motd] }));
    expect(first).toMatchObject({ status: "partial", ...failure });
    expect(await scene.ends(apply(2, { resources: [motd] }))).toMatchObject({ status: "failed", ...failure });
    unblock();
    expect(await scene.ends(apply(3, { resources: [motd] }))).toMatchObject({ status: "succeeded" });
    expect(new AppliedSet(scene.stateDir).resources).toMatchObject([{ resource: motd }]);
  });

  it("does not hide that an operation was cancelled", async () => {
    const gate = deferred();
    const scene = begin({}, async () => {
      await gate.promise;
      return { exitCode: 0 };
    });
    block(scene);
    scene.runner.submit(apply(1, { resources: [motd, script, { ...motd, identity: "/later" }] }));
    await settle();
    scene.runner.cancel(uuid(1));
    gate.resolve();
    expect(await scene.ended(1)).toMatchObject({ status: "cancelled", error: { code: "STORAGE_FAILED" } });
  });
});

describe("an operation that breaks off", () => {
  const breaking = (): Scene =>
    begin(
      {
        progress({ type }) {
          if (type === "output") throw new TypeError("Nobody hears it.");
        },
      },
      () => ({ stdout: "working\n" }),
    );

  it("fails, and what it had changed is ours", async () => {
    const scene = breaking();
    const result = await scene.ends(apply(1, { resources: [motd, script] }));
    expect(result).toMatchObject({ status: "failed", results: [], error: { code: "INTERNAL" } });
    expect(scene.logger.of("error")).toEqual(["The engine broke off."]);
    expect(new AppliedSet(scene.stateDir).resources).toMatchObject([
      { resource: motd },
      { resource: script },
    ]);
  });

  it("stays cut off on disk until what it changed is noted there", async () => {
    const scene = breaking();
    block(scene);
    const { logger, clock, stateDir } = scene;
    await scene.ends(apply(1, { resources: [motd, script] }));
    const next = new OperationJournal({ stateDir, clock, logger, boot: "a" });
    expect(next.cutOff()).toMatchObject([{ operation_id: uuid(1) }]);
  });
});

describe("the journal of an operation that runs", () => {
  it("has the results of what needed no change before the next resource takes long", async () => {
    const seen: unknown[] = [];
    const scene: Scene = begin({}, () => {
      seen.push(...scene.journal.recordsOf(uuid(2)).records.filter(({ record }) => record === "result"));
      return {};
    });
    await scene.ends(apply(1, { resources: [motd] }));
    await scene.ends(apply(2, { resources: [motd, script] }));
    expect(seen).toMatchObject([{ result: { identity: "/motd", outcome: "unchanged" } }]);
  });

  it("says of what failed and touched nothing that it was left alone", async () => {
    const scene = begin();
    const seen: unknown[] = [];
    scene.host.files.writeFile = () => {
      throw new OrchestratorError("HOST_ERROR", { message: "The disk is read-only." });
    };
    const { results } = scene.journal;
    scene.journal.results = (id, found) => {
      results.call(scene.journal, id, found);
      seen.push(...scene.journal.recordsOf(id).records.map(({ record }) => record));
    };
    expect(await scene.ends(apply(1, { resources: [motd] }))).toMatchObject({ status: "failed" });
    expect(seen).toEqual(["accepted", "started", "captured", "begun", "untouched", "result"]);
  });

  it("has the result of a command that an operator sent, and so has who watches it", async () => {
    const scene = begin();
    await scene.ends(run(1));
    expect(scene.told).toEqual(["progress", "ended"]);
    const records = scene.journal.recordsOf(uuid(1)).records.map(({ record }) => record);
    expect(records).toEqual(["accepted", "started", "result", "finished"]);
  });
});

describe("an operation with secrets", () => {
  const value = "c4nary-of-an-end";
  const placeholder = (form: string): string => `$secret$password@1$${form}$${"0".repeat(32)}$`;
  const keys = { node_id: "0".repeat(32), box: nodeCrypto.createExchangeKeyPair() };
  const sealed = (form: string, bytes = Buffer.from(value)): SealedSecrets =>
    sealSecrets(
      { values: [bytes], places: [{ text: placeholder(form), form, value: 0 }] },
      { crypto: nodeCrypto, boxKey: keys.box.publicKey, nodeId: keys.node_id, operationId: uuid(1) },
    );
  const openSecrets = createOpenSecrets(keys, nodeCrypto);
  const secretFile = (form = "text") =>
    resource({ type: "file", path: "/secret", content: placeholder(form) });

  it.each([
    ["without the keys for it", {}, "text", Buffer.from(value)],
    ["that wants one in a form that is not known", { openSecrets }, "morse", Buffer.from(value)],
    ["that wants bytes as a text that are none", { openSecrets }, "text", Buffer.of(0xff)],
  ])("fails %s, and changes nothing", async (_name, parts, form, bytes) => {
    const scene = begin(parts);
    const result = await scene.ends(
      apply(1, { resources: [secretFile(form)], secrets: sealed(form, bytes) }),
    );
    expect(result).toMatchObject({ status: "failed", results: [], error: { code: "SECRET_UNAVAILABLE" } });
    expect(scene.host.files.stat("/secret")).toBeNull();
  });

  it("tells them nowhere, whatever quotes them", async () => {
    const said = { message: `It said ${value}.`, details: { said: [value] } };
    const scene = begin({ openSecrets }, () => {
      throw new OrchestratorError("HOST_ERROR", said);
    });
    const { barrier } = scene.host;
    scene.host.barrier = async () => {
      if (scene.host.files.stat("/secret") !== null) throw new OrchestratorError("HOST_ERROR", said);
      return barrier.call(scene.host);
    };
    const result = await scene.ends(apply(1, { resources: [secretFile(), script], secrets: sealed("text") }));
    const clean = "It said (sensitive).";
    expect(result).toMatchObject({
      results: [{ outcome: "changed" }, { outcome: "failed", message: clean }],
      error: { message: clean, details: { said: ["(sensitive)"] } },
    });
    expect(Buffer.from(scene.host.files.readFile("/secret")).toString()).toBe(value);
    await scene.clock.advance(1_000);
    const journal = readFileSync(join(scene.stateDir, "operations", `${uuid(1)}.jsonl`), "utf8");
    for (const told of [JSON.stringify(result), scene.sent.join(), journal, inspect(scene.logger.lines)])
      expect(told).not.toContain(value);
    expect(scene.sent.join()).toContain(clean);
  });
});
