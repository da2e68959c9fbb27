import type { Role } from "../callers/roles.ts";
import type { ManagedBy } from "../internal/common-schemas.ts";
import type { CollectionDefinition } from "../storage/storage.ts";

/** An operator as stored, under its operator_id. */
export interface OperatorDocument {
  operator_id: string;
  username: string;
  role: Role;
  public_key: string;
  added_at: string;
  added_by: string;
  last_seen_at?: string;
  /** Absent = no folder does. */
  managed_by?: ManagedBy;
}

/** A session as stored, under the SHA-256 of its token. Times are fleet times. */
export interface SessionDocument {
  operator_id: string;
  created_at: number;
  last_used_at: number;
  expires_at: number;
}

/** The operators who are Admin now: every change of it names the revision it saw, so that the last one can't slip away in a race. */
export interface AdminsDocument {
  operator_ids: string[];
}

/** What the access feature keeps. */
export const accessCollections = {
  operators: { indexes: { by_username: ["username"] } },
  /** Guards usernames: key = lower-case username. */
  operator_names: { indexes: {} },
  admins: { indexes: {} },
  sessions: { indexes: { by_operator: ["operator_id"], by_expiry: ["expires_at"] } },
  /** Nonces that were answered: key = the nonce. `expires_at` is a fleet time. */
  used_nonces: { indexes: { by_expiry: ["expires_at"] } },
} as const satisfies Record<string, CollectionDefinition>;
