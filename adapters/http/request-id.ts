/** Ids of requests, for logs, problems and the audit log. */
import { randomBytes } from "node:crypto";

/**
 * Makes a source of request ids: a random start for the process and a count. An id of this kind costs nothing, where fresh
 * random bytes for each request were a twentieth of a small one. It need not be secret, only told apart.
 */
export function createRequestIds(start = randomBytes(8).toString("hex")): () => string {
  let count = 0;
  return () => `${start}-${(count += 1).toString(36)}`;
}

/** A request id of the caller's is taken over where it can do no harm in a log or a header; else null. */
export function acceptedRequestId(header: string | null | undefined): string | null {
  return typeof header === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(header) ? header : null;
}
