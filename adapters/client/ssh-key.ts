/** Ed25519 private keys as `ssh-keygen` writes them: the format `openssh-key-v1`, plain or with a passphrase. */
import { createDecipheriv, createPrivateKey } from "node:crypto";
import type { KeyObject } from "node:crypto";

/** A key file that was read; the private half may need a passphrase. */
export interface SshKey {
  /** 32 bytes. */
  publicKey: Buffer;
  isEncrypted: boolean;
  /**
   * Gets the private key.
   *
   * @throws {TypeError} Where the passphrase is wrong, or the file damaged.
   */
  open(passphrase: string): Promise<KeyObject>;
  /** The same of one that is not encrypted. */
  openPlain(): KeyObject;
}

const armour =
  /^-----BEGIN OPENSSH PRIVATE KEY-----\n([A-Za-z0-9+/=\s]{1,65536})\n-----END OPENSSH PRIVATE KEY-----\s*$/;
const magic = "openssh-key-v1\0";
const keyType = "ssh-ed25519";
/** More than `ssh-keygen -a` is ever given: each takes milliseconds. */
const mostRounds = 2_000;

/** Reads a key file; null where it is none of this format. */
export function parseSshKey(text: string): SshKey | null {
  const [, body] = armour.exec(text.replaceAll("\r\n", "\n")) ?? [];
  if (body === undefined) return null;
  const bytes = Buffer.from(body, "base64");
  if (bytes.subarray(0, magic.length).toString("latin1") !== magic) throw new TypeError("no OpenSSH key");
  const parts = new SshParts(bytes.subarray(magic.length));
  const [cipher, kdf, options] = [parts.text(), parts.text(), parts.bytes()];
  if (parts.number() !== 1) throw new TypeError("more than one key");
  const publicKey = readPublicKey(parts.bytes());
  const secret = parts.bytes();
  const isEncrypted = cipher !== "none";
  // Before anybody is asked for a passphrase.
  if (isEncrypted && (kdf !== "bcrypt" || ciphers[cipher] === undefined))
    throw new UnreadableKey(
      `is encrypted with ${cipher}, which is not read here; \`ssh-keygen -p -Z aes256-ctr -f FILE\` changes that`,
    );
  const openPlain = (): KeyObject => readPrivate(secret, publicKey);
  return {
    publicKey,
    isEncrypted,
    openPlain,
    open: async (passphrase) =>
      isEncrypted
        ? readPrivate(await decrypt({ cipher, options, secret }, passphrase), publicKey)
        : openPlain(),
  };
}

/** A key file that holds an Ed25519 key in a way that is not read here; its message says why, and what to do. */
export class UnreadableKey extends TypeError {}

/** The key, hex, of a line as `ssh-keygen` writes it into `.pub` files: type, key and a comment; null where it is none. */
export function readPublicLine(line: string): string | null {
  const [type, body = ""] = line.trim().split(/\s+/);
  if (type !== keyType) return null;
  try {
    return readPublicKey(Buffer.from(body, "base64")).toString("hex");
  } catch {
    return null;
  }
}

/** The key of a public half, as SSH writes it: its type and 32 bytes. */
export function readPublicKey(blob: Buffer): Buffer {
  const parts = new SshParts(blob);
  if (parts.text() !== keyType) throw new TypeError("not Ed25519");
  const key = parts.bytes();
  if (key.length !== 32) throw new TypeError("not 32 bytes");
  return key;
}

/** What SSH writes: numbers of four bytes, and bytes behind their length. */
export class SshParts {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  number(): number {
    const value = this.#bytes.readUInt32BE(this.#at);
    this.#at += 4;
    return value;
  }

  bytes(): Buffer {
    const length = this.number();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new TypeError("cut off");
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }

  text(): string {
    return this.bytes().toString("latin1");
  }

  rest(): Buffer {
    return this.#bytes.subarray(this.#at);
  }
}

/** Bytes behind their length. */
export function toSshBytes(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** What OpenSSH calls them, and what Node does. */
const ciphers: Readonly<Partial<Record<string, string>>> = {
  "aes256-ctr": "aes-256-ctr",
  "aes256-cbc": "aes-256-cbc",
};

interface Sealed {
  cipher: string;
  options: Buffer;
  secret: Buffer;
}

async function decrypt({ cipher, options, secret }: Sealed, passphrase: string): Promise<Buffer> {
  const algorithm = ciphers[cipher];
  if (algorithm === undefined) throw new TypeError(`encrypted with ${cipher}`);
  const parts = new SshParts(options);
  const [salt, rounds] = [parts.bytes(), parts.number()];
  if (rounds < 1 || rounds > mostRounds) throw new TypeError("too many rounds");
  const { default: bcrypt } = await import("bcrypt-pbkdf");
  const words = Buffer.from(passphrase, "utf8");
  const key = Buffer.alloc(48);
  if (bcrypt.pbkdf(words, words.length, salt, salt.length, key, key.length, rounds) !== 0)
    throw new TypeError("no passphrase");
  const decipher = createDecipheriv(algorithm, key.subarray(0, 32), key.subarray(32));
  decipher.setAutoPadding(false);
  return Buffer.concat([decipher.update(secret), decipher.final()]);
}

/** How node takes a private key of 32 bytes: PKCS #8 is this and the key. */
const pkcs8Head = Buffer.from("302e020100300506032b657004220420", "hex");

function readPrivate(secret: Buffer, publicKey: Buffer): KeyObject {
  const parts = new SshParts(secret);
  // Twice the same number shows that the passphrase was right.
  if (parts.number() !== parts.number()) throw new TypeError("wrong passphrase");
  if (parts.text() !== keyType) throw new TypeError("not Ed25519");
  const own = parts.bytes();
  const pair = parts.bytes();
  parts.bytes();
  const isPadded = parts.rest().every((byte, at) => byte === at + 1);
  if (!isPadded || pair.length !== 64 || !own.equals(publicKey) || !pair.subarray(32).equals(publicKey))
    throw new TypeError("damaged");
  return createPrivateKey({
    key: Buffer.concat([pkcs8Head, pair.subarray(0, 32)]),
    format: "der",
    type: "pkcs8",
  });
}
