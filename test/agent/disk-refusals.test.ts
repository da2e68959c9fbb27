/** What an agent says where it can't write something down, or can't read it: to the log, in words, and what it does all the same. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AcknowledgedOperations } from "../../lib/agent/acknowledged-operations.ts";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { AttributeReports } from "../../lib/agent/attribute-reports.ts";
import { CommandHandler } from "../../lib/agent/command-handler.ts";
import { EnrolmentToken } from "../../lib/agent/enrolment-token.ts";
import { FollowedEpoch } from "../../lib/agent/followed-epoch.ts";
import { KeptResults } from "../../lib/agent/kept-results.ts";
import { OperationJournal } from "../../lib/agent/operation-journal.ts";
import { OperationRunner } from "../../lib/agent/operation-runner.ts";
import { ResultDelivery } from "../../lib/agent/result-delivery.ts";
import { AgentTerminals } from "../../lib/agent/terminal/agent-terminals.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { apply, resource, uuid } from "../support/agent-commands.ts";
import { settle, settleAll } from "../support/deferred.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const at = "2030-01-01T00:00:00.000Z";
const times = { started_at: at, finished_at: at, duration_ms: 0 };
const resultOf = (operation_id: string) =>
  ({ type: "result", operation_id, status: "succeeded", results: [], output: [], ...times }) as const;
const finished = (number: number) => ({ ...resultOf(uuid(number)), results: [], output: [] });

function begin() {
  const stateDir = temporaryFolder();
  const logger = new RecordingLogger();
  const clock = new FakeClock();
  const context = { stateDir, clock, logger, crypto: nodeCrypto };
  /** Puts a folder where a file would have to be. */
  const block = (...names: string[]): void => {
    for (const name of names) {
      rmSync(join(stateDir, name), { force: true });
      mkdirSync(join(stateDir, name, "full"), { recursive: true });
    }
  };
  const said = (): string[] => logger.lines.splice(0).map(({ level, message }) => `${level} ${message}`);
  return { ...context, context, block, said };
}

const refusal = expect.objectContaining({ code: "STORAGE_FAILED" }) as Error;

test("an epoch that can't be written down is followed all the same, and one that is damaged counts for nothing", () => {
  const { context, stateDir, block, said, logger } = begin();
  const key = new Uint8Array(32).fill(1);
  const id = "01b8dac6-40a0-702e-8d87-5a4bc0a7eb6f";
  const epochs = new FollowedEpoch(context);
  epochs.follow(key, { number: 1, id });
  expect(said()).toEqual([]);
  block("epoch.json.new");
  epochs.follow(key, { number: 2, id });
  expect(logger.lines.map(({ fields }) => fields)).toEqual([{ epoch: 2, seen: 1 }, { error: refusal }]);
  expect(said()).toEqual([
    "info The orchestrator began a new epoch.",
    "error The epoch of the orchestrator could not be written down.",
  ]);
  expect(() => epochs.follow(key, { number: 1, id })).toThrow(
    expect.objectContaining({ code: "ORCHESTRATOR_SUPERSEDED", details: { epoch: 1, followed: 2 } }),
  );
  writeFileSync(join(stateDir, "epoch.json"), "damaged");
  expect(new FollowedEpoch(context).get(key)).toEqual({ number: 2, id });
  expect(logger.lines.map(({ fields }) => fields)).toEqual([{ path: join(stateDir, "epoch.json") }]);
  expect(said()).toEqual(["error A note of the orchestrator's epoch is damaged; the other one counts."]);
});

test("an enrolment token is done with for this life where that can't be written down", () => {
  const { context, block, said, logger } = begin();
  block("enrolled.json.new");
  const token = new EnrolmentToken(context, "secret");
  token.answered("approved", true);
  expect([token.get(), logger.lines[0]?.fields]).toEqual([null, { error: refusal }]);
  expect(said()).toEqual(["warn That the enrolment token is done with could not be written down."]);
});

