import { hash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { OrchestratorError } from "../../lib/errors.ts";
import type { FileStorage } from "../../lib/storage/file-storage.ts";
import type { BackupOrigin } from "../../lib/storage/file/archive-signature.ts";
import { readArchive, writeArchive } from "../../lib/storage/file/archive.ts";
import { nodeDisk } from "../../lib/storage/file/disk.ts";
import { restoreMark } from "../../lib/storage/file/folder.ts";
import { encodeEntry } from "../../lib/storage/file/log-segment.ts";
import { restoreBackup, verifyBackup } from "../../lib/storage/file/restore.ts";
import { chainHash, zeroHash } from "../../lib/storage/hash-chain.ts";
import { backupOrigin, backupSigner } from "../support/backups.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { seededRandom } from "../support/random.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sizes = { segmentBytes: 64 * 1_024, minJournalBytes: 128 * 1_024, logSegmentBytes: 4_096 };

async function backUp(storage: FileStorage): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of storage.backup.archive(backupSigner)) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** The bytes in pieces of a size, as a network might bring them. */
async function* inPieces(bytes: Buffer, size = 10_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** The bytes with empty pieces around each, as streams that are flushed bring them. */
async function* amongEmpty(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield new Uint8Array();
  for await (const piece of inPieces(bytes)) {
    yield piece;
    yield new Uint8Array();
    yield new Uint8Array();
  }
}

/** A storage with documents, a trimmed log and blobs of several sizes. */
async function openFilled(): Promise<FileStorage> {
  const storage = await openStorage({ folder: temporaryFolder(), ...sizes });
  for (let n = 1; n <= 60; n++) await storage.commit(change(`agent "${n % 25}"`, n, "ü".repeat(200)));
  await storage.trimLog("audit", 20);
  await storage.appendBlob("empty", new Uint8Array(0));
  await storage.appendBlob("Große Datei", Buffer.alloc(1_500_000, "blob"));
  return storage;
}

describe("a backup that is restored", () => {
  test("holds documents, logs and blobs as they were, and is used like any other folder", async () => {
    const storage = await openFilled();
    const archive = await backUp(storage);
    const folder = join(temporaryFolder(), "restored");
    const summary = await restoreBackup(inPieces(archive, 777), folder, backupOrigin);
    expect(summary).toMatchObject({ documents: 25, log_entries: 41 });
    expect(await verifyBackup(inPieces(archive, 1_000_000))).toEqual(summary);
    expect(await verifyBackup(amongEmpty(archive))).toEqual(summary);
    const restored = await openStorage({ folder, ...sizes });
    for (const read of [
      (from: FileStorage) => from.list("agents", { limit: 1_000 }),
      (from: FileStorage) => from.readLog("audit", { limit: 1_000 }),
      async (from: FileStorage) => sha256((await from.readBlob("Große Datei")) ?? new Uint8Array()),
      (from: FileStorage) => from.readBlob("empty"),
    ]) {
      expect(await read(restored)).toEqual(await read(storage));
    }
    expect((await restored.commit(change("new", 1))).sequences).toEqual([0, 61]);
    await restored.close();
    const again = await openStorage({ folder, ...sizes });
    expect((await again.readLog("audit")).head.sequence).toBe(61);
  });

  test("is for its owner alone", async () => {
    const archive = await backUp(await openFilled());
    const folder = join(temporaryFolder(), "restored");
    await restoreBackup(inPieces(archive), folder, backupOrigin);
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const modes = entries.map((entry) => statSync(join(entry.parentPath, entry.name)).mode & 0o777);
    expect(modes.length).toBeGreaterThan(5);
    expect(entries.map((entry) => (entry.isDirectory() ? 0o700 : 0o600))).toEqual(modes);
  });

  test("has all that was acknowledged before it began, although twenty writers and a blob go on", async () => {
    const storage = await openStorage({ folder: temporaryFolder(), ...sizes, logSegmentBytes: 64 * 1_024 });
    const acknowledged = new Map<string, number>();
    let stop = false;
    const write = async (writer: string): Promise<void> => {
      for (let n = 1; !stop; n++) {
        await storage.commit(change(writer, n, "x".repeat(300)));
        acknowledged.set(writer, n);
      }
    };
    let blobBytes = 0;
    const grow = async (): Promise<void> => {
      while (!stop) blobBytes = await storage.appendBlob("growing", Buffer.alloc(5_000, 7));
    };
    const reached = (n: number) => [...acknowledged.values()].filter((count) => count >= n).length === 20;
    const work = [...Array.from({ length: 20 }, (_, n) => write(`writer-${n}`)), grow()];
    while (!reached(20)) await storage.commit([]);
    const before = { acknowledged: new Map(acknowledged), blobBytes };
    const archive = await backUp(storage);
    stop = true;
    await Promise.all(work);

    const folder = join(temporaryFolder(), "restored");
    await restoreBackup(inPieces(archive), folder, backupOrigin);
    const restored = await openStorage({ folder, ...sizes });
    const sums = { documents: 0 };
    for (const [writer, n] of before.acknowledged) {
      const found = (await restored.get("agents", writer))?.value["n"];
      expect(found).toBeGreaterThanOrEqual(n);
      sums.documents += Number(found);
    }
    expect((await restored.readBlob("growing"))?.length).toBeGreaterThanOrEqual(before.blobBytes);
    // Each commit wrote a document and an entry: of one moment, the two agree.
    expect((await restored.readLog("audit")).head.sequence).toBe(sums.documents);
    expect(await brokenChainAt(restored)).toBeNull();
  });

  test.each([
    ["is deleted once more", null],
    ["stays", "after"],
  ])(
    "has what is trimmed and deleted while it is made, also where a blob made anew %s",
    async (_how, stays) => {
      const folder = temporaryFolder();
      const storage = await openStorage({ folder, ...sizes });
      for (let n = 1; n <= 100; n++) await storage.commit(change("a", n, "x".repeat(200)));
      await storage.appendBlob("gone", Buffer.from("before"));
      const pieces: Uint8Array[] = [];
      for await (const piece of storage.backup.archive(backupSigner)) {
        pieces.push(piece);
        if (pieces.length !== 2) continue;
        expect(await storage.trimLog("audit", 90)).toBe(89);
        await storage.commit([{ kind: "dropBlob", id: "gone" }]);
        expect(await storage.readBlob("gone")).toBeNull();
        await storage.appendBlob("gone", Buffer.from("after"));
        if (stays === null) await storage.commit([{ kind: "dropBlob", id: "gone" }]);
      }
      const target = join(temporaryFolder(), "restored");
      await restoreBackup(inPieces(Buffer.concat(pieces)), target, backupOrigin);
      const restored = await openStorage({ folder: target, ...sizes });
      expect((await restored.readLog("audit", { limit: 1_000 })).entries).toHaveLength(100);
      expect(await restored.readBlob("gone")).toEqual(new Uint8Array(Buffer.from("before")));
      const left = await storage.readBlob("gone");
      expect(left && Buffer.from(left).toString()).toBe(stays);
      expect(readdirSync(join(folder, "blobs"))).toHaveLength(stays === null ? 0 : 1);
      expect(readdirSync(join(folder, "logs", "audit")).length).toBeLessThan(10);
    },
  );
});

test("a folder into which somebody wrote before a restore had its lock is left as it is", async () => {
  const archive = await backUp(await openFilled());
  const folder = temporaryFolder();
  const list = vi.spyOn(nodeDisk, "list").mockImplementationOnce((path) => {
    writeFileSync(join(path, "journal-00000001.jsonl"), "theirs");
    return Promise.resolve([]);
  });
  onTestFinished(() => list.mockRestore());
  const restoring = restoreBackup(inPieces(archive), folder, backupOrigin);
  await expect(restoring).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
  expect(readdirSync(folder)).toEqual(["journal-00000001.jsonl"]);
  expect(readFileSync(join(folder, "journal-00000001.jsonl"), "utf8")).toBe("theirs");
});

/** How verify and restore refuse an archive, both alike, with nothing left behind. */
async function refusal(archive: Buffer, origin: BackupOrigin = backupOrigin): Promise<OrchestratorError> {
  const folder = join(temporaryFolder(), "restored");
  const outcome = (work: Promise<unknown>) =>
    work.then(
      () => expect.fail("It was taken."),
      (error) => error,
    );
  const refused = await outcome(verifyBackup(inPieces(archive), origin));
  expect(await outcome(restoreBackup(inPieces(archive), folder, origin))).toMatchObject({
    code: refused.code,
    details: refused.details,
  });
  expect(readdirSync(folder)).toEqual([]);
  return refused;
}

describe("a damaged backup is refused by verify and restore, with the entry:", () => {
  test("cut off anywhere", async () => {
    const archive = await backUp(await openFilled());
    const random = seededRandom(11);
    const cuts = [
      0,
      1,
      archive.length - 1,
      ...Array.from({ length: 12 }, () => Math.floor(random() * archive.length)),
    ];
    for (const cut of cuts) {
      const { code, details } = await refusal(archive.subarray(0, cut));
      expect(code).toBe("STORAGE_CORRUPT");
      expect(details["entry"]).toMatch(/^(head|end|db\.json|(logs|blobs)\/.+)$/);
    }
  });

  test("with any one bit turned", async () => {
    const archive = await backUp(await openFilled());
    const random = seededRandom(12);
    for (let n = 0; n < 24; n++) {
      const at = Math.floor(random() * (n < 16 ? 30_000 : archive.length));
      const bit = 1 << Math.floor(random() * 8);
      archive[at] = (archive[at] ?? 0) ^ bit;
      expect(["STORAGE_CORRUPT", "STORAGE_VERSION_UNSUPPORTED", "ORCHESTRATOR_KEY_CHANGED"]).toContain(
        (await refusal(archive)).code,
      );
      archive[at] = (archive[at] ?? 0) ^ bit;
    }
    await verifyBackup(inPieces(archive));
  });

  test("a log entry that was changed together with all checksums breaks the chain", async () => {
    const storage = await openStorage({ folder: temporaryFolder(), ...sizes });
    for (let n = 1; n <= 10; n++) await storage.commit(change("a", n));
    const { entries } = await storage.readLog("audit");
    const original = inPieces(await backUp(storage));
    async function* forged() {
      for await (const part of readArchive(original, () => {})) {
        if (!part.file.startsWith("logs/")) yield part;
        else {
          const changed = entries.map((entry) =>
            entry.sequence === 4 ? { ...entry, value: { key: "b" } } : entry,
          );
          yield { ...part, bytes: Buffer.concat(changed.map(encodeEntry)) };
        }
      }
    }
    const pieces: Uint8Array[] = [];
    for await (const piece of writeArchive(forged(), backupSigner)) pieces.push(piece);
    const { details } = await refusal(Buffer.concat(pieces));
    expect(details["entry"]).toBe("logs/audit/000000000001.jsonl");
  });

  test("of a newer version", async () => {
    const archive = Buffer.from('{"fleetwright_backup":3,"anything":1}\n');
    expect((await refusal(archive)).code).toBe("STORAGE_VERSION_UNSUPPORTED");
  });

  test("with a file that would land elsewhere", async () => {
    const outside = ["../admin-key", "/etc/passwd", "blobs/../../x", "lock/.x", "blobs//x", "logs/x"];
    const beside = [
      "admin-keys",
      "admin-key",
      "lock",
      "restored.json",
      restoreMark,
      "journal-00000001.jsonl",
      "head",
    ];
    for (const file of [...outside, ...beside]) {
      const head = JSON.stringify({ file, offset: 0, bytes: 0, sha256: hash("sha256", "") });
      const archive = Buffer.from(`{"fleetwright_backup":1}\n${head}\n\n`);
      const { code, message } = await refusal(archive, { unsigned: true });
      expect([code, message], file).toEqual([
        "STORAGE_CORRUPT",
        expect.stringContaining("is followed by neither"),
      ]);
    }
  });
});

describe("a restore", () => {
  test("goes into an empty folder only", async () => {
    const archive = await backUp(await openFilled());
    const folder = temporaryFolder();
    writeFileSync(join(folder, "something"), "");
    await expect(restoreBackup(inPieces(archive), folder, backupOrigin)).rejects.toMatchObject({
      code: "ALREADY_EXISTS",
    });
    expect(readdirSync(folder)).toEqual(["something"]);
  });

  test("that was cut off by a crash is not taken for a data folder", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, restoreMark), "");
    await expect(openStorage({ folder })).rejects.toMatchObject({ code: "STORAGE_CORRUPT" });
  });
});

