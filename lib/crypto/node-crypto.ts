/** The port of cryptography over `node:crypto` (OpenSSL). */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hash,
  hkdfSync,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
  type JsonWebKey,
  type KeyObject,
} from "node:crypto";
import type { Crypto, KeyPair, Signer } from "./crypto.ts";
import { isAcceptableEd25519Key } from "./public-key.ts";

const tagBytes = 16;
/** Imported keys cost as much as a verification; 10,000 of them are about 5 MB. */
const maxCachedKeys = 10_000;

type Curve = "Ed25519" | "X25519";

/** What stands before the 32 secret bytes in PKCS #8 (RFC 8410). A JWK would ask for the public key too. */
const privateKeyHeader = {
  Ed25519: Buffer.from("302e020100300506032b657004220420", "hex"),
  X25519: Buffer.from("302e020100300506032b656e04220420", "hex"),
} as const satisfies Record<Curve, Buffer>;

/** The imported form of secrets made here: importing PKCS #8 takes ten times as long as the exchange itself. */
const exchangeKeys = new WeakMap<Uint8Array, KeyObject>();

/** Acceptable verification keys, least recently used first. */
const verifyKeys = new Map<string, KeyObject>();

/**
 * Cryptography of the Node process. Stateless but for a bounded cache of imported public keys.
 *
 * Wrong lengths of secrets, keys and nonces are a mistake of the caller and throw; what a peer may have sent (signature,
 * public key, sealed bytes) never throws.
 */
export const nodeCrypto: Crypto = {
  randomBytes: (length) => bytesOf(randomBytes(length)),
  sha256: (data) => bytesOf(hash("sha256", data, "buffer")),
  hmac: (key, data) => bytesOf(createHmac("sha256", key).update(data).digest()),
  deriveKey: (secret, salt, info, length) =>
    new Uint8Array(hkdfSync("sha256", secret, salt, Buffer.from(info), length)),
  equal: (a, b) => a.length === b.length && timingSafeEqual(a, b),
  createSigningKeyPair: () => toPair(generate("Ed25519")),
  createSigner,
  verify(publicKey, message, signature, { isKnownKey = false } = {}) {
    if (signature.length !== 64) return false;
    const key = verifyKeyOf(publicKey, isKnownKey);
    // OpenSSL refuses S >= L, so a signature can't be changed into a second one that fits too.
    return key !== null && verify(null, message, key, signature);
  },
  isAcceptablePublicKey: (publicKey) => verifyKeyOf(publicKey) !== null,
  createExchangeKeyPair() {
    const jwk = generate("X25519");
    const pair = toPair(jwk);
    exchangeKeys.set(pair.secretKey, createPrivateKey({ key: jwk, format: "jwk" }));
    return pair;
  },
  exchange,
  seal,
  open,
};

function createSigner(seed: Uint8Array): Signer {
  const privateKey = importPrivateKey("Ed25519", seed);
  return {
    publicKey: exportPublicKey(privateKey),
    sign: (message) => bytesOf(sign(null, message, privateKey)),
  };
}

function exchange(secretKey: Uint8Array, publicKey: Uint8Array): Uint8Array | null {
  if (publicKey.length !== 32) return null;
  const privateKey = exchangeKeys.get(secretKey) ?? importPrivateKey("X25519", secretKey);
  try {
    return bytesOf(diffieHellman({ privateKey, publicKey: importPublicKey("X25519", publicKey) }));
  } catch {
    // OpenSSL refuses to hand out a shared secret of zeros, which is what every point of low order gives.
    return null;
  }
}

function seal(key: Uint8Array, nonce: Uint8Array, plain: Uint8Array): Uint8Array {
  const cipher = createCipheriv("chacha20-poly1305", key, nonce, { authTagLength: tagBytes });
  const sealed = cipher.update(plain);
  cipher.final();
  return bytesOf(Buffer.concat([sealed, cipher.getAuthTag()]));
}

function open(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array): Uint8Array | null {
  if (sealed.length < tagBytes) return null;
  const decipher = createDecipheriv("chacha20-poly1305", key, nonce, { authTagLength: tagBytes });
  const end = sealed.length - tagBytes;
  decipher.setAuthTag(sealed.subarray(end));
  const plain = decipher.update(sealed.subarray(0, end));
  try {
    decipher.final();
  } catch {
    return null;
  }
  return bytesOf(plain);
}

function verifyKeyOf(publicKey: Uint8Array, isKnown = false): KeyObject | null {
  const name = bufferOf(publicKey).toString("latin1");
  const cached = verifyKeys.get(name);
  if (cached) {
    verifyKeys.delete(name);
    verifyKeys.set(name, cached);
    return cached;
  }
  // Refused keys are not kept: a peer could push the good ones out with them.
  if (publicKey.length !== 32 || !(isKnown || isAcceptableEd25519Key(publicKey))) return null;
  const key = importPublicKey("Ed25519", publicKey);
  verifyKeys.set(name, key);
  if (verifyKeys.size > maxCachedKeys) verifyKeys.delete(verifyKeys.keys().next().value ?? name);
  return key;
}

function importPublicKey(crv: Curve, raw: Uint8Array): KeyObject {
  // Measured: importing a JWK takes less than half of the time of DER.
  return createPublicKey({ key: { kty: "OKP", crv, x: bufferOf(raw).toString("base64url") }, format: "jwk" });
}

function importPrivateKey(curve: Curve, secret: Uint8Array): KeyObject {
  if (secret.length !== 32) throw new TypeError(`A secret key of ${curve} has 32 bytes.`);
  return createPrivateKey({
    key: Buffer.concat([privateKeyHeader[curve], secret]),
    format: "der",
    type: "pkcs8",
  });
}

function exportPublicKey(key: KeyObject): Uint8Array {
  return bytesOf(Buffer.from(createPublicKey(key).export({ format: "jwk" }).x ?? "", "base64url"));
}

/**
 * A new key as JWK. Node 20 stands still for ever where the export of a key that it has just generated runs into a garbage collection:
 * both wait for the lock of that key. So the generation itself has to export it.
 */
function generate(curve: Curve): JsonWebKey {
  const encoding = { publicKeyEncoding: { format: "jwk" }, privateKeyEncoding: { format: "jwk" } } as const;
  const made =
    curve === "Ed25519" ? generateKeyPairSync("ed25519", encoding) : generateKeyPairSync("x25519", encoding);
  // The types know nothing of this form.
  return made.privateKey as unknown as JsonWebKey;
}

function toPair({ x = "", d = "" }: JsonWebKey): KeyPair {
  return {
    publicKey: bytesOf(Buffer.from(x, "base64url")),
    secretKey: bytesOf(Buffer.from(d, "base64url")),
  };
}

/** A plain view: a `Buffer` prints, compares and slices differently, and callers may not know which they hold. */
function bytesOf(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
