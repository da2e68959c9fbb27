/**
 * Whole numbers, packed: as they are, as differences or as differences of differences, whichever is smallest; divided by
 * what they have in common; and in as many bits as most of them need from a common base on. The few that need more are
 * exceptions, written apart.
 *
 *   order * 64 + width (1 byte) | first numbers, as many as the order | base | divisor | exceptions | bits
 */
import type { ByteReader, ByteWriter } from "./bytes.ts";

const maxOrder = 2;
/** Differences of differences are within 2^51 on either side of 0, and so no further apart than 2^52. */
const maxWidth = 53;
const pieceBits = 24;
const piece = 2 ** pieceBits;

/** How numbers will be packed. */
interface Plan {
  base: number;
  divisor: number;
  /** Bits of one number. */
  width: number;
  /** About how many bits it takes. */
  cost: number;
}

/** Packs whole numbers, none beyond 2^49 on either side of 0. The reader has to know how many. */
export function writeIntegers(out: ByteWriter, numbers: Float64Array): void {
  let order = 0;
  let rest = numbers;
  let plan = planFor(rest);
  let differences = numbers;
  for (let next = 1; next <= maxOrder && numbers.length > next; next++) {
    differences = differencesOf(differences);
    const candidate = planFor(differences);
    if (candidate.cost >= plan.cost) continue;
    order = next;
    plan = candidate;
    rest = differences;
  }
  out.byte(order * 64 + plan.width);
  for (let i = 0; i < order; i++) out.signed(numbers[i] as number);
  out.signed(plan.base);
  out.unsigned(plan.divisor);
  writePacked(out, rest, plan);
}

/**
 * Reads what {@link writeIntegers} wrote.
 *
 * @throws {RangeError} where it is something else.
 */
export function readIntegers(input: ByteReader, count: number): Float64Array {
  const head = input.byte();
  const order = head >> 6;
  const width = head & 63;
  if (order > maxOrder || width > maxWidth) throw new RangeError("Numbers are not packed like this.");
  const first = order > 0 ? input.signed() : 0;
  const second = order > 1 ? input.signed() : 0;
  const base = input.signed();
  const divisor = input.unsigned();
  const numbers = new Float64Array(count);
  readPacked(input, numbers.subarray(order), width);
  for (let i = order; i < count; i++) numbers[i] = base + (numbers[i] as number) * divisor;
  if (order > 0) numbers[0] = first;
  if (order > 1) numbers[1] = second;
  if (order === 1) for (let i = 1, last = first; i < count; i++) numbers[i] = last += numbers[i] as number;
  if (order === 2) {
    for (let i = 2, last = second, step = second - first; i < count; i++) {
      numbers[i] = last += step += numbers[i] as number;
    }
  }
  return numbers;
}

function differencesOf(numbers: Float64Array): Float64Array {
  const differences = new Float64Array(numbers.length - 1);
  for (let i = 1; i < numbers.length; i++) {
    differences[i - 1] = (numbers[i] as number) - (numbers[i - 1] as number);
  }
  return differences;
}

function planFor(numbers: Float64Array): Plan {
  if (numbers.length === 0) return { base: 0, divisor: 1, width: 0, cost: 0 };
  const sorted = numbers.toSorted();
  const least = sorted[0] as number;
  const divisor = commonDivisor(sorted);
  for (let i = 0; i < sorted.length; i++) sorted[i] = ((sorted[i] as number) - least) / divisor;
  const range = sorted[sorted.length - 1] as number;
  const widest = bitsOf(range);
  // An exception: its place, and its distance from the base in groups of seven bits.
  const exceptionBits = 8 + 8 * Math.ceil((widest + 1) / 7);
  let best = { width: widest, from: 0, cost: sorted.length * widest };
  for (let width = 0; width < widest && sorted.length * width < best.cost; width++) {
    const { from, count } = fullestWindow(sorted, 2 ** width);
    const cost = sorted.length * width + (sorted.length - count) * exceptionBits;
    if (cost < best.cost) best = { width, from, cost };
  }
  return { base: least + best.from * divisor, divisor, width: best.width, cost: best.cost };
}

