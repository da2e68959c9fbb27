/**
 * Keys of operators in browsers: Ed25519 of WebCrypto, which nobody can read out, not even the page. Where a browser does not know
 * Ed25519, tweetnacl is loaded in its place; such a key can be read by the page.
 */
import { toHex } from "./hex.ts";
import type { OperatorSigner } from "./signer.ts";
import { loadTweetnacl } from "./verify.ts";

type PrivateKey = Parameters<typeof crypto.subtle.sign>[1];

/** A key of an operator. The structured clone algorithm takes it, so that IndexedDB can keep it. */
export interface BrowserKey {
  /** 64 hex digits: what an Admin adds. */
  publicKey: string;
  /** A WebCrypto key that can't be exported, or the 32-byte seed where the browser does not know Ed25519: keep that one secret. */
  privateKey: PrivateKey | Uint8Array;
}

const algorithm = { name: "Ed25519" } as const;

/** Makes a key pair. Needs a secure context (https, or localhost). */
export async function createBrowserKey(): Promise<BrowserKey> {
  if (!(await knowsEd25519())) return createSeededKey(crypto.getRandomValues(new Uint8Array(32)));
  const pair = await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
  if (!("privateKey" in pair)) throw new TypeError("Ed25519 keys come in pairs.");
  const publicKey = await crypto.subtle.exportKey("raw", pair.publicKey);
  return { publicKey: toHex(new Uint8Array(publicKey)), privateKey: pair.privateKey };
}

/** Signs with a key that {@link createBrowserKey} made. */
export function createBrowserSigner({ publicKey, privateKey }: BrowserKey): OperatorSigner {
  return {
    publicKey,
    async sign(message) {
      const bytes = new TextEncoder().encode(message);
      if (!(privateKey instanceof Uint8Array)) {
        return new Uint8Array(await crypto.subtle.sign(algorithm, privateKey, bytes));
      }
      const { sign } = await loadTweetnacl();
      return sign.detached(bytes, sign.keyPair.fromSeed(privateKey).secretKey);
    },
  };
}

async function createSeededKey(seed: Uint8Array): Promise<BrowserKey> {
  const { sign } = await loadTweetnacl();
  return { publicKey: toHex(sign.keyPair.fromSeed(seed).publicKey), privateKey: seed };
}

async function knowsEd25519(): Promise<boolean> {
  try {
    await crypto.subtle.generateKey(algorithm, false, ["sign", "verify"]);
    return true;
  } catch {
    return false;
  }
}
