/**
 * The form of a backup: one file that can be written and read as a stream.
 *
 *   {"fleetwright_backup":2,"orchestrator_key":"..."}
 *   {"file":"db.json","offset":0,"bytes":65536,"sha256":"..."}
 *   <those bytes>
 *   ... one head and its bytes for each part; the parts of a file follow each other
 *   {"end":true,"parts":17,"sha256":"...","signature":"..."}
 *
 * Each line and each part ends with a line feed. The last digest is over everything before its line, and the signature over that
 * digest. Version 1 has neither key nor signature.
 */
import { createHash, hash } from "node:crypto";
import type { Signer } from "../../crypto/crypto.ts";
import { toHex } from "../../crypto/encoding.ts";
import { OrchestratorError } from "../../errors.ts";
import { hasSigned, signArchive } from "./archive-signature.ts";
import { ByteReader } from "./byte-reader.ts";

/** A piece of a file in a backup. */
export interface ArchivePart {
  /** Path below the data folder, with slashes. */
  file: string;
  /** Where in the file the bytes stand. */
  offset: number;
  bytes: Uint8Array;
}

/** The version of the form that this code writes; it reads those before, too. */
const archiveVersion = 2;
/** Far above what is written: a head that claims more is damaged. */
const maxPartBytes = 64 * 1_024 * 1_024;
const maxLineBytes = 4_096;
const lineFeed = Buffer.from("\n");
const partPattern =
  /^\{"file":"([^"\\]+)","offset":(\d{1,15}),"bytes":(\d{1,9}),"sha256":"([0-9a-f]{64})"\}$/;
const endPattern =
  /^\{"end":true,"parts":(\d{1,15}),"sha256":"([0-9a-f]{64})"(?:,"signature":"([0-9a-f]{128})")?\}$/;
/**
 * Nothing but what the storage itself writes, so that no archive puts a key or a note for the next start beside it; and no name
 * that is empty, hidden or a way out: the path is joined to a folder.
 */
const pathPattern = /^(db\.json|(blobs|series|logs\/[a-z0-9_~][a-z0-9_~.-]*)\/[a-z0-9_~][a-z0-9_~.-]*)$/;

/** Writes an archive of parts, piece by piece, signed. */
export async function* writeArchive(
  parts: AsyncIterable<ArchivePart>,
  signer: Signer,
): AsyncGenerator<Uint8Array> {
  const digest = createHash("sha256");
  const head = toLine({ fleetwright_backup: archiveVersion, orchestrator_key: toHex(signer.publicKey) });
  digest.update(head);
  yield head;
  let count = 0;
  for await (const { file, offset, bytes } of parts) {
    const line = toLine({ file, offset, bytes: bytes.length, sha256: hash("sha256", bytes, "hex") });
    const piece = Buffer.concat([line, bytes, lineFeed]);
    digest.update(piece);
    count++;
    yield piece;
  }
  const sum = digest.digest();
  const signature = signArchive(signer, sum);
  yield toLine({ end: true, parts: count, sha256: sum.toString("hex"), signature });
}

/**
 * Reads the parts of an archive in their order, each checked. Only when it ends without an error was the archive whole, and signed
 * by the key that it names.
 *
 * @param keyNamed - Told of the key (hex) that the archive names before anything else is read; null where it is not signed.
 * @throws {OrchestratorError} `STORAGE_CORRUPT` with `details { entry, offset }`: the file in the archive (or "head", "end")
 *   and the byte of the archive where it does not fit; `SIGNATURE_INVALID`; `STORAGE_VERSION_UNSUPPORTED` for an archive of a newer
 *   version.
 */
export async function* readArchive(
  chunks: AsyncIterable<Uint8Array>,
  keyNamed: (key: string | null) => void,
): AsyncGenerator<ArchivePart> {
  const digest = createHash("sha256");
  const reader = new ByteReader(chunks, (bytes) => digest.update(bytes));
  try {
    const key = readHead(await reader.line(maxLineBytes));
    keyNamed(key);
    let last = "head";
    for (let count = 0; ; count++) {
      const offset = reader.position;
      const sha256 = digest.copy().digest("hex");
      const line = await reader.line(maxLineBytes);
      const end = endPattern.exec(line ?? "");
      if (end !== null) {
        if (Number(end[1]) !== count || end[2] !== sha256)
          throw damaged("end", offset, "does not match its checksum");
        if (!(await reader.isAtEnd())) throw damaged("end", reader.position, "is followed by something");
        if (key !== null && !hasSigned(key, sha256, end[3] ?? "")) throw notSigned(key);
        return;
      }
      const part = await readPart(reader, { head: partPattern.exec(line ?? ""), last, offset });
      last = part.file;
      yield part;
    }
  } finally {
    await reader.close();
  }
}

/** The refusal of a damaged backup: says which file in it, and where in the backup. */
export function damaged(entry: string, offset: number, what: string): OrchestratorError {
  return new OrchestratorError("STORAGE_CORRUPT", {
    message: `The backup is damaged: ${entry} ${what}, at byte ${offset}.`,
    details: { entry, offset },
  });
}

/** The key that an archive names (hex); null where it is of the version without. */
function readHead(line: string | null): string | null {
  const [, number, rest] = /^\{"fleetwright_backup":(\d{1,6})([,}].*)$/.exec(line ?? "") ?? [];
  const version = Number(number ?? 0);
  if (version > archiveVersion)
    throw new OrchestratorError("STORAGE_VERSION_UNSUPPORTED", {
      message: `The backup has version ${version}; this program reads versions up to ${archiveVersion}.`,
      details: { version, supported_version: archiveVersion },
    });
  if (version === 1 && rest === "}") return null;
  const key = /^,"orchestrator_key":"([0-9a-f]{64})"\}$/.exec(rest ?? "")?.[1];
  if (version === archiveVersion && key !== undefined) return key;
  throw damaged("head", 0, "is not that of a backup");
}

function notSigned(key: string): OrchestratorError {
  return new OrchestratorError("SIGNATURE_INVALID", {
    message: `The backup names the orchestrator key ${key} and is not signed by it: somebody else made it, or changed it.`,
    details: { orchestrator_key: key },
  });
}

interface PartStart {
  head: RegExpExecArray | null;
  /** The entry before, and where the head stands: what is told of a head that can't be read. */
  last: string;
  offset: number;
}

async function readPart(reader: ByteReader, { head, last, offset: at }: PartStart): Promise<ArchivePart> {
  const [, file = "", offset, length, sha256] = head ?? [];
  if (!isPath(file)) throw damaged(last, at, "is followed by neither another part nor the end");
  if (Number(length) > maxPartBytes) throw damaged(file, at, "claims too many bytes");
  const bytes = await reader.bytes(Number(length));
  const after = await reader.bytes(1);
  if (bytes === null || after === null) throw damaged(file, at, "is cut off");
  if (hash("sha256", bytes, "hex") !== sha256 || !lineFeed.equals(after))
    throw damaged(file, at, "does not match its checksum");
  return { file, offset: Number(offset), bytes };
}

function isPath(path: string): boolean {
  return pathPattern.test(path) && path.length <= 300;
}

function toLine(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}
