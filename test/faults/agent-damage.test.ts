/**
 * Every file of the agent, damaged in every way: refused with its name, repaired, or harmless. Never a second run: found
 * with one bit flipped in the journal of an operation, which was then taken for one that had not been accepted.
 */
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { loadIdentity, PinnedOrchestrator } from "../../lib/agent/identity.ts";
import { OperationJournal, type OperationResult } from "../../lib/agent/operation-journal.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { resource, uuid } from "../support/agent-commands.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { isSoak } from "../support/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** In the usual run every third byte; with the length of the files it is another bit each time. */
const step = isSoak ? 1 : 3;
const cut = uuid(1);
const ended = uuid(2);
const acknowledged = uuid(3);
const captured = [{ resource: resource({ type: "file", path: "/etc/motd", content: "hello" }), prior: null }];
const result: OperationResult = {
  type: "result",
  operation_id: ended,
  status: "succeeded",
  results: [],
  output: [],
  started_at: "2030-01-01T00:00:00.000Z",
  finished_at: "2030-01-01T00:00:01.000Z",
  duration_ms: 1000,
};

/** What an agent finds at its start. */
interface Found {
  nodeId: string;
  pin: unknown;
  applied: unknown;
  knows: boolean[];
  result: OperationResult | null;
  cutOff: string[];
}

function contextOf(stateDir: string) {
  return { stateDir, clock: new FakeClock(), logger: new RecordingLogger(), crypto: nodeCrypto };
}

/** A state folder with something in every kind of file, and an older copy of each. */
async function fill(stateDir: string, older: string): Promise<void> {
  mkdirSync(stateDir);
  const context = contextOf(stateDir);
  loadIdentity(context);
  await new PinnedOrchestrator(context, undefined).set(nodeCrypto.createSigningKeyPair().publicKey);
  const applied = new AppliedSet(stateDir);
  applied.replace([]);
  const journal = new OperationJournal(context);
  const accept = (operation_id: string): void =>
    journal.accept({ operation_id, kind: "apply", not_after: "2030-01-01T01:00:00.000Z" });
  for (const id of [cut, ended]) accept(id);
  accept(uuid(4));
  journal.finish({ ...result, operation_id: uuid(4) });
  journal.acknowledge(uuid(4));
  cpSync(stateDir, older, { recursive: true });
  applied.replace(captured);
  journal.started(cut);
  journal.captured(cut, captured);
  journal.started(ended);
  journal.finish(result);
  accept(acknowledged);
  journal.finish({ ...result, operation_id: acknowledged });
  journal.acknowledge(acknowledged);
}

function find(stateDir: string): Found {
  const context = contextOf(stateDir);
  const { node_id: nodeId } = loadIdentity(context);
  const pin = new PinnedOrchestrator(context, undefined).get();
  const applied = new AppliedSet(stateDir).resources;
  const journal = new OperationJournal(context);
  return {
    nodeId,
    pin,
    applied,
    knows: [cut, ended, acknowledged].map((id) => journal.knows(id)),
    result: journal.resultOf(ended),
    cutOff: journal.cutOff().map(({ operation_id }) => operation_id),
  };
}

const originals = mkdtempSync(join(tmpdir(), "fleetwright-"));
const whole = join(originals, "state");
const older = join(originals, "older");
await fill(whole, older);
afterAll(() => rmSync(originals, { recursive: true }));

cpSync(whole, join(originals, "read"), { recursive: true });
const untouched = find(join(originals, "read"));

function copied(): string {
  const folder = join(temporaryFolder(), "state");
  cpSync(whole, folder, { recursive: true });
  return folder;
}

const files: Record<string, "refused" | "repaired" | "interrupted"> = {
  "identity.json": "refused",
  "orchestrator.key": "refused",
  "applied.json": "refused",
  "acknowledged.json": "repaired",
  "acknowledged.copy.json": "repaired",
  [`operations/${cut}.jsonl`]: "interrupted",
  [`operations/${ended}.jsonl`]: "interrupted",
};

