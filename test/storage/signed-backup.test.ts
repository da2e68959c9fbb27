/** Who can write where backups lie, and has never read one, makes none that is taken for the orchestrator's. */
import { hash } from "node:crypto";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Signer } from "../../lib/crypto/crypto.ts";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import type { BackupOrigin } from "../../lib/storage/file/archive-signature.ts";
import { readArchive, writeArchive, type ArchivePart } from "../../lib/storage/file/archive.ts";
import { nodeDisk } from "../../lib/storage/file/disk.ts";
import { restoreBackup, verifyBackup } from "../../lib/storage/file/restore.ts";
import { parseSnapshot, snapshotChunks } from "../../lib/storage/file/snapshot.ts";
import { backupOrigin, backupSigner } from "../support/backups.ts";
import { change, openStorage } from "../support/file-storages.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const key = backupOrigin.orchestratorKey;
const stranger = nodeCrypto.createSigner(new Uint8Array(32).fill(9));
const strangersKey = toHex(stranger.publicKey);
const lineFeed = Buffer.from("\n");

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const found: Uint8Array[] = [];
  for await (const piece of pieces) found.push(piece);
  return Buffer.concat(found);
}

async function* of(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function backUp(): Promise<Buffer> {
  const storage = await openStorage({ folder: temporaryFolder() });
  for (let n = 1; n <= 5; n++) await storage.commit(change(`agent-${n}`, n));
  await storage.appendBlob("one", Buffer.from("1"));
  await storage.appendBlob("two", Buffer.from("2"));
  return collect(storage.backup.archive(backupSigner));
}

async function partsOf(archive: Buffer): Promise<ArchivePart[]> {
  const parts: ArchivePart[] = [];
  for await (const part of readArchive(of(archive), () => {})) parts.push(part);
  return parts;
}

/** An archive with all checksums right, as anybody can make it; `head` and `end` as the forger has them. */
function madeUp(
  parts: readonly ArchivePart[],
  { head, signature }: { head: object; signature?: string },
): Buffer {
  const pieces = [toLine(head)];
  for (const { file, offset, bytes } of parts) {
    pieces.push(
      toLine({ file, offset, bytes: bytes.length, sha256: hash("sha256", bytes) }),
      Buffer.from(bytes),
      lineFeed,
    );
  }
  const sha256 = hash("sha256", Buffer.concat(pieces));
  const end = { end: true, parts: parts.length, sha256, ...(signature !== undefined && { signature }) };
  return Buffer.concat([...pieces, toLine(end)]);
}

function toLine(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

const signedHead = { fleetwright_backup: 2, orchestrator_key: key };

/** The signature of a true backup: the best that a forger has. */
function signatureOf(archive: Buffer): string {
  return (
    /"signature":"([0-9a-f]{128})"\}\n$/.exec(archive.subarray(-200).toString())?.[1] ??
    expect.fail("There is none.")
  );
}

async function signedBy(signer: Signer, parts: readonly ArchivePart[]): Promise<Buffer> {
  async function* all() {
    yield* parts;
  }
  return collect(writeArchive(all(), signer));
}

/** The code with which verify and restore refuse alike, with nothing left behind. */
async function refusal(archive: Buffer, origin: BackupOrigin | undefined = backupOrigin): Promise<string> {
  const folder = join(temporaryFolder(), "restored");
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => expect.fail("It was taken."),
      (error: unknown) => (isOrchestratorError(error) ? error.code : String(error)),
    );
  const code = await codeOf(restoreBackup(of(archive), folder, origin));
  expect(await codeOf(verifyBackup(of(archive), origin))).toBe(code);
  expect(readdirSync(folder)).toEqual([]);
  return code;
}

