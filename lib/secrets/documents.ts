import type { CollectionDefinition } from "../storage/storage.ts";

/** Which agents may get a secret: those that the selector matches, and those that are named. */
export interface SecretRestriction {
  /** As the grammar prints it; over tags, names and node_ids. */
  selector?: string;
  node_ids?: string[];
}

/** A secret as stored, under its name: everything but its value. */
export interface SecretDocument {
  name: string;
  description?: string;
  /** Version of the newest value; rises for ever, also where a secret of this name was removed. */
  value_version: number;
  /** Whether that value is UTF-8. */
  is_text: boolean;
  /** The last version of the secret that had this name before: its own are counted from there. Absent = 0. */
  version_base?: number;
  /** Absent = every agent. */
  restriction?: SecretRestriction;
  expires_at?: string;
  created_at: string;
  created_by: string;
  updated_at: string;
  updated_by: string;
}

/** One value, encrypted, under `name@version`. */
export interface SecretValueDocument {
  name: string;
  version: number;
  /** Names the key that it is encrypted with. */
  key_id: string;
  /** Base64, 24 bytes. */
  nonce: string;
  /** Base64: XSalsa20-Poly1305 over a header and the value. */
  box: string;
}

/** What tells whether a key is the right one, under `canary`. Beside it, `left:<key_id>` is there for each key that was used before. */
export interface SecretsKeyDocument {
  key_id: string;
  nonce: string;
  box: string;
}

/**
 * The version that the last value of a removed secret had, under its name; 0 where none was. Whoever makes or removes a secret, or begins
 * to use it, writes it anew: so of two at once the later one looks again.
 */
export interface RemovedSecretDocument {
  name: string;
  value_version: number;
  /** The last version of the removed secret itself; absent = 0. */
  version?: number;
}

/** When somebody is to be told that a secret expires, under its name. */
export interface SecretExpiryDocument {
  name: string;
  /** A fleet time. */
  due_at: number;
  /** What is told then. */
  stage: "expiring" | "expired";
}

/** What the secrets feature keeps. */
export const secretCollections = {
  secrets: { indexes: {} },
  secret_values: { indexes: { by_name: ["name", "version"], by_key: ["key_id"] } },
  secrets_key: { indexes: {} },
  removed_secrets: { indexes: {} },
  secret_expiries: { indexes: { by_due: ["due_at"] } },
} as const satisfies Record<string, CollectionDefinition>;

/** Whose value the key is that calls with secrets are known again by. No secret has such a name. */
export const inputKeyOwner = "inputs:calls";

/** The key of a value. */
export function valueKey(name: string, version: number): string {
  return `${name}@${version}`;
}
