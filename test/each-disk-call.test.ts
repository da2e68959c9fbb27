/** One call of the disk fails, each in its turn, in the whole life of a storage: nothing is left open, locked, half done or lost. */
import { cpSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FileStorage } from "../lib/storage/file-storage.ts";
import { restoreBackup, verifyBackup } from "../lib/storage/file/restore.ts";
import type { FileSeries } from "../lib/storage/file/series/file-series.ts";
import type { BlobWriter } from "../lib/storage/storage.ts";
import { FakeClock } from "../lib/testing/fake-clock.ts";
import { backupOrigin, backupSigner } from "./support/backups.ts";
import { FailingDisk, type DiskFailure } from "./support/failing-disk.ts";
import { change, schema } from "./support/file-storages.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

const sizes = { segmentBytes: 4_096, minJournalBytes: 4_096, logSegmentBytes: 1_024 };
const pad = "x".repeat(300);

/** What a life was answered. */
class Answers {
  readonly kept = new Map<string, number>();
  readonly refused: string[] = [];
  /** Bytes of blobs that were answered for. */
  readonly blobs = new Map<string, number>();
  readonly errors: unknown[] = [];
  /** Time of the newest sample that is durable, and the backup that was taken after that. */
  sampleAt = 0;
  backup: Uint8Array[] | null = null;
  /** Whether nothing is written any more after a failure. */
  readonly isFinal: boolean;

  constructor(isFinal: boolean) {
    this.isFinal = isFinal;
  }

  async of(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act();
      return true;
    } catch (error) {
      this.errors.push(error);
      return false;
    }
  }
}

/** Opens, writes whatever a storage can be given, reads it, and closes. What fails is tried a second time. */
async function live(
  folder: string,
  disk: FailingDisk,
  { first, before = new Map() }: { first: number; before?: ReadonlyMap<string, number> },
): Promise<Answers> {
  const clock = new FakeClock();
  const storage = new FileStorage({ folder, disk, clock, ...sizes });
  const answers = new Answers(disk.failure === "EIO");
  if (!(await answers.of(() => storage.open(schema)))) return answers;
  const commit = async (n: number): Promise<void> => {
    const key = `agent-${n}`;
    const isKept =
      (await answers.of(() => storage.commit(change(key, n, pad)))) ||
      (await answers.of(() => storage.commit(change(key, n, pad))));
    if (isKept) answers.kept.set(key, n);
    else answers.refused.push(key);
  };
  for (let n = first; n < first + 14; n++) await commit(n);
  for (const id of ["dropped", "twice", "twice"]) {
    const bytes = Buffer.from(`${id} `.repeat(3));
    const size = answers.blobs.get(id) ?? before.get(id) ?? 0;
    // At the place that it was told of: what was refused is not there.
    const append = async (): Promise<unknown> =>
      answers.blobs.set(id, await storage.appendBlob(id, bytes, size));
    if (!(await answers.of(append)) && !(await answers.of(append))) answers.refused.push(id);
  }
  let writer: BlobWriter | null = null;
  await answers.of(async () => (writer = await storage.openBlob("written")));
  if (writer !== null) await answers.of(() => useWriter(writer!));
  for (const at of [first * 1_000, first * 1_000 + 1]) {
    await answers.of(() => storage.series.append("host", [{ at, values: { load: at } }]));
    if (await answers.of(() => storage.series.sync())) answers.sampleAt = at;
    // Long enough for what is kept to be written whole, as a chunk.
    await clock.advance(2 * 3_600_000);
    await answers.of(() => (storage.series as FileSeries).upkeep());
  }
  await answers.of(() => storage.readLog("audit"));
  await answers.of(() => storage.readBlob("twice"));
  await answers.of(() => storage.trimLog("audit", 3));
  await answers.of(() => storage.commit([{ kind: "dropBlob", id: "dropped" }]));
  const takeBackup = async (): Promise<unknown> => (answers.backup = await backUp(storage));
  if (!(await answers.of(takeBackup)) && !(await answers.of(takeBackup))) answers.refused.push("backup");
  await answers.of(() => storage.appendBlob("late", Buffer.from("late")));
  await answers.of(() => storage.commit([{ kind: "dropBlob", id: "late" }]));
  await commit(first + 14);
  await answers.of(() => storage.check());
  await answers.of(() => storage.close());
  return answers;
}

