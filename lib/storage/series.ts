/** PORT, the part about time series; see storage.ts. */

/** Samples of one agent at one time. */
export interface SampleRow {
  /** Milliseconds since 1970. */
  at: number;
  /** Series name -> value. */
  values: Record<string, number>;
}

/** A stretch of time series to read. */
export interface SampleQuery {
  /** Milliseconds since 1970, inclusive. */
  from: number;
  /** Milliseconds since 1970, exclusive. */
  to: number;
  /** Width of one point; absent = as sampled. */
  stepMs?: number;
  /** Series names; absent = all of the owner. */
  series?: readonly string[];
  /** Most series: the first by name, as `<` orders them, of those with a point in the range. Absent = all. */
  limit?: number;
  /** Only series whose names come after this one. */
  after?: string;
}

/** One point of a series. `min` and `max` equal `mean` where the point is one sample. */
export interface SamplePoint {
  at: number;
  mean: number;
  min: number;
  max: number;
}

/** Time series, kept apart from documents because they may lose their last second and must cost under a byte a sample. */
export interface SeriesStorage {
  /**
   * Takes samples in; durable within a second.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` for a time or value that is not finite; none of the rows is taken then.
   */
  append(owner: string, rows: readonly SampleRow[]): Promise<void>;
  /**
   * Reads the points of a range in the order of time. Of old samples only points of several may be left; each counts as its
   * samples did.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` for a step of less than 1 ms.
   */
  query(owner: string, query: SampleQuery): Promise<Record<string, SamplePoint[]>>;
  /**
   * Reads the newest row, without what came before it: the values of the greatest time of which there are any; null where there are none. Where
   * only points of several samples are left, it is that of the newest point, with its means.
   *
   * @param since - The oldest that is looked for, in milliseconds since 1970, inclusive. Default: any.
   */
  newest(owner: string, since?: number): Promise<SampleRow | null>;
  /**
   * Resolves when all that was taken in before the call is durable. Who needs that of many asks once for all of them: each call may cost a
   * sync of the disk.
   *
   * @throws {OrchestratorError} `STORAGE_FULL` or `STORAGE_FAILED` where that can't be now; what was taken in stays, as far as it goes.
   */
  sync(): Promise<void>;
  /** Forgets an owner's samples before a time (milliseconds since 1970), or all of them; durable when it resolves. */
  trim(owner: string, before?: number): Promise<void>;
  /** Why samples are not kept now, for people; null while they are. Absent where that can't happen. */
  fault?(): string | null;
}