test("a journal that can't be added to loses what only a crash would need, and keeps the end in memory", () => {
  const { context, block, said, logger } = begin();
  const journal = new OperationJournal(context);
  const operation_id = uuid(1);
  journal.accept({ operation_id, kind: "apply", not_after: at });
  block(`operations/${operation_id}.jsonl`);
  journal.untouched(operation_id, "path:/x");
  journal.results(operation_id, []);
  journal.finish(finished(1));
  expect(logger.lines.map(({ fields }) => fields)).toEqual(Array(3).fill({ operation_id, error: refusal }));
  expect(said()).toEqual([
    "warn What was not changed could not be written down.",
    "warn Results could not be written down.",
    "error The result of an operation could not be written down.",
  ]);
  expect([journal.resultOf(operation_id), journal.finished()]).toEqual([finished(1), [operation_id]]);
  expect(() => journal.started(operation_id)).toThrow(refusal);
  expect(() => journal.captured(operation_id, [{ resource: motd, prior: null }])).toThrow(refusal);
});

const motd = resource({ type: "file", path: "/motd", content: "hello" });

test("a journal that is damaged says from which line on, and its result that it is", () => {
  const { context, stateDir, said, logger } = begin();
  const [one, two] = [uuid(1), uuid(2)];
  const journal = new OperationJournal(context);
  for (const operation_id of [one, two]) journal.accept({ operation_id, kind: "apply", not_after: at });
  writeFileSync(join(stateDir, `operations/${one}.jsonl`), "what is this?\n");
  journal.finish(finished(2));
  writeFileSync(join(stateDir, `operations/${two}.jsonl`), "nor this\n");
  expect(journal.resultOf(two)).toMatchObject({ status: "interrupted", error: { code: "STORAGE_CORRUPT" } });
  expect(logger.lines.map(({ fields }) => fields)).toEqual([{ operation_id: two }]);
  expect(said()).toEqual(["error The result of an operation is damaged."]);
  // Told once: it is remembered.
  journal.resultOf(two);
  expect(said()).toEqual([]);
  rmSync(join(stateDir, `operations/${two}.jsonl`));
  void new OperationJournal(context);
  expect(logger.lines.map(({ fields }) => fields)).toEqual([{ operation_id: one, line: 1 }]);
  expect(said()).toEqual(["error The journal of an operation is damaged; a part of it is lost."]);
});

test("the list of acknowledged operations that is damaged is made again of the other one", () => {
  const { context, stateDir, said, logger } = begin();
  new AcknowledgedOperations(context).add(uuid(1), at);
  const path = join(stateDir, "acknowledged.json");
  writeFileSync(path, "damaged");
  expect(new AcknowledgedOperations(context).has(uuid(1))).toBe(true);
  expect(logger.lines.map(({ fields }) => fields)).toEqual([{ path }]);
  expect(said()).toEqual(["error A list of acknowledged operations is damaged; the other one counts."]);
  expect(new AcknowledgedOperations(context).has(uuid(1))).toBe(true);
  expect(said()).toEqual([]);
});

test("a result that can't be kept is gone, and nothing else is", () => {
  const { context, stateDir, said, logger } = begin();
  const kept = new KeptResults(context);
  const file = join(stateDir, "none.jsonl");
  kept.keep(uuid(1), file);
  expect(logger.lines.map(({ fields }) => fields)).toEqual([{ operation_id: uuid(1), error: refusal }]);
  expect(said()).toEqual(["debug The result of an operation was not kept."]);
  expect(kept.resultOf(uuid(1))).toBeNull();
});

test("a result that can't be read does not keep the others from being sent", () => {
  const { context, block, said, logger, clock } = begin();
  const journal = new OperationJournal(context);
  for (const number of [1, 2]) {
    journal.accept({ operation_id: uuid(number), kind: "apply", not_after: at });
    journal.finish(finished(number));
  }
  block(`operations/${uuid(1)}.jsonl`);
  const sent: unknown[] = [];
  const applied = new AppliedSet(context.stateDir);
  const send = (message: unknown): boolean => sent.push(message) > 0;
  const delivery = new ResultDelivery({ journal, applied, clock, logger, send });
  delivery.begin();
  delivery.pause();
  expect(sent).toEqual([finished(2)]);
  expect(logger.lines.map(({ fields }) => fields)).toEqual([{ operation_id: uuid(1), error: refusal }]);
  expect(said()).toEqual(["error A result could not be sent."]);
});

