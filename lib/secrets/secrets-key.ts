/** PORT: where the key comes from that secrets are encrypted with. */
import { OrchestratorError } from "../errors.ts";
import { fault, inProgramOnly } from "../internal/option-rules.ts";

/**
 * Where the key comes from that secrets are encrypted with: a file, a vault, a KMS.
 *
 *  1. `read` gives every key that is needed, the newest first; none where there never was one.
 *  2. After `renew` the newest is a new one, and all others are still there: both survive a power loss.
 *  3. `retire` is called when nothing is encrypted with a key that comes after the one it is given.
 */
export interface SecretsKeySource {
  /** The keys, 32 bytes each, the newest first. Asked at the start, and again where a key is missing. */
  read(): Promise<readonly Uint8Array[]>;
  /** Makes a new key and keeps the others. Absent: keys are made elsewhere, and `read` gives the new one before the old one. */
  renew?(): Promise<void>;
  /**
   * Forgets the keys that come after one; those before it stay, and all where it is not there: another process may have made a newer one.
   *
   * @param newest - 32 bytes.
   */
  retire?(newest: Uint8Array): Promise<void>;
}

/** A key that is given as it is, or where it comes from. */
export type SecretsKey = Uint8Array | SecretsKeySource;

/** Bytes of a key. */
export const secretsKeyBytes = 32;

/** What may be given. */
export const secretsKeyRule = inProgramOnly((value) => {
  if (value === null) return [];
  if (value instanceof Uint8Array)
    return value.length === secretsKeyBytes ? [] : [fault(`must have ${secretsKeyBytes} bytes`)];
  const isSource =
    typeof value === "object" && typeof (value as SecretsKeySource | null)?.read === "function";
  return isSource ? [] : [fault(`must be ${secretsKeyBytes} bytes, or an object with read()`)];
});

/** Reads the keys of a source. */
export async function readKeys(key: SecretsKey): Promise<readonly Uint8Array[]> {
  const keys = key instanceof Uint8Array ? [key] : await key.read();
  if (keys.some(({ length }) => length !== secretsKeyBytes))
    throw new OrchestratorError("SECRETS_KEY_WRONG", {
      message: `A key for secrets has ${secretsKeyBytes} bytes.`,
    });
  return keys;
}
