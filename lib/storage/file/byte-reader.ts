/** Reads a stream of chunks by lines and by counts, whatever the borders of the chunks are. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #taken: (bytes: Uint8Array) => void;
  #rest: Buffer = Buffer.alloc(0);
  #position = 0;

  /** @param taken - Told of every byte that is read, in order. */
  constructor(chunks: AsyncIterable<Uint8Array>, taken: (bytes: Uint8Array) => void) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#taken = taken;
  }

  /** Bytes that were read so far. */
  get position(): number {
    return this.#position;
  }

  /** The next line without its end; null where the stream ends before that, or the line is longer than allowed. */
  async line(maxBytes: number): Promise<string | null> {
    let end = this.#rest.indexOf(0x0a);
    while (end === -1) {
      if (this.#rest.length > maxBytes || !(await this.#more())) return null;
      end = this.#rest.indexOf(0x0a);
    }
    return end > maxBytes ? null : this.#take(end + 1).toString("utf8", 0, end);
  }

  /** So many bytes; null where the stream ends before that. */
  async bytes(count: number): Promise<Buffer | null> {
    const parts = [this.#rest];
    let length = this.#rest.length;
    while (length < count) {
      const { done, value } = await this.#chunks.next();
      if (done === true) return null;
      parts.push(toBuffer(value));
      length += value.length;
    }
    if (parts.length > 1) this.#rest = Buffer.concat(parts);
    return this.#take(count);
  }

  /** Whether nothing follows. */
  async isAtEnd(): Promise<boolean> {
    while (this.#rest.length === 0) if (!(await this.#more())) return true;
    return false;
  }

  /** Lets go of the stream, wherever the reading is. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done === true) return false;
    this.#rest = Buffer.concat([this.#rest, toBuffer(value)]);
    return true;
  }

  #take(count: number): Buffer {
    const bytes = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    this.#position += count;
    this.#taken(bytes);
    return bytes;
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