function runnerOf({ context }: ReturnType<typeof begin>, progress: () => void = () => {}) {
  const journal = new OperationJournal(context);
  const applied = new AppliedSet(context.stateDir);
  const { clock, logger } = context;
  const ended: string[] = [];
  const runner = new OperationRunner({
    journal,
    applied,
    host: new MemoryHost(),
    clock,
    logger,
    types: resourceTypes,
    orchestratorNow: () => Date.parse(at),
    runsCommands: true,
    progress,
    ended: ({ result }) => void ended.push(result.status),
  });
  return { runner, journal, ended };
}

test("what was applied and can't be noted is said, and the operation does not pass for a success", async () => {
  const scene = begin();
  const { runner, journal, ended } = runnerOf(scene);
  scene.block("applied.json.new");
  runner.submit(apply(1, { resources: [motd] }));
  await settleAll();
  await runner.stop();
  expect(ended).toEqual(["partial"]);
  expect(journal.resultOf(uuid(1))).toMatchObject({ status: "partial", error: { code: "STORAGE_FAILED" } });
  expect(scene.logger.lines.map(({ fields }) => fields)).toEqual([{ error: refusal }]);
  expect(scene.said()).toEqual(["error What was applied could not be noted."]);
});

test("an operation that breaks off is said to, and the next one runs", async () => {
  const scene = begin();
  const error = new Error("nobody listens");
  let isBroken = true;
  const { runner, ended } = runnerOf(scene, () => {
    if (isBroken) throw error;
  });
  runner.submit(apply(1, { resources: [motd] }));
  await settleAll();
  const [first] = scene.logger.lines.slice(-1);
  expect(first).toMatchObject({ level: "error", fields: { operation_id: uuid(1), error } });
  expect(first?.message).toMatch(/^(?:An operation|The engine) broke off\.$/);
  isBroken = false;
  runner.submit(apply(2, { resources: [motd] }));
  await settleAll();
  await runner.stop();
  expect(ended.at(-1)).toBe("succeeded");
});

test("a command that fails for no reason that is known is refused, and the log has the reason", () => {
  const scene = begin();
  const { logger, clock, stateDir } = scene;
  const error = new TypeError("a mistake of ours");
  const sent: unknown[] = [];
  const send = (message: unknown): boolean => sent.push(message) > 0;
  const { runner, journal } = runnerOf(scene);
  const applied = new AppliedSet(stateDir);
  const handler = new CommandHandler({
    runner,
    delivery: new ResultDelivery({ journal, applied, clock, logger, send }),
    terminals: new AgentTerminals({
      nodeId: "0".repeat(32),
      setup: {},
      load: () => {
        throw error;
      },
      logger,
      send,
      sendStream: () => false,
    }),
    metrics: null,
    logger,
    orchestratorNow: () => Date.parse(at),
    send,
    sendAttributes: () => {},
  });
  const [id, session_id] = [uuid(8), uuid(9)];
  const size = { cols: 80, rows: 24, operator: "ada" };
  handler.handle({ type: "terminal.open", id, session_id, not_after: at, ...size });
  expect(sent).toEqual([{ type: "reply", id, error: expect.objectContaining({ code: "INTERNAL" }) }]);
  expect(logger.lines.map(({ fields }) => fields)).toEqual([{ command: "terminal.open", error }]);
  expect(scene.said()).toEqual(["error A command failed."]);
});

test("attributes that can't be sent are said to be missing", async () => {
  const { context, said, logger } = begin();
  const error = new Error("no way");
  const reports = new AttributeReports({
    ...context,
    root: temporaryFolder(),
    host: new MemoryHost(),
    send: () => {
      throw error;
    },
  });
  reports.report();
  await settle();
  reports.stop();
  expect(logger.lines.map(({ fields }) => fields)).toEqual([{ error }]);
  expect(said()).toEqual(["error The attributes could not be read."]);
});
