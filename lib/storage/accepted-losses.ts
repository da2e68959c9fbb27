/** What was stored and is not there any more. */
export interface StorageLoss {
  /** The damaged or missing file. */
  file: string;
  /** The byte in it from which on something is lost. */
  offset: number;
  /** What is lost, for people. */
  what: string;
}

/** Losses that the owner of the data told the storage to go on without. */
export interface AcceptedLosses {
  /** Each since they were last told, also those of starts before. */
  list(): readonly StorageLoss[];
  /** They are told where they belong, durably: they are listed no more. */
  told(): Promise<void>;
}