test("one backup is made at a time, and one that is given up makes way for the next", async () => {
  const storage = await openFilled();
  const first = storage.backup.archive(backupSigner)[Symbol.asyncIterator]();
  await first.next();
  await first.next();
  expect(() => storage.backup.archive(backupSigner)).toThrow(
    expect.objectContaining({ code: "UNAVAILABLE" }),
  );
  await first.return?.();
  await verifyBackup(inPieces(await backUp(storage)));
});

test("of two backups that are asked for before either is read, the one that is read first is made", async () => {
  const storage = await openFilled();
  const [asked, other] = [storage.backup.archive(backupSigner), storage.backup.archive(backupSigner)];
  const pieces = other[Symbol.asyncIterator]();
  // The head alone says nothing of what there is.
  const read = [(await pieces.next()).value, (await pieces.next()).value] as Uint8Array[];
  const refused = asked[Symbol.asyncIterator]();
  await expect(refused.next()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await refused.return?.();
  // What was refused lets nobody else in, either, and nothing of the first is lost.
  expect(() => storage.backup.archive(backupSigner)).toThrow(
    expect.objectContaining({ code: "UNAVAILABLE" }),
  );
  await storage.commit([{ kind: "dropBlob", id: "Große Datei" }]);
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) read.push(next.value);
  await verifyBackup(inPieces(Buffer.concat(read)));
  const folder = join(temporaryFolder(), "restored");
  await restoreBackup(inPieces(Buffer.concat(read)), folder, backupOrigin);
  const restored = await openStorage({ folder, ...sizes });
  expect((await restored.readBlob("Große Datei"))?.length).toBe(1_500_000);
  await verifyBackup(inPieces(await backUp(storage)));
});

