/** `Prefer` (RFC 7240) for what starts operations: `wait=n` and `respond-async`. */

/** What a client prefers, as far as it can be done. */
export interface Preferences {
  /** For how long the answer may be held back for an operation to end. */
  waitSeconds: number;
  /** The value of `Preference-Applied`. */
  applied: string;
}

/** For how long a verb may be waited for, seconds. */
export interface WaitBounds {
  /** Who prefers to wait less is waited for as long as ever: there is nothing else that the verb could answer. */
  least: number;
  /** Who prefers to wait longer gets this. */
  most: number;
}

/**
 * Reads the header; null where it says nothing about waiting that the verb can do. What can't be read, or can't be done, is passed over, as
 * the RFC asks.
 */
export function readPreferences(header: string | undefined, { least, most }: WaitBounds): Preferences | null {
  if (header === undefined) return null;
  const parts = header.split(",").map((part) => (part.split(";")[0] ?? "").trim().toLowerCase());
  const wait = parts
    .map((part) => /^wait\s*=\s*"?(\d{1,9})"?$/.exec(part)?.[1])
    .find((text) => text !== undefined);
  const isAsync = parts.includes("respond-async");
  const waitSeconds = Math.min(wait === undefined && isAsync ? 0 : Number(wait), most);
  if (!(waitSeconds >= least)) return null;
  if (wait === undefined) return { waitSeconds, applied: "respond-async" };
  return { waitSeconds, applied: `${isAsync ? "respond-async, " : ""}wait=${waitSeconds}` };
}
