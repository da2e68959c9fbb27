/**
 * Keys of operators in files: Ed25519 private keys as PEM (PKCS #8), as `openssl genpkey -algorithm ed25519` writes them, or as
 * `ssh-keygen -t ed25519` does.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { dirname } from "node:path";
import { OrchestratorError } from "fleetwright/errors";
import { isSignature } from "./node-signature.ts";
import type { OperatorSigner } from "./signer.ts";
import { parseSshKey, UnreadableKey } from "./ssh-key.ts";
import type { SshKey } from "./ssh-key.ts";
import { codeOf } from "./system-error.ts";
import { writeWhole } from "./write-whole.ts";

/** How a key file is read. */
export interface ReadSignerOptions {
  /**
   * Asks for the passphrase of an OpenSSH key that has one, when something is to be signed: once, and after a wrong one with the next
   * signature again; null where nobody tells it. Default: such a key is refused.
   */
  passphrase?: () => Promise<string | null>;
}

/**
 * Reads a key file.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` where there is no such file, it holds no Ed25519 private key, or one with a passphrase
 * that nobody can be asked for. Signing throws it where the passphrase is wrong.
 */
export function readSigner(path: string, options: ReadSignerOptions = {}): OperatorSigner {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw refused(`The key file ${path} can't be read (${codeOf(cause)}).`, cause);
  }
  let ssh: SshKey | null;
  try {
    ssh = parseSshKey(text);
    if (!ssh?.isEncrypted) return toSigner(ssh ? ssh.openPlain() : createPrivateKey(text));
  } catch (cause) {
    if (cause instanceof UnreadableKey) throw refused(`${path} ${cause.message}.`, cause);
    if (text.includes("-----BEGIN ENCRYPTED PRIVATE KEY-----"))
      throw refused(`${path} is a PEM with a passphrase: only keys of OpenSSH may have one.`, cause);
    throw refused(`${path} holds no Ed25519 private key, neither in PEM nor as OpenSSH has it.`, cause);
  }
  if (!options.passphrase) throw refused(`${path} needs its passphrase.`, undefined);
  return sealedSigner(path, ssh, options.passphrase);
}

function sealedSigner(path: string, ssh: SshKey, ask: () => Promise<string | null>): OperatorSigner {
  let opened: Promise<KeyObject> | null = null;
  const open = async (): Promise<KeyObject> => {
    const passphrase = await ask();
    if (passphrase === null) throw refused(`Nobody told the passphrase of ${path}.`, undefined);
    try {
      return await ssh.open(passphrase);
    } catch (cause) {
      throw refused(`${path} can't be opened: the passphrase is wrong, or the key is damaged.`, cause);
    }
  };
  const openOnce = (): Promise<KeyObject> =>
    (opened ??= open().catch((error: unknown) => {
      opened = null;
      throw error;
    }));
  return {
    publicKey: ssh.publicKey.toString("hex"),
    sign: async (message) => sign(null, Buffer.from(message, "utf8"), await openOnce()),
    verify: isSignature,
  };
}

/**
 * Makes a key pair and writes the private key to a new file that only its owner can read. The file has its name when all of it is on
 * disk, and both are when it returns; where it throws, nothing is left.
 *
 * @throws {OrchestratorError} `ALREADY_EXISTS` where there is a file: a key is never overwritten.
 */
export function createKeyFile(path: string): OperatorSigner {
  // As text at once: Node 20 may stand still where it exports a key that it has just generated.
  const { privateKey: text } = generateKeyPairSync("ed25519", {
    publicKeyEncoding: { format: "pem", type: "spki" },
    privateKeyEncoding: { format: "pem", type: "pkcs8" },
  });
  if (existsSync(path)) throw thereIsOne(path);
  const aside = `${path}.${process.pid}.part`;
  try {
    rmSync(aside, { force: true });
    withFile(openSync(aside, "wx", 0o600), (file) => writeWhole(file, text));
    giveName(aside, path);
    syncFolderOf(path);
  } finally {
    rmSync(aside, { force: true });
  }
  return toSigner(createPrivateKey(text));
}

/** A name that is given, and not taken from another file. */
function giveName(aside: string, path: string): void {
  try {
    linkSync(aside, path);
  } catch (cause) {
    if (codeOf(cause) === "EEXIST" || existsSync(path)) throw thereIsOne(path, cause);
    // FAT, as on a stick, knows no second names.
    renameSync(aside, path);
  }
}

/** A key is given to a server right after: it must not be gone after a loss of power. */
function syncFolderOf(path: string): void {
  try {
    withFile(openSync(dirname(path), "r"), fsyncSync);
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  }
}

function withFile(file: number, use: (file: number) => void): void {
  try {
    use(file);
  } finally {
    closeSync(file);
  }
}

function thereIsOne(path: string, cause?: unknown): OrchestratorError {
  return new OrchestratorError("ALREADY_EXISTS", { message: `There is a key in ${path} already.`, cause });
}

function toSigner(key: KeyObject): OperatorSigner {
  if (key.asymmetricKeyType !== "ed25519") throw new TypeError("not Ed25519");
  const { x } = createPublicKey(key).export({ format: "jwk" });
  return {
    publicKey: Buffer.from(x ?? "", "base64url").toString("hex"),
    sign: (message) => sign(null, Buffer.from(message, "utf8"), key),
    verify: isSignature,
  };
}

function refused(message: string, cause: unknown): OrchestratorError {
  return new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
}
