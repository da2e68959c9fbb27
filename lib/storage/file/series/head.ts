/**
 * The newest samples of one owner, as bytes that rows are added to: about two bytes a sample.
 *
 *   row: shape | names of the shape, when it is new | time | value of each of its names
 *   time and value: difference from the one before as a whole number at the column's scale, * 2; or
 *     scale * 2 + 1, whole number: the column has this scale from now on; or 31, double
 */
import type { SampleRow } from "../../storage.ts";
import { ByteReader, ByteWriter, unzigzag, zigzag } from "./bytes.ts";
import { powerOf, scaleOf, toWhole } from "./decimals.ts";

const plainDouble = 15;

/** Which columns a row has. */
interface Shape {
  names: string[];
  columns: number[];
}

/** What both writer and reader know of what was before. The first column is the time. */
class Columns {
  readonly names: string[] = [""];
  readonly scales: number[] = [0];
  readonly wholes: number[] = [0];
  readonly shapes: Shape[] = [];

  addShape(names: string[]): Shape {
    const shape = { names, columns: names.map((name) => this.#columnOf(name)) };
    this.shapes.push(shape);
    return shape;
  }

  #columnOf(name: string): number {
    const known = this.names.indexOf(name, 1);
    if (known !== -1) return known;
    this.scales.push(0);
    this.wholes.push(0);
    return this.names.push(name) - 1;
  }
}

/** Samples in memory that are in no chunk yet. */
export class Head {
  /** Rises with every head of a storage, whosever it is. */
  readonly id: number;
  readonly owner: string;
  /** Id of the first of the heads that went into this one after a crash; else its own. */
  readonly first: number;
  /** How many of the bytes are durable in the journal. */
  durableBytes = 0;
  readonly #out = new ByteWriter(256);
  readonly #columns = new Columns();
  /** Whether the columns are not worked out yet: at a start that would take long, all owners together. */
  #isUnread = false;

  constructor(id: number, owner: string, first = id) {
    this.id = id;
    this.first = first;
    this.owner = owner;
  }

  /** A head that goes on where the bytes of one that was stored end. */
  static from({
    id,
    owner,
    first,
    bytes,
  }: Pick<Head, "id" | "owner" | "first"> & { bytes: Uint8Array }): Head {
    const head = new Head(id, owner, first);
    head.#out.raw(bytes);
    head.#isUnread = true;
    return head;
  }

  /** Bytes so far. */
  get length(): number {
    return this.#out.length;
  }

  /** The bytes from a place on. A view. */
  bytes(from = 0): Uint8Array {
    return this.#out.view(from);
  }

  append({ at, values }: SampleRow): void {
    if (this.#isUnread) readRows(this.#out.view(), this.#columns);
    this.#isUnread = false;
    const shape = this.#shapeOf(values);
    this.#write(0, at);
    for (let i = 0; i < shape.names.length; i++) {
      this.#write(shape.columns[i] as number, values[shape.names[i] as string] as number);
    }
  }

  /** The rows, in the order they came. */
  rows(): SampleRow[] {
    return readRows(this.#out.view());
  }

  #shapeOf(values: Readonly<Record<string, number>>): Shape {
    const { shapes } = this.#columns;
    for (let i = shapes.length - 1; i >= 0; i--) {
      const shape = shapes[i] as Shape;
      if (!hasNames(values, shape.names)) continue;
      this.#out.unsigned(i);
      return shape;
    }
    const names = Object.keys(values);
    this.#out.unsigned(shapes.length);
    this.#out.unsigned(names.length);
    for (const name of names) this.#out.text(name);
    return this.#columns.addShape(names);
  }

  #write(column: number, value: number): void {
    const { scales, wholes } = this.#columns;
    const whole = toWhole(value, powerOf(scales[column] as number));
    if (!Number.isNaN(whole)) {
      this.#out.unsigned(zigzag(whole - (wholes[column] as number)) * 2);
      wholes[column] = whole;
      return;
    }
    const scale = scaleOf(value);
    if (scale === -1) {
      this.#out.unsigned(plainDouble * 2 + 1);
      this.#out.float64(value);
      return;
    }
    scales[column] = scale;
    wholes[column] = toWhole(value, powerOf(scale));
    this.#out.unsigned(scale * 2 + 1);
    this.#out.signed(wholes[column]);
  }
}

function hasNames(values: Readonly<Record<string, number>>, names: readonly string[]): boolean {
  let i = 0;
  for (const name in values) if (name !== names[i++]) return false;
  return i === names.length;
}

/** Reads the rows of a head, and what its writer knew at the end of them. */
export function readRows(bytes: Uint8Array, columns = new Columns()): SampleRow[] {
  const input = new ByteReader(bytes);
  const rows: SampleRow[] = [];
  while (!input.atEnd) {
    const index = input.unsigned();
    const shape =
      columns.shapes[index] ?? columns.addShape(Array.from({ length: input.unsigned() }, () => input.text()));
    const at = readValue(input, columns, 0);
    const values: [string, number][] = shape.names.map((name, i) => [
      name,
      readValue(input, columns, shape.columns[i] as number),
    ]);
    rows.push({ at, values: Object.fromEntries(values) });
  }
  return rows;
}

function readValue(input: ByteReader, { scales, wholes }: Columns, column: number): number {
  const token = input.unsigned();
  if (token % 2 === 1) {
    const scale = (token - 1) / 2;
    if (scale === plainDouble) return input.float64();
    scales[column] = scale;
    wholes[column] = input.signed();
  } else wholes[column] = (wholes[column] as number) + unzigzag(token / 2);
  return (wholes[column] as number) / powerOf(scales[column] as number);
}
