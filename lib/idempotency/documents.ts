import type { CollectionDefinition } from "../storage/storage.ts";

/** A call that was made with a key, under a hash of operator, verb and key. */
export interface CallDocument {
  operator_id: string;
  /** MAC of the input, so that another input is noticed and a secret in it can't be guessed from here. */
  fingerprint: string;
  /** By the retention clock, milliseconds since 1970. */
  expires_at: number;
  /** `begun` is also what a process that ended in the middle leaves behind. */
  status: "begun" | "succeeded" | "refused" | "unknown";
  /** The name in the cluster of the process that began it; absent where an earlier version did. */
  process?: string;
  /** JSON of what the call came to: its output, or the refusal. Absent where it returned nothing. */
  answer?: string;
}

/** What the idempotency feature keeps. */
export const idempotencyCollections = {
  idempotent_calls: { indexes: { by_expiry: ["expires_at"], by_operator: ["operator_id", "expires_at"] } },
} as const satisfies Record<string, CollectionDefinition>;
