/** The parsers of bytes: frames of the wire, and files that a disk, or whoever brings a backup, may have changed. */
import { crc32 } from "node:zlib";
import { toUtf8 } from "../../../lib/crypto/encoding.ts";
import { decodeView, encodeView, noView } from "../../../lib/modules/module-view.ts";
import { readArchive, writeArchive, type ArchivePart } from "../../../lib/storage/file/archive.ts";
import { BackupCheck } from "../../../lib/storage/file/backup-check.ts";
import {
  decodeRecord,
  encodeRecord,
  hasRecordBehind,
  isBlankFrom,
} from "../../../lib/storage/file/record.ts";
import { decodeFrame, encodeFrame } from "../../../lib/storage/file/series/frames.ts";
import { emptySnapshot, parseSnapshot, snapshotChunks } from "../../../lib/storage/file/snapshot.ts";
import { createAgentHandshake } from "../../../lib/wire/agent-handshake.ts";
import { Reassembly, frameKind, frameMessage, streamParts, readStream } from "../../../lib/wire/framing.ts";
import { createOrchestratorHandshake } from "../../../lib/wire/orchestrator-handshake.ts";
import { agentExamples, streamExample } from "../../wire/support/examples.ts";
import {
  agentOptions,
  establish,
  orchestratorOptions,
  orchestratorSigner,
} from "../../wire/support/peers.ts";

/** One parser of bytes. It reads them, or refuses with an error that says why. */
export interface ByteParser {
  /** Bytes that it reads, which hostile ones are made from. */
  examples(): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
  read(bytes: Buffer): unknown;
  /** The codes by which it may refuse; none where it reads all bytes. */
  refuses: readonly string[];
}

const snapshot = {
  ...emptySnapshot(),
  sequence: 7,
  collections: {
    agents: new Map([
      ["a", { key: "a", revision: 1, value: { name: "x", tags: { role: "web" } } }],
      ["b", { key: "b", revision: 2, value: { name: 'y"\\' } }],
    ]),
    "no names": new Map(),
  },
};
const snapshotBytes = Buffer.concat([...snapshotChunks(snapshot)]);
const crcBytes = `,"crc32":"00000000"}`.length;

/** A snapshot whose checksum fits whatever it holds. */
function withChecksum(bytes: Buffer): Buffer {
  const body = bytes.subarray(0, Math.max(0, bytes.length - crcBytes));
  return Buffer.concat([body, Buffer.from(`,"crc32":"${crc32(body).toString(16).padStart(8, "0")}"}`)]);
}

async function* partsOf(file: string, bytes: Uint8Array): AsyncGenerator<ArchivePart> {
  yield { file, offset: 0, bytes };
}

async function collect(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function checkBackup(archive: AsyncIterable<Uint8Array>): Promise<unknown> {
  const check = new BackupCheck();
  for await (const part of readArchive(archive, () => {})) check.take(part);
  return check.finish();
}

/** All parsers of bytes, by what they read. */
export const byteParsers: Readonly<Record<string, ByteParser>> = {
  "frames that were opened": {
    examples: () =>
      [
        ...frameMessage(toUtf8("x".repeat(300))).map(({ kind, payload }) => [Buffer.of(kind), payload]),
        [Buffer.of(frameKind.stream), ...streamParts(streamExample.streamId, streamExample.data)],
      ].map((parts) => Buffer.concat(parts)),
    read: (bytes) => {
      const kind = bytes[0] ?? 0;
      if (kind === frameKind.stream) return readStream(bytes.subarray(1));
      return new Reassembly().take({ kind, payload: bytes.subarray(1) } as never);
    },
    refuses: ["PROTOCOL_ERROR"],
  },
  "a sealed frame of an agent": {
    examples: () => agentExamples.slice(0, 3).map((message) => establish().agent.encode(message)[0]!),
    read: (bytes) => establish().orchestrator.decode(bytes),
    refuses: ["PROTOCOL_ERROR"],
  },
  "the proof of an agent": {
    examples: () => [establish().frames.prove],
    read: (bytes) => {
      const orchestrator = createOrchestratorHandshake(orchestratorOptions());
      orchestrator.receive(establish().frames.hello);
      orchestrator.receive(bytes);
    },
    refuses: ["PROTOCOL_ERROR", "SIGNATURE_INVALID"],
  },
  "the word of an orchestrator": {
    examples: () => [establish().frames.accepted],
    read: (bytes) => {
      const agent = createAgentHandshake(agentOptions());
      agent.hello();
      agent.receive(establish().frames.welcome);
      agent.receive(bytes);
    },
    refuses: ["PROTOCOL_ERROR", "SIGNATURE_INVALID"],
  },
  "a record of a journal": {
    examples: () => [
      encodeRecord(1, '{"a":1}'),
      Buffer.concat([encodeRecord(2, "{}"), encodeRecord(3, '"é"'), Buffer.alloc(40)]),
    ],
    read: (bytes) => {
      for (let at = 0, record = decodeRecord(bytes, at); record !== null; record = decodeRecord(bytes, at))
        at = record.end;
      return hasRecordBehind(bytes, 0) || isBlankFrom(bytes, 0);
    },
    refuses: [],
  },
  "a snapshot": {
    examples: () => [snapshotBytes],
    read: (bytes) => parseSnapshot(bytes, "db.json"),
    refuses: ["STORAGE_CORRUPT"],
  },
  "a snapshot whose checksum was made to fit": {
    examples: () => [snapshotBytes],
    read: (bytes) => parseSnapshot(withChecksum(bytes), "db.json"),
    refuses: ["STORAGE_CORRUPT"],
  },
  "a backup": {
    examples: async () => [
      await collect(writeArchive(partsOf("db.json", snapshotBytes), orchestratorSigner)),
    ],
    read: (bytes) => checkBackup(once(bytes)),
    refuses: ["STORAGE_CORRUPT", "STORAGE_VERSION_UNSUPPORTED", "SIGNATURE_INVALID"],
  },
  "a backup whose checksums and signature were made to fit": {
    examples: () => [snapshotBytes],
    read: (bytes) => checkBackup(writeArchive(partsOf("db.json", withChecksum(bytes)), orchestratorSigner)),
    refuses: ["STORAGE_CORRUPT", "STORAGE_VERSION_UNSUPPORTED", "SIGNATURE_INVALID"],
  },
  "a frame of a time series": {
    examples: () => [encodeFrame(Buffer.from("head"), Buffer.from("body"))],
    read: (bytes) => decodeFrame(bytes),
    refuses: [],
  },
  "what is shown of a module": {
    examples: () => [encodeView(noView)],
    read: (bytes) => decodeView(bytes),
    refuses: [],
  },
};
