import assert from "node:assert/strict";
import { isOrchestratorError, type ErrorCode, type OrchestratorError } from "../../errors.ts";
import type { JsonObject } from "../../json.ts";
import type { Storage, StorageSchema, Write } from "../../storage/storage.ts";
import type { ConformanceCase } from "../conformance.ts";
import type { FakeClock } from "../fake-clock.ts";

/** A storage under test and what a case needs beside it. */
export interface StorageSubject {
  /** Empty, not opened. Runs on `clock`. */
  storage: Storage;
  clock: FakeClock;
  /** A new storage, not opened, on the same data as those before, as after a restart of the process. */
  again(): Storage;
  /** Makes space run out, and come back. Absent where a test has no means to. */
  setFull?(full: boolean): void;
  /**
   * Gives what kill -9 would leave at this moment, as a new storage that is not opened; the one that was killed so to speak
   * may be used on. Absent where a test has no means to.
   */
  crash?(): Promise<Storage>;
  /** Removes what was stored. All storages are closed by then. */
  dispose(): Promise<void>;
}

/** Makes an empty storage to test. */
export type CreateStorage = () => Promise<StorageSubject>;

/** A case that is given a storage of its own, opened with {@link testSchema}. */
export interface StorageCase extends Omit<ConformanceCase, "run"> {
  run(subject: StorageSubject): Promise<void>;
}

/** What the cases keep. */
export const testSchema: StorageSchema = {
  version: 3,
  collections: {
    agents: { indexes: { by_status: ["status", "name"], by_rank: ["rank"], by_city: ["site.city"] } },
    modules: { indexes: {} },
  },
  logs: { audit: { chained: true }, events: { chained: false } },
};

/** Runs a case on a new storage; closes all that was opened, also when it fails. */
export async function withStorage(
  create: CreateStorage,
  run: (subject: StorageSubject) => Promise<void>,
): Promise<void> {
  const subject = await create();
  const opened = [subject.storage];
  const again = (): Storage => {
    const storage = subject.again();
    opened.push(storage);
    return storage;
  };
  try {
    await subject.storage.open(testSchema);
    const { storage, clock, setFull } = subject;
    const fill = setFull === undefined ? {} : { setFull: (full: boolean) => setFull.call(subject, full) };
    const crash = async (): Promise<Storage> => {
      assert.ok(subject.crash, "The subject has no crash.");
      const left = await subject.crash();
      opened.push(left);
      return left;
    };
    await run({ storage, clock, again, crash, dispose: () => subject.dispose(), ...fill });
  } finally {
    subject.setFull?.(false);
    for (const storage of opened) await storage.close();
    await subject.dispose();
  }
}

/** Closes the storage and opens a new one on its data. */
export async function reopen(subject: StorageSubject, storage: Storage = subject.storage): Promise<Storage> {
  await storage.close();
  const next = subject.again();
  await next.open(testSchema);
  return next;
}

/** The storage as it is, then a new one on its data: what is checked on both holds in memory and on disk. */
export async function* beforeAndAfterRestart(subject: StorageSubject): AsyncGenerator<Storage> {
  yield subject.storage;
  yield await reopen(subject);
}

/** A put of an agent. */
export function putAgent(key: string, value: JsonObject): Write {
  return { kind: "put", collection: "agents", key, value };
}

/** Asserts that a call is refused with an error code, and gives the error. */
export async function assertRefused(call: Promise<unknown>, code: ErrorCode): Promise<OrchestratorError> {
  const outcome: unknown = await call.then(
    () => new Error("It was not refused."),
    (error: unknown) => error,
  );
  if (isOrchestratorError(outcome, code)) return outcome;
  assert.fail(`Expected ${code}, got ${String(outcome)}`);
}
