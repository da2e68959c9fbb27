import { OrchestratorError } from "../errors.ts";
import type { BlobWriter } from "./blob-writer.ts";

const firstBytes = 1_024;

/** A blob in memory. What an append costs depends on what it adds, not on what is there. */
export class MemoryBlob {
  #bytes = new Uint8Array();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds bytes; gives the new size. */
  append(bytes: Uint8Array): number {
    const size = this.#size + bytes.length;
    if (size > this.#bytes.length) this.#grow(size);
    this.#bytes.set(bytes, this.#size);
    this.#size = size;
    return size;
  }

  /** A copy of a range, cut at the ends. */
  read({ from = 0, to = Infinity }: { from?: number; to?: number } = {}): Uint8Array {
    return this.#bytes.slice(Math.max(0, from), Math.max(0, Math.min(to, this.#size)));
  }

  copy(): MemoryBlob {
    const copy = new MemoryBlob();
    copy.append(this.read());
    return copy;
  }

  /** The first append is kept as it is: most blobs have no other. */
  #grow(size: number): void {
    const isFirst = this.#bytes.length === 0;
    const longer = new Uint8Array(isFirst ? size : Math.max(size, firstBytes, 2 * this.#bytes.length));
    longer.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = longer;
  }
}

/** The writer of a blob in memory. */
export class MemoryBlobWriter implements BlobWriter {
  readonly #blob: MemoryBlob;
  readonly #ends: { take: (bytes: number) => void; closed: () => void };
  #isClosed = false;

  /** @param ends - `take` takes space, and throws where there is none or nothing is written any more. */
  constructor(blob: MemoryBlob, ends: { take: (bytes: number) => void; closed: () => void }) {
    this.#blob = blob;
    this.#ends = ends;
  }

  get size(): number {
    return this.#blob.size;
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#checkOpen();
    this.#ends.take(bytes.length);
    this.#blob.append(bytes);
  }

  async sync(): Promise<void> {
    this.#checkOpen();
    this.#ends.take(0);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#ends.closed();
  }

  #checkOpen(): void {
    if (this.#isClosed)
      throw new OrchestratorError("STORAGE_CLOSED", { message: "The writer of the blob is closed." });
  }
}