/** Where a window of a given size on ascending numbers holds the most of them. */
function fullestWindow(sorted: Float64Array, size: number): { from: number; count: number } {
  let best = 0;
  let count = 0;
  for (let start = 0, end = 0; end < sorted.length; end++) {
    while ((sorted[end] as number) - (sorted[start] as number) >= size) start++;
    if (end - start + 1 <= count) continue;
    count = end - start + 1;
    best = start;
  }
  return { from: sorted[best] as number, count };
}

/** The largest number that divides all distances from the first, of ascending numbers; 1 when they are all the same. */
function commonDivisor(sorted: Float64Array): number {
  const least = sorted[0] as number;
  let divisor = 0;
  for (let i = 1; i < sorted.length && divisor !== 1; i++) {
    let other = (sorted[i] as number) - least;
    while (other !== 0) {
      const rest = divisor % other;
      divisor = other;
      other = rest;
    }
  }
  return divisor === 0 ? 1 : divisor;
}

function bitsOf(value: number): number {
  return value < 2 ** 31 ? 32 - Math.clz32(value) : 64 - Math.clz32(Math.floor(value / 2 ** 32));
}

function writePacked(out: ByteWriter, numbers: Float64Array, { base, divisor, width }: Plan): void {
  const size = 2 ** width;
  const packed = new Float64Array(numbers.length);
  const exceptions: number[] = [];
  for (let i = 0; i < numbers.length; i++) {
    const distance = ((numbers[i] as number) - base) / divisor;
    if (distance >= 0 && distance < size) packed[i] = distance;
    else exceptions.push(i, distance);
  }
  out.unsigned(exceptions.length / 2);
  for (let i = 0, place = 0; i < exceptions.length; i += 2) {
    out.unsigned((exceptions[i] as number) - place);
    out.signed(exceptions[i + 1] as number);
    place = exceptions[i] as number;
  }
  let at = out.reserve(Math.ceil((packed.length * width) / 8));
  const bytes = out.whole;
  let pending = 0;
  let bits = 0;
  for (let i = 0; i < packed.length; i++) {
    let rest = packed[i] as number;
    for (let left = width; left > 0; left -= pieceBits) {
      const taken = Math.min(left, pieceBits);
      pending |= (rest % piece) << bits;
      rest = Math.floor(rest / piece);
      for (bits += taken; bits >= 8; bits -= 8, pending >>>= 8) bytes[at++] = pending;
    }
  }
  if (bits > 0) bytes[at] = pending;
}

/** Fills numbers with the distances from the base. */
function readPacked(input: ByteReader, numbers: Float64Array, width: number): void {
  const places: number[] = [];
  const distances: number[] = [];
  for (let left = input.unsigned(), place = 0; left > 0; left--) {
    place += input.unsigned();
    if (place >= numbers.length) throw new RangeError("An exception is behind the last number.");
    places.push(place);
    distances.push(input.signed());
  }
  const bytes = input.raw(Math.ceil((numbers.length * width) / 8));
  if (width <= pieceBits) unpackNarrow(bytes, numbers, width);
  else unpackWide(bytes, numbers, width);
  places.forEach((place, index) => (numbers[place] = distances[index] as number));
}

function unpackNarrow(bytes: Uint8Array, numbers: Float64Array, width: number): void {
  if (width === 0) return;
  const mask = 2 ** width - 1;
  let pending = 0;
  let bits = 0;
  let at = 0;
  for (let i = 0; i < numbers.length; i++) {
    for (; bits < width; bits += 8) pending |= (bytes[at++] as number) << bits;
    numbers[i] = pending & mask;
    pending >>>= width;
    bits -= width;
  }
}

function unpackWide(bytes: Uint8Array, numbers: Float64Array, width: number): void {
  let pending = 0;
  let bits = 0;
  let at = 0;
  for (let i = 0; i < numbers.length; i++) {
    let value = 0;
    let factor = 1;
    for (let left = width; left > 0; left -= pieceBits, factor *= piece) {
      const taken = Math.min(left, pieceBits);
      for (; bits < taken; bits += 8) pending |= (bytes[at++] as number) << bits;
      value += (pending & (2 ** taken - 1)) * factor;
      pending >>>= taken;
      bits -= taken;
    }
    numbers[i] = value;
  }
}
