/** A column of doubles as bytes, bit for bit: packed whole numbers where all of them are decimals, else what changed from one to the next. */
import type { ByteReader, ByteWriter } from "./bytes.ts";
import { maxScale, powerOf, toWholes } from "./decimals.ts";
import { readIntegers, writeIntegers } from "./integers.ts";

/** In the place of the scale: the column is not of decimals. */
const changedBytes = 255;

/** Writes a column. The reader has to know how many values there are. */
export function writeColumn(out: ByteWriter, values: Float64Array): void {
  const decimals = toWholes(values);
  if (decimals === null) {
    out.byte(changedBytes);
    writeChangedBytes(out, values);
    return;
  }
  out.byte(decimals.scale);
  writeIntegers(out, decimals.wholes);
}

/**
 * Reads what {@link writeColumn} wrote.
 *
 * @throws {RangeError} where it is something else.
 */
export function readColumn(input: ByteReader, count: number): Float64Array {
  const scale = input.byte();
  if (scale === changedBytes) return readChangedBytes(input, count);
  if (scale > maxScale) throw new RangeError("There is no such scale.");
  const values = readIntegers(input, count);
  if (scale === 0) return values;
  const power = powerOf(scale);
  for (let i = 0; i < count; i++) values[i] = (values[i] as number) / power;
  return values;
}

/** Of each value a byte that tells which of its eight bytes differ from those before, then these. */
function writeChangedBytes(out: ByteWriter, values: Float64Array): void {
  const current = new DataView(new ArrayBuffer(8));
  const last = new Uint8Array(8);
  for (const value of values) {
    current.setFloat64(0, value, true);
    const maskAt = out.reserve(1);
    let mask = 0;
    for (let i = 0; i < 8; i++) {
      const byte = current.getUint8(i);
      if (byte === last[i]) continue;
      mask |= 1 << i;
      last[i] = byte;
      out.byte(byte);
    }
    out.whole[maskAt] = mask;
  }
}

function readChangedBytes(input: ByteReader, count: number): Float64Array {
  const values = new Float64Array(count);
  const current = new DataView(new ArrayBuffer(8));
  for (let i = 0; i < count; i++) {
    const mask = input.byte();
    for (let bit = 0; bit < 8; bit++) if (mask & (1 << bit)) current.setUint8(bit, input.byte());
    values[i] = current.getFloat64(0, true);
  }
  return values;
}
