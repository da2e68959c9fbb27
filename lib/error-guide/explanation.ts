/** What people are told about an error code. Plain sentences; names of fields and commands stand in backticks. */
export interface ErrorExplanation {
  /** What the code says. */
  meaning: string;
  /** When it happens. */
  cause: string;
  /** What to do about it. */
  advice: string;
}