/** What may come of a damaged file; throws where it is anything else. */
function judge(folder: string, file: string): void {
  let found: Found;
  try {
    found = find(folder);
  } catch (error) {
    if (!isOrchestratorError(error, "STORAGE_CORRUPT")) throw error;
    expect(files[file]).toBe("refused");
    expect(error.message).toContain(join(folder, file));
    expect(error.details).toMatchObject({ file: join(folder, file) });
    return;
  }
  // Whatever was accepted is known, and so is never run.
  expect(found.knows).toEqual([true, true, true]);
  if (files[file] !== "interrupted") return expect(found).toEqual(untouched);
  const { result: end, cutOff, ...rest } = found;
  const { result: _1, cutOff: _2, ...same } = untouched;
  expect(rest).toEqual(same);
  expect(cutOff).toContain(cut);
  if (end === null) expect(cutOff).toContain(ended);
  else expect(end).toEqual(untouched.result);
}

describe.each(Object.keys(files))("%s", (file) => {
  const bytes = readFileSync(join(whole, file));

  test("with any bit flipped", { timeout: 120_000 }, () => {
    const folder = copied();
    for (let at = 0; at < bytes.length; at += step) {
      // The whole folder again: a start repairs.
      cpSync(whole, folder, { recursive: true });
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(join(folder, file), damaged);
      judge(folder, file);
    }
    expect(bytes.length).toBeGreaterThan(40);
  });

  test("cut off anywhere, or zero from anywhere", { timeout: 120_000 }, () => {
    const folder = copied();
    for (let at = 0; at < bytes.length; at += 2 * step + 1) {
      cpSync(whole, folder, { recursive: true });
      truncateSync(join(folder, file), at);
      judge(folder, file);
      cpSync(whole, folder, { recursive: true });
      writeFileSync(join(folder, file), Buffer.from(bytes).fill(0, at));
      judge(folder, file);
    }
    expect(bytes.length).toBeGreaterThan(40);
  });

  test("twice in itself", () => {
    const folder = copied();
    writeFileSync(join(folder, file), Buffer.concat([bytes, bytes]));
    expect(() => judge(folder, file)).not.toThrow();
  });
});

describe("a file that another took the place of", () => {
  test.each([
    [`operations/${cut}.jsonl`, `operations/${ended}.jsonl`],
    [`operations/${ended}.jsonl`, `operations/${cut}.jsonl`],
    ["identity.json", "applied.json"],
    ["applied.json", "identity.json"],
    ["acknowledged.json", "applied.json"],
  ])("%s is %s", (file, other) => {
    const folder = copied();
    copyFileSync(join(whole, other), join(folder, file));
    expect(() => judge(folder, file)).not.toThrow();
  });
});

test.each([
  `operations/${cut}.jsonl`,
  `operations/${ended}.jsonl`,
  "acknowledged.json",
  "acknowledged.copy.json",
])("an older %s runs nothing again", (file) => {
  const folder = copied();
  copyFileSync(join(older, file), join(folder, file));
  expect(find(folder).knows).toEqual([true, true, true]);
});

test.each(["acknowledged.json", "acknowledged.copy.json"])("a lost %s is made again", (file) => {
  const folder = copied();
  rmSync(join(folder, file));
  expect(find(folder)).toEqual(untouched);
  rmSync(join(folder, file));
  expect(find(folder).knows).toEqual([true, true, true]);
});

test("files of versions that wrote no checksum are read, and written again with one", () => {
  const folder = copied();
  for (const file of ["identity.json", "applied.json"]) {
    const text = readFileSync(join(folder, file), "utf8");
    writeFileSync(join(folder, file), text.replace(/,"crc32":"[0-9a-f]{8}"\}/, "}"));
  }
  const pin = readFileSync(join(folder, "orchestrator.key"), "utf8");
  writeFileSync(join(folder, "orchestrator.key"), `${pin.split(" ")[0]}\n`);
  expect(find(folder)).toEqual(untouched);
  for (const file of ["identity.json", "applied.json", "orchestrator.key"])
    expect(readFileSync(join(folder, file))).toEqual(readFileSync(join(whole, file)));
});
