/** The newest output of a terminal, by its place in all of it: for whoever attaches again. */

/** What a piece of memory holds that output is put into, at most: a program that writes single characters fills it, too. */
const chunkBytes = 65_536;
const firstChunkBytes = 4_096;

interface Chunk {
  bytes: Uint8Array;
  /** Place of its first byte. */
  start: number;
  used: number;
}

export class OutputWindow {
  readonly #mostBytes: number;
  readonly #chunks: Chunk[] = [];
  #end = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Place of the oldest byte that is here. */
  get start(): number {
    return this.#chunks[0]?.start ?? this.#end;
  }

  /** Place after the newest. */
  get end(): number {
    return this.#end;
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) {
      const chunk = this.#room();
      const part = bytes.subarray(at, at + chunk.bytes.length - chunk.used);
      chunk.bytes.set(part, chunk.used);
      chunk.used += part.length;
      this.#end += part.length;
      at += part.length;
    }
    for (let first = this.#chunks[0]; first !== undefined; first = this.#chunks[0]) {
      if (this.#end - first.start - first.used < this.#mostBytes) return;
      this.#chunks.shift();
    }
  }

  /** At most so many bytes from a place on, in one piece or less; empty at the end. They stay as they are. */
  read(from: number, most: number): Uint8Array {
    const chunk = this.#chunks.findLast(({ start }) => start <= from);
    if (chunk === undefined) return new Uint8Array();
    const at = from - chunk.start;
    return chunk.bytes.subarray(at, Math.min(chunk.used, at + most));
  }

  #room(): Chunk {
    const last = this.#chunks.at(-1);
    if (last !== undefined && last.used < last.bytes.length) return last;
    const size = last === undefined ? firstChunkBytes : chunkBytes;
    const chunk = { bytes: new Uint8Array(size), start: this.#end, used: 0 };
    this.#chunks.push(chunk);
    return chunk;
  }
}
