/** What metrics are read from: a machine. A test gives recorded texts in its place. */

/** A machine as collectors see it. Nothing here throws: what can't be found out is null. */
export interface MeasuredMachine {
  /** How it is measured: by the texts of /proc, or by what `systeminformation` finds. */
  readonly kind: "proc" | "other";
  /** Text of a file such as `/proc/stat`. */
  read(path: string): string | null;
  /** Names in a folder such as `/proc`. */
  list(path: string): readonly string[] | null;
  /** Space of the file system that is mounted at a path. Ends within seconds, also where the disk does not answer. */
  space(path: string): Promise<Space | null>;
  /** What the agent itself has used: microseconds of CPU since it began, and bytes of memory now. */
  own(): { cpuMicros: number; memoryBytes: number };
}

/** Bytes of a file system. `used` is what others than root can't have any more. */
export interface Space {
  totalBytes: number;
  usedBytes: number;
}

/** Values of one moment, by the name of their series. */
export type Values = Record<string, number>;
