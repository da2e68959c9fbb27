import type { SampleRow } from "../../storage.ts";
import type { SampleTable } from "./table.ts";

/** Finds the row of the greatest time in tables that are added from the newest to the oldest. */
export class NewestRow {
  /** Its time so far, or the oldest that is looked for. */
  at: number;
  readonly #values = new Map<string, number>();

  constructor(since: number) {
    this.at = since;
  }

  /** The row; null where there was none. */
  get row(): SampleRow | null {
    return this.#values.size === 0 ? null : { at: this.at, values: Object.fromEntries(this.#values) };
  }

  /** Adds a table. Of points of several samples the mean counts. */
  add({ times, series }: SampleTable): void {
    const at = series.reduce(
      (greatest, { present }) => Math.max(greatest, newestOf(times, present)),
      -Infinity,
    );
    if (at < this.at || at === -Infinity) return;
    if (at > this.at) this.#values.clear();
    this.at = at;
    for (const { name, present, fields } of series) {
      const value = valueAt(at, { times, present, fields });
      // Where two tables have a value of one time, that of the newer one counts, which came first.
      if (value !== null && !this.#values.has(name)) this.#values.set(name, value);
    }
  }
}

/** The greatest time of the rows in which a series has a value. */
function newestOf(times: Float64Array, present: Uint8Array | null): number {
  return times.reduce(
    (greatest, at, row) => (present === null || present[row] === 1 ? Math.max(greatest, at) : greatest),
    -Infinity,
  );
}

/** The last value of a series at a time. */
function valueAt(
  at: number,
  {
    times,
    present,
    fields,
  }: Pick<SampleTable, "times"> & Pick<SampleTable["series"][number], "present" | "fields">,
): number | null {
  const [values, , , counts] = fields;
  let index = (values?.length ?? 0) - 1;
  for (let row = times.length - 1; row >= 0; row--) {
    if (present !== null && present[row] === 0) continue;
    if (times[row] === at) return (values?.[index] as number) / (counts?.[index] ?? 1);
    index--;
  }
  return null;
}