/** What a backup that is whole says is true of it. */
async function backUp(storage: FileStorage): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  for await (const piece of storage.backup.archive(backupSigner)) pieces.push(piece);
  await verifyBackup(toStream(pieces));
  return pieces;
}

async function* toStream(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

async function useWriter(writer: BlobWriter): Promise<void> {
  await writer.append(Buffer.from("bytes"));
  await writer.sync();
  await writer.close();
}

interface Case {
  /** Where the life begins: in no folder, or in one that a life has closed; and the sizes of the blobs that it has. */
  base: string | null;
  before?: ReadonlyMap<string, number>;
  first: number;
  failure: DiskFailure;
}

/** Fails each call of a life, one after the other, until there are no more. Gives what was seen wrong, by call. */
async function failEach({ base, failure, ...life }: Case): Promise<string[]> {
  const wrong: string[] = [];
  for (let failing = 0; ; failing++) {
    const folder = join(temporaryFolder(), "data");
    if (base !== null) cpSync(base, folder, { recursive: true });
    const disk = new FailingDisk(failing, failure);
    const answers = await live(folder, disk, life);
    if (disk.failed === null) return wrong;
    const tell = (what: string): unknown =>
      wrong.push(`${failing} ${disk.failed?.replaceAll(folder, "")}: ${what}`);
    for (const path of disk.openFiles) tell(`open: ${path.replace(folder, "")}`);
    if (existsSync(join(folder, "lock"))) tell("locked");
    // What a backup held is let go of: a blob that is dropped later is gone, not set aside.
    if (disk.failed.startsWith("close") && existsSync(join(folder, "blobs")))
      for (const name of readdirSync(join(folder, "blobs")))
        if (name.startsWith("late")) tell(`kept: ${name}`);
    // What a system lacks for a moment refuses one call at most: the second try is taken.
    if (failure !== "EIO") for (const key of answers.refused) tell(`refused twice: ${key}`);
    await checkNext(folder, answers, tell);
    if (answers.backup === null || !disk.failed.includes("/series/")) continue;
    const restored = join(temporaryFolder(), "data");
    await restoreBackup(toStream(answers.backup), restored, backupOrigin);
    await checkNext(restored, { ...new Answers(false), sampleAt: answers.sampleAt }, (what) =>
      tell(`restored: ${what}`),
    );
  }
}

/** What the next life finds. */
async function checkNext(
  folder: string,
  answers: Omit<Answers, "of">,
  tell: (what: string) => unknown,
): Promise<void> {
  const storage = new FileStorage({ folder, clock: new FakeClock(), ...sizes });
  try {
    await storage.open(schema);
  } catch (error) {
    tell(`not opened: ${String(error)}`);
    return;
  }
  for (const [key, n] of answers.kept) {
    if ((await storage.get("agents", key))?.value["n"] !== n) tell(`lost ${key}`);
  }
  for (const key of answers.refused)
    if ((await storage.get("agents", key)) !== null) tell(`refused, and kept: ${key}`);
  for (const [id, size] of answers.blobs) {
    const found = (await storage.readBlob(id))?.length ?? 0;
    // After an error of the disk elsewhere nobody is told that what was added is there.
    const isRight = found === size || (answers.isFinal && found > size);
    if (!isRight && id !== "dropped") tell(`blob ${id}: ${found} of ${size}`);
  }
  const newest = (await storage.series.newest("host"))?.at ?? 0;
  if (newest < answers.sampleAt) tell(`sample: ${newest} of ${answers.sampleAt}`);
  await storage.commit(change("next", 1));
  await storage.close();
}

test.each<DiskFailure>(["EIO", "ENOSPC", "EMFILE"])(
  "each call of a first life fails once with %s",
  async (failure) => {
    expect(await failEach({ base: null, first: 1, failure })).toEqual([]);
  },
);

test.each<DiskFailure>(["EIO", "ENOSPC", "EMFILE"])(
  "each call of a later life fails once with %s",
  async (failure) => {
    const base = join(temporaryFolder(), "base");
    const { blobs } = await live(base, new FailingDisk(Infinity, failure), { first: 1 });
    const before = new Map([...blobs].filter(([id]) => id !== "dropped"));
    expect(await failEach({ base, before, first: 20, failure })).toEqual([]);
  },
);
