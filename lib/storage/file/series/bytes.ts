/** Bytes of the series files: whole numbers in groups of seven bits, lowest first; doubles and fixed numbers little-endian. */

const smallestBytes = 64;
const loneSurrogate = /\p{Surrogate}/u;

/** Writes bytes at its end and grows as it needs. */
export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;

  /** @param capacity - Bytes to have room for at first. */
  constructor(capacity = smallestBytes) {
    this.#bytes = new Uint8Array(capacity);
  }

  get length(): number {
    return this.#length;
  }

  /** What was written. A view: the next write may change or leave it. */
  view(from = 0): Uint8Array {
    return this.#bytes.subarray(from, this.#length);
  }

  /** Begins anew in the same room. */
  clear(): void {
    this.#length = 0;
  }

  byte(value: number): void {
    // Apart: making room may replace the bytes.
    const at = this.reserve(1);
    this.#bytes[at] = value;
  }

  /** A whole number from 0 to 2^53. */
  unsigned(value: number): void {
    let at = this.reserve(8);
    let rest = value;
    for (; rest >= 0x4000_0000; rest = Math.floor(rest / 128)) this.#bytes[at++] = (rest % 128) | 128;
    for (; rest >= 128; rest >>>= 7) this.#bytes[at++] = (rest & 127) | 128;
    this.#bytes[at++] = rest;
    this.#length = at;
  }

  /** A whole number from -2^52 to 2^52. */
  signed(value: number): void {
    this.unsigned(zigzag(value));
  }

  float64(value: number): void {
    const at = this.reserve(8);
    new DataView(this.#bytes.buffer).setFloat64(at, value, true);
  }

  uint32(value: number): void {
    const at = this.reserve(4);
    new DataView(this.#bytes.buffer).setUint32(at, value, true);
  }

  /** A text, kept exactly: UTF-16 where UTF-8 would lose a lone surrogate. */
  text(value: string): void {
    const whole = !loneSurrogate.test(value);
    const bytes = Buffer.from(value, whole ? "utf8" : "utf16le");
    this.unsigned(bytes.length * 2 + (whole ? 0 : 1));
    this.raw(bytes);
  }

  raw(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length);
    this.#bytes.set(bytes, at);
  }

  /** Makes room for bytes at the end and gives their place; {@link whole} is where to write them. */
  reserve(bytes: number): number {
    const at = this.#length;
    const needed = at + bytes;
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(smallestBytes, needed, Math.ceil(this.#bytes.length * 1.5)));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#length = needed;
    return at;
  }

  /** All bytes there is room for. */
  get whole(): Uint8Array {
    return this.#bytes;
  }
}

/** Reads what a {@link ByteWriter} wrote. Throws a `RangeError` where the bytes end too early. */
export class ByteReader {
  readonly bytes: Uint8Array;
  position: number;
  readonly #view: DataView;

  constructor(bytes: Uint8Array, position = 0) {
    this.bytes = bytes;
    this.position = position;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get atEnd(): boolean {
    return this.position >= this.bytes.length;
  }

  byte(): number {
    const value = this.bytes[this.position++];
    if (value === undefined) throw new RangeError("The bytes end too early.");
    return value;
  }

  unsigned(): number {
    let value = this.byte();
    if (value < 128) return value;
    value -= 128;
    for (let factor = 128; ; factor *= 128) {
      const next = this.byte();
      if (next < 128) return value + next * factor;
      value += (next - 128) * factor;
    }
  }

  signed(): number {
    return unzigzag(this.unsigned());
  }

  float64(): number {
    const value = this.#view.getFloat64(this.position, true);
    this.position += 8;
    return value;
  }

  uint32(): number {
    const value = this.#view.getUint32(this.position, true);
    this.position += 4;
    return value;
  }

  text(): string {
    const head = this.unsigned();
    const bytes = this.raw(Math.floor(head / 2));
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(
      head % 2 === 0 ? "utf8" : "utf16le",
    );
  }

  /** A view of the next bytes. */
  raw(length: number): Uint8Array {
    const end = this.position + length;
    if (end > this.bytes.length) throw new RangeError("The bytes end too early.");
    const bytes = this.bytes.subarray(this.position, end);
    this.position = end;
    return bytes;
  }
}

/** Whole numbers of either sign as ones of no sign, small ones small: 0, -1, 1, -2 become 0, 1, 2, 3. */
export function zigzag(value: number): number {
  return value >= 0 ? value * 2 : -value * 2 - 1;
}

/** What {@link zigzag} was given. */
export function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}
