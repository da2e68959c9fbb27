/** Keys of operators in files: Ed25519 private keys as PEM (PKCS #8), as `openssl genpkey -algorithm ed25519` writes them. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { OrchestratorError } from "fleetwright/errors";
import type { OperatorSigner } from "./signer.ts";
import type { SignedText } from "./verify.ts";

/**
 * Reads a key file.
 *
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` where there is no such file or it holds no Ed25519 private key.
 */
export function readSigner(path: string): OperatorSigner {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const { code = "unknown" } = cause as NodeJS.ErrnoException;
    throw refused(`The key file ${path} can't be read (${code}).`, cause);
  }
  try {
    return toSigner(createPrivateKey(text));
  } catch (cause) {
    throw refused(`${path} holds no Ed25519 private key in PEM.`, cause);
  }
}

/**
 * Makes a key pair and writes the private key to a new file that only its owner can read.
 *
 * @throws {OrchestratorError} `ALREADY_EXISTS` where there is a file: a key is never overwritten.
 */
export function createKeyFile(path: string): OperatorSigner {
  const { privateKey } = generateKeyPairSync("ed25519");
  const text = privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause;
    throw new OrchestratorError("ALREADY_EXISTS", { message: `There is a key in ${path} already.`, cause });
  }
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return toSigner(privateKey);
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

function isSignature({ publicKey, message, signature }: SignedText): boolean {
  const x = Buffer.from(publicKey).toString("base64url");
  try {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return verify(null, Buffer.from(message, "utf8"), key, signature);
  } catch {
    return false;
  }
}

function refused(message: string, cause: unknown): OrchestratorError {
  return new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
}
