import type { CollectionDefinition } from "../storage/storage.ts";

/** An enrolment token as stored, under its id (a UUIDv7, so that keys are in order of time). */
export interface EnrolmentTokenDocument {
  id: string;
  /** SHA-256 of the token, hex. The token itself is nowhere. */
  hash: string;
  name?: string;
  /** How many machines it approves. */
  uses: number;
  /** How many it has approved. */
  used: number;
  tags: Record<string, string>;
  /** By the fleet time, milliseconds. */
  ends_ms: number;
  /** The same by the wall clock of then, for people. */
  expires_at: string;
  created_at: string;
  created_by: string;
  last_used_at?: string;
  revoked_at?: string;
}

/** What the enrolment tokens keep. */
export const enrolmentTokenCollections = {
  enrolment_tokens: { indexes: { by_hash: ["hash"], by_end: ["ends_ms"] } },
} as const satisfies Record<string, CollectionDefinition>;
