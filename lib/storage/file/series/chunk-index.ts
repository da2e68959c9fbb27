/**
 * Where the chunks of a file are, written behind them when the file takes no more: a start reads this and not the chunks.
 *
 *   a frame without a head; its body: for each chunk place, length and head | length of the frame | "FWSX"
 *
 * It is written only when the chunks before it are durable: where it survived a loss of power, so did they.
 */
import type { DiskFile } from "../disk.ts";
import { ByteReader, ByteWriter } from "./bytes.ts";
import { decodeFrame, encodeFrame, fixedBytes } from "./frames.ts";

/** What a chunk is of. */
export interface ChunkHead {
  owner: string;
  /** Ids of the first and the last head that went into it: chunks of an owner hold the heads in between, and no other does. */
  first: number;
  last: number;
  /** Least and greatest time of its rows. */
  from: number;
  to: number;
  /** Wall clock when its newest rows were sealed: what it is kept by, whatever the times of the samples say. */
  sealedAt: number;
}

/** Where in a file a chunk is, and what it is of. */
export interface IndexEntry {
  at: number;
  length: number;
  head: ChunkHead;
}

const ending = Buffer.from("FWSX", "latin1");
const endingBytes = 8;

/** The index of a file that is being filled. */
export class ChunkIndex {
  readonly #out = new ByteWriter();

  add({ at, length, head }: IndexEntry): void {
    this.#out.unsigned(at);
    this.#out.unsigned(length);
    this.#out.raw(encodeHead(head));
  }

  encode(): Buffer {
    const body = Buffer.concat([this.#out.view(), Buffer.alloc(endingBytes)]);
    body.writeUInt32LE(fixedBytes + body.length, body.length - endingBytes);
    ending.copy(body, body.length - ending.length);
    return encodeFrame(new Uint8Array(0), body);
  }
}

/** Reads the index at the end of a file; null when there is none, or it is damaged. */
export async function readIndex(file: DiskFile): Promise<IndexEntry[] | null> {
  const size = await file.size();
  if (size < fixedBytes + endingBytes) return null;
  const last = await file.read(size - endingBytes, endingBytes);
  if (!last.subarray(endingBytes - ending.length).equals(ending)) return null;
  const length = last.readUInt32LE(0);
  if (length > size) return null;
  const frame = decodeFrame(await file.read(size - length, length));
  if (frame === null || frame.length !== length || frame.head.length > 0) return null;
  const input = new ByteReader(frame.body.subarray(0, frame.body.length - endingBytes));
  const entries: IndexEntry[] = [];
  while (!input.atEnd) {
    entries.push({ at: input.unsigned(), length: input.unsigned(), head: readHead(input) });
  }
  return entries;
}

export function encodeHead({ owner, first, last, from, to, sealedAt }: ChunkHead): Uint8Array {
  const out = new ByteWriter();
  out.text(owner);
  out.unsigned(first);
  out.unsigned(last - first);
  for (const time of [from, to, sealedAt]) out.float64(time);
  return out.view();
}

export function decodeHead(bytes: Uint8Array): ChunkHead {
  return readHead(new ByteReader(bytes));
}

function readHead(input: ByteReader): ChunkHead {
  const owner = input.text();
  const first = input.unsigned();
  const last = first + input.unsigned();
  return { owner, first, last, from: input.float64(), to: input.float64(), sealedAt: input.float64() };
}