describe("a backup says by which key it is signed", () => {
  test("and is restored where that is the one that is expected, in hex or base64", async () => {
    const archive = await backUp();
    expect((await verifyBackup(of(archive))).orchestrator_key).toBe(key);
    const base64 = Buffer.from(key, "hex").toString("base64");
    for (const orchestratorKey of [key, base64]) {
      const folder = join(temporaryFolder(), "restored");
      expect(await restoreBackup(of(archive), folder, { orchestratorKey })).toMatchObject({
        orchestrator_key: key,
      });
    }
  });

  test("and is refused where another is expected, or none", async () => {
    const archive = await backUp();
    expect(await refusal(archive, { orchestratorKey: strangersKey })).toBe("ORCHESTRATOR_KEY_CHANGED");
    expect(await refusal(archive, {})).toBe("ORCHESTRATOR_KEY_CHANGED");
    expect(await refusal(archive, { unsigned: true })).toBe("ORCHESTRATOR_KEY_CHANGED");
    expect(await refusal(archive, { orchestratorKey: "mine" })).toBe("KEY_REFUSED");
    await expect(restoreBackup(of(archive), join(temporaryFolder(), "restored"))).rejects.toMatchObject({
      code: "ORCHESTRATOR_KEY_CHANGED",
      details: { orchestrator_key: key, expected_key: null },
    });
  });
});

describe("what was made up with all checksums right is refused:", () => {
  test("keys for the next start to make Admin", async () => {
    const archive = await backUp();
    const keys = { file: "admin-keys", offset: 0, bytes: Buffer.from(`${strangersKey}\n`) };
    const forged = madeUp([...(await partsOf(archive)), keys], {
      head: signedHead,
      signature: signatureOf(archive),
    });
    expect(await refusal(forged)).toBe("STORAGE_CORRUPT");
    // Nor by whoever has the key: it is no part of a backup.
    expect(await refusal(await signedBy(backupSigner, [...(await partsOf(archive)), keys]))).toBe(
      "STORAGE_CORRUPT",
    );
  });

  test("a document that was edited", async () => {
    const archive = await backUp();
    const parts = edited(await partsOf(archive));
    const forged = madeUp(parts, { head: signedHead, signature: signatureOf(archive) });
    expect(await refusal(forged)).toBe("SIGNATURE_INVALID");
    // But for the signature nothing tells it from a true one.
    expect(await verifyBackup(of(await signedBy(backupSigner, parts)))).toMatchObject({ documents: 5 });
  });

  test("a part that was removed, added or put elsewhere", async () => {
    const archive = await backUp();
    const parts = await partsOf(archive);
    const [one, two] = parts.filter(({ file }) => file.startsWith("blobs/"));
    const others = parts.filter(({ file }) => !file.startsWith("blobs/"));
    const more = { file: "blobs/more.blob", offset: 0, bytes: Buffer.from("more") };
    for (const changed of [
      [...others, one!],
      [...others, two!, one!],
      [...parts, more],
    ]) {
      const forged = madeUp(changed, { head: signedHead, signature: signatureOf(archive) });
      expect(await refusal(forged)).toBe("SIGNATURE_INVALID");
      expect(await verifyBackup(of(await signedBy(backupSigner, changed)))).toMatchObject({ documents: 5 });
    }
  });

  test("all of it, signed by somebody else", async () => {
    const parts = await partsOf(await backUp());
    expect(await refusal(await signedBy(stranger, parts))).toBe("ORCHESTRATOR_KEY_CHANGED");
    // With the expected key in its head it is not signed by that.
    const theirs = await signedBy(stranger, parts);
    const forged = madeUp(parts, { head: signedHead, signature: signatureOf(theirs) });
    expect(await refusal(forged)).toBe("SIGNATURE_INVALID");
  });

  test("without a signature, whatever its head says", async () => {
    const archive = await backUp();
    const parts = await partsOf(archive);
    expect(await refusal(madeUp(parts, { head: signedHead }))).toBe("SIGNATURE_INVALID");
    const old = madeUp(parts, { head: { fleetwright_backup: 1 } });
    expect(await refusal(old)).toBe("BACKUP_UNSIGNED");
    expect(await refusal(old, {})).toBe("BACKUP_UNSIGNED");
    const signedOld = madeUp(parts, {
      head: { ...signedHead, fleetwright_backup: 1 },
      signature: signatureOf(archive),
    });
    expect(await refusal(signedOld)).toBe("STORAGE_CORRUPT");
  });

  test("with a key that every signature fits", async () => {
    const parts = await partsOf(await backUp());
    const weak = "01".padEnd(64, "0");
    const head = { fleetwright_backup: 2, orchestrator_key: weak };
    const signature = weak + "0".repeat(64);
    await expect(verifyBackup(of(madeUp(parts, { head, signature })))).rejects.toMatchObject({
      code: "SIGNATURE_INVALID",
    });
    expect(await refusal(madeUp(parts, { head, signature }), { orchestratorKey: weak })).toBe("KEY_REFUSED");
  });
});

