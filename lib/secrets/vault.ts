/**
 * Encrypts values (XSalsa20-Poly1305, a random nonce) with a key for each name and version, derived from the newest master key
 * (HKDF-SHA-256). The name and version stand inside, too: a row in the place of another does not open, nor does one that was changed.
 */
import nacl from "tweetnacl";
import type { Crypto } from "../crypto/crypto.ts";
import { concatBytes, fromBase64, toBase64, toHex, toUtf8 } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { type SecretsKeyDocument, type SecretValueDocument, valueKey } from "./documents.ts";

const salt = toUtf8("fleetwright/1 secret value");
const canaryName = "canary";

type Sealed = Pick<SecretValueDocument, "key_id" | "nonce" | "box">;
type Crypt = Pick<Crypto, "deriveKey" | "randomBytes" | "sha256">;

/** Holds the master keys while the orchestrator runs. */
export class Vault {
  readonly #crypto: Crypt;
  readonly #keys = new Map<string, Uint8Array>();
  /** Keys of values that were used lately: to derive one takes longer than to open a value with it. */
  readonly #derivedKeys = new BoundedCache<Uint8Array>({ entries: 1_000 });
  #newest: string | null = null;

  constructor(crypto: Crypt) {
    this.#crypto = crypto;
  }

  /** Takes keys in, the newest first; those from before stay. */
  take(keys: readonly Uint8Array[]): void {
    for (const key of keys) this.#keys.set(this.idOf(key), key);
    if (keys[0]) this.#newest = this.idOf(keys[0]);
  }

  /** Names the key that is used from now on; null where there is none. */
  get newest(): string | null {
    return this.#newest;
  }

  /** Whether it has a key. */
  has(keyId: string): boolean {
    return this.#keys.has(keyId);
  }

  /** Names every key that it has. */
  get ids(): string[] {
    return [...this.#keys.keys()];
  }

  /** A key that it has. */
  keyOf(keyId: string): Uint8Array {
    return this.#keys.get(keyId)!;
  }

  /** Encrypts a value with a key that it has. */
  seal(
    { name, version }: Pick<SecretValueDocument, "name" | "version">,
    value: Uint8Array,
    keyId: string,
  ): SecretValueDocument {
    return { name, version, ...this.#seal(valueKey(name, version), value, keyId) };
  }

  /**
   * Decrypts a value.
   *
   * @param row - As it is stored, wherever it was found.
   * @throws {OrchestratorError} `STORAGE_CORRUPT` where it was changed, or is not the value of this name and version.
   */
  open(name: string, version: number, row: Sealed): Uint8Array {
    const value = this.#open(valueKey(name, version), row);
    if (value) return value;
    throw new OrchestratorError("STORAGE_CORRUPT", {
      message: `What is stored of secret ${name} in version ${version} is damaged, or is not that value. Set it anew.`,
      details: { secret: name, value_version: version },
    });
  }

  /** What a later start tells a key by, which is the right one then. */
  canary(keyId: string): SecretsKeyDocument {
    return this.#seal(canaryName, toUtf8(canaryName), keyId);
  }

  /** Whether one of the keys is the one that a canary was made with. */
  opensCanary(canary: SecretsKeyDocument): boolean {
    return this.has(canary.key_id) && this.#open(canaryName, canary) !== null;
  }

  #seal(what: string, value: Uint8Array, key_id: string): Sealed {
    const nonce = this.#crypto.randomBytes(nacl.secretbox.nonceLength);
    const plain = concatBytes(headerOf(what), value);
    const box = nacl.secretbox(plain, nonce, this.#derived(key_id, what));
    return { key_id, nonce: toBase64(nonce), box: toBase64(box) };
  }

  #open(what: string, { key_id, nonce, box }: Sealed): Uint8Array | null {
    const [nonceBytes, boxBytes] = [fromBase64(nonce), fromBase64(box)];
    if (!this.has(key_id) || nonceBytes?.length !== nacl.secretbox.nonceLength || !boxBytes) return null;
    const plain = nacl.secretbox.open(boxBytes, nonceBytes, this.#derived(key_id, what));
    const header = headerOf(what);
    if (!plain || plain.length < header.length) return null;
    return header.every((byte, at) => plain[at] === byte) ? plain.slice(header.length) : null;
  }

  #derived(keyId: string, what: string): Uint8Array {
    const name = `${keyId} ${what}`;
    const known = this.#derivedKeys.get(name);
    if (known) return known;
    const key = this.#crypto.deriveKey(this.keyOf(keyId), salt, what, nacl.secretbox.keyLength);
    this.#derivedKeys.set(name, key);
    return key;
  }

  /** The name of a key. Derived, so that it says nothing of it. */
  idOf(key: Uint8Array): string {
    return toHex(this.#crypto.deriveKey(key, salt, "key id", 8));
  }
}

function headerOf(what: string): Uint8Array {
  return toUtf8(`fleetwright secret\n${what}\n`);
}
