/** A file of time series as it was at one moment; the bytes up to its size do not change any more. */
export interface HeldFile {
  readonly name: string;
  readonly size: number;
  /** Bytes from a position; fewer where the file ends. */
  read(position: number, length: number): Promise<Uint8Array>;
  /** Lets go of it: only then it may be removed. */
  release(): Promise<void>;
}
