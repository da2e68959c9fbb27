/** `Prefer` (RFC 7240) for what starts operations: `wait=n` and `respond-async`. */

/** What a client prefers, as far as it can be done. */
export interface Preferences {
  /** For how long the answer may be held back for an operation to end. */
  waitSeconds: number;
  /** The value of `Preference-Applied`. */
  applied: string;
}

/** The longest wait of any verb; who prefers to wait longer gets this. */
const longestWaitSeconds = 300;

/** Reads the header; null where it says nothing about waiting. What can't be read is passed over, as the RFC asks. */
export function readPreferences(header: string | undefined): Preferences | null {
  if (header === undefined) return null;
  const parts = header.split(",").map((part) => (part.split(";")[0] ?? "").trim().toLowerCase());
  const wait = parts
    .map((part) => /^wait\s*=\s*"?(\d{1,9})"?$/.exec(part)?.[1])
    .find((text) => text !== undefined);
  const isAsync = parts.includes("respond-async");
  if (wait === undefined) return isAsync ? { waitSeconds: 0, applied: "respond-async" } : null;
  const waitSeconds = Math.min(Number(wait), longestWaitSeconds);
  return { waitSeconds, applied: `${isAsync ? "respond-async, " : ""}wait=${waitSeconds}` };
}
