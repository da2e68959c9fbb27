/**
 * PORT: cryptography, so that `lib` and `wire` stay free of I/O and a fake can make a run repeatable.
 *
 * Public keys are 32 raw bytes (Ed25519 per RFC 8032, X25519 per RFC 7748); a signing key is its 32-byte seed.
 */

/** A pair of keys, raw. */
export interface KeyPair {
  publicKey: Uint8Array;
  /** Secret: 32 bytes. */
  secretKey: Uint8Array;
}

/** Signs as one identity. May keep the key outside the process. */
export interface Signer {
  readonly publicKey: Uint8Array;
  /** Ed25519 signature, 64 bytes. */
  sign(message: Uint8Array): Uint8Array;
}

/** The cryptographic operations that the package needs. */
export interface Crypto {
  /** Bytes that nobody can guess. */
  randomBytes(length: number): Uint8Array;
  /** SHA-256 (FIPS 180-4), 32 bytes. */
  sha256(data: Uint8Array): Uint8Array;
  /** HMAC-SHA-256 (RFC 2104), 32 bytes. */
  hmac(key: Uint8Array, data: Uint8Array): Uint8Array;
  /** HKDF-SHA-256 (RFC 5869). */
  deriveKey(secret: Uint8Array, salt: Uint8Array, info: string, length: number): Uint8Array;
  /** Compares in constant time. */
  equal(a: Uint8Array, b: Uint8Array): boolean;

  /** A new Ed25519 key pair. */
  createSigningKeyPair(): KeyPair;
  /** Keeps the imported key, so that signing again is cheap. */
  createSigner(seed: Uint8Array): Signer;
  /**
   * Strict Ed25519: false for a malleable signature, a wrong length or a key that {@link isAcceptablePublicKey} refuses. Never throws.
   *
   * @param options - `isKnownKey`: the key was found acceptable before, and need not be tested again. Default: false.
   */
  verify(
    publicKey: Uint8Array,
    message: Uint8Array,
    signature: Uint8Array,
    options?: { isKnownKey?: boolean },
  ): boolean;
  /** False for a key of wrong length, one that is not canonical, not on the curve or of small order. */
  isAcceptablePublicKey(publicKey: Uint8Array): boolean;

  /** A new X25519 key pair. */
  createExchangeKeyPair(): KeyPair;
  /** X25519; null where the result would be all zeros (a low-order point). */
  exchange(secretKey: Uint8Array, publicKey: Uint8Array): Uint8Array | null;

  /**
   * ChaCha20-Poly1305 (RFC 8439), 12-byte nonce; the 16-byte tag follows the ciphertext. `plain` is only lent: the caller writes over it
   * as soon as this returns.
   */
  seal(key: Uint8Array, nonce: Uint8Array, plain: Uint8Array): Uint8Array;
  /** Opens what {@link seal} made; null when it was not made with this key and nonce. */
  open(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array): Uint8Array | null;
}