test("a backup of a version without signatures is restored by whoever says so", async () => {
  const old = madeUp(await partsOf(await backUp()), { head: { fleetwright_backup: 1 } });
  expect(await verifyBackup(of(old))).toMatchObject({ orchestrator_key: null, documents: 5 });
  const folder = join(temporaryFolder(), "restored");
  expect(await restoreBackup(of(old), folder, { unsigned: true })).toMatchObject({ orchestrator_key: null });
  const restored = await openStorage({ folder });
  expect(await restored.count("agents")).toBe(5);
  expect(await refusal(old, { unsigned: true, orchestratorKey: key })).toBe("BACKUP_UNSIGNED");
});

test("a restore whose last step fails leaves an empty folder, marked until it is", async () => {
  const archive = await backUp();
  for (const isLasting of [false, true]) {
    const folder = join(temporaryFolder(), "restored");
    const marked: string[][] = [];
    const sync = vi.spyOn(nodeDisk, "syncFolder");
    const mark = vi.spyOn(nodeDisk, "createExclusive");
    vi.spyOn(nodeDisk, "remove").mockImplementationOnce(async (path) => {
      rmSync(path);
      const failing = async (): Promise<never> => {
        throw new Error("EIO");
      };
      if (isLasting) sync.mockImplementation(failing);
      else sync.mockImplementationOnce(failing);
      mark.mockImplementationOnce(async (made, text) => {
        marked.push(readdirSync(folder));
        writeFileSync(made, text);
        return true;
      });
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const restored = restoreBackup(of(archive), folder, { orchestratorKey: key });
    await expect(restored).rejects.toMatchObject({ code: "STORAGE_FAILED" });
    // It was marked again before anything was removed.
    expect(marked).toEqual([expect.arrayContaining(["restored.json"])]);
    expect(readdirSync(folder)).toEqual([]);
    vi.restoreAllMocks();
  }
});

test("a backup is signed by what was read of it, however it comes in pieces, and a cut one is damaged", async () => {
  const archive = await backUp();
  for (const size of [1, 7, 4_096]) {
    async function* inPieces() {
      for (let at = 0; at < archive.length; at += size) yield archive.subarray(at, at + size);
    }
    expect((await verifyBackup(inPieces(), backupOrigin)).orchestrator_key).toBe(key);
  }
  for (const cut of [10, archive.length - 1, archive.length - 200, archive.length / 2])
    expect(await refusal(archive.subarray(0, cut))).toBe("STORAGE_CORRUPT");
});

/** The parts with another number in a document, as the storage itself would write it. */
function edited(parts: readonly ArchivePart[]): ArchivePart[] {
  const file = "db.json";
  const documents = parts.filter((part) => part.file === file).map(({ bytes }) => bytes);
  const snapshot = parseSnapshot(Buffer.concat(documents), file);
  snapshot.collections["agents"] = [...(snapshot.collections["agents"] ?? []).values()].map((document) =>
    document.key === "agent-1" ? { ...document, value: { n: 666 } } : document,
  );
  const bytes = Buffer.concat([...snapshotChunks(snapshot)]);
  return [{ file, offset: 0, bytes }, ...parts.filter((part) => part.file !== file)];
}