test("a backup that was asked for before the storage was closed is refused when it is read", async () => {
  const storage = await openFilled();
  const pieces = storage.backup.archive(backupSigner)[Symbol.asyncIterator]();
  await storage.close();
  await expect(pieces.next()).rejects.toMatchObject({ code: "STORAGE_CLOSED" });
});

test("a backup ends with an error when the storage is closed under it", async () => {
  const storage = await openFilled();
  const pieces = storage.backup.archive(backupSigner)[Symbol.asyncIterator]();
  await pieces.next();
  await storage.close();
  await expect(pieces.next()).rejects.toMatchObject({ code: "STORAGE_CLOSED" });
});

function sha256(bytes: Uint8Array): string {
  return hash("sha256", bytes, "hex");
}

/** The first entry of the audit log that does not fit; null when all do. */
async function brokenChainAt(storage: FileStorage): Promise<number | null> {
  let previous = zeroHash;
  for (let from: number | null = 1; from !== null;) {
    const page: Awaited<ReturnType<FileStorage["readLog"]>> = await storage.readLog("audit", {
      from,
      limit: 1_000,
    });
    for (const entry of page.entries) {
      if (entry.hash !== chainHash(previous, entry)) return entry.sequence;
      previous = entry.hash;
    }
    from = page.next;
  }
  return null;
}
