/** Who an agent is, and which orchestrator it obeys: the keys in its state folder. */
import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Crypto, KeyPair, Signer } from "../crypto/crypto.ts";
import { fromHex, nodeIdOf, toHex } from "../crypto/encoding.ts";
import { decodeBytes } from "../crypto/parse-public-key.ts";
import { OrchestratorError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import { readText, renewFile, replaceFile } from "./durable-file.ts";
import type { OrchestratorPin } from "./link-connection.ts";
import { checksumOf, seal, unseal } from "./sealed-text.ts";

const key = z.string().regex(/^[0-9a-f]{64}$/);
const identityFileSchema = z.strictObject({
  version: z.literal(1),
  /** Seed of the Ed25519 key. */
  signing_seed: key,
  box_public_key: key,
  box_secret_key: key,
});

/** The keys of an agent. */
export interface AgentIdentity {
  node_id: string;
  /** Signs as the agent. */
  signer: Signer;
  /** Secrets for this agent are sealed to it. */
  box: KeyPair;
}

/** What the files of an identity are read with. */
export interface IdentityContext {
  stateDir: string;
  crypto: Crypto;
  logger: Logger;
}

/**
 * Reads the agent's keys, or makes them on the first start. A damaged file is never replaced by new keys: the agent would
 * come back as a stranger.
 *
 * @throws {OrchestratorError} `STORAGE_CORRUPT` for a damaged file.
 */
export function loadIdentity(context: IdentityContext): AgentIdentity {
  const { crypto } = context;
  const path = join(context.stateDir, "identity.json");
  const text = readText(path);
  if (text === null) return createIdentity(path, crypto);
  keepPrivate(path, context.logger);
  const unsealed = unseal(text);
  const file = identityFileSchema.safeParse(unsealed?.value).data;
  if (!unsealed || !file) {
    throw new OrchestratorError("STORAGE_CORRUPT", {
      message: `The agent's keys in ${path} are damaged. Put a copy of the file in its place, or move it away: the agent then gets new keys, enrols as a new one and has to be approved.`,
      details: { file: path },
    });
  }
  if (!unsealed.isSealed) renewFile(path, `${seal(file)}\n`);
  const signer = crypto.createSigner(bytesOf(file.signing_seed));
  const box = { publicKey: bytesOf(file.box_public_key), secretKey: bytesOf(file.box_secret_key) };
  return { node_id: nodeIdOf(signer.publicKey, crypto), signer, box };
}

function createIdentity(path: string, crypto: Crypto): AgentIdentity {
  const signing = crypto.createSigningKeyPair();
  const box = crypto.createExchangeKeyPair();
  const file: z.infer<typeof identityFileSchema> = {
    version: 1,
    signing_seed: toHex(signing.secretKey),
    box_public_key: toHex(box.publicKey),
    box_secret_key: toHex(box.secretKey),
  };
  replaceFile(path, `${seal(file)}\n`);
  const signer = crypto.createSigner(signing.secretKey);
  return { node_id: nodeIdOf(signer.publicKey, crypto), signer, box };
}

function keepPrivate(path: string, logger: Logger): void {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  logger.warn("Other users could read the agent's keys; they can't any more.", {
    path,
    mode: mode.toString(8),
  });
  chmodSync(path, 0o600);
}

function bytesOf(hex: string): Uint8Array {
  return fromHex(hex) ?? new Uint8Array();
}

/** The one orchestrator that an agent obeys: given at install, or the first one seen, and then for good. */
export class PinnedOrchestrator implements OrchestratorPin {
  readonly #path: string;
  #key: Uint8Array | null;

  /**
   * @param given - The key given at install, 64 hex digits, if one was.
   * @throws {OrchestratorError} `ORCHESTRATOR_KEY_CHANGED` where another key is pinned already; `KEY_REFUSED` for a text
   * that is no acceptable key; `STORAGE_CORRUPT` for a damaged file.
   */
  constructor(context: IdentityContext, given: string | undefined) {
    this.#path = join(context.stateDir, "orchestrator.key");
    const text = readText(this.#path);
    const pinned = text === null ? null : parsePin(text);
    if (text !== null && !pinned) {
      throw new OrchestratorError("STORAGE_CORRUPT", {
        message: `The pinned key in ${this.#path} is damaged. Move the file away and start the agent with the orchestrator's key.`,
        details: { file: this.#path },
      });
    }
    this.#key = pinned?.bytes ?? null;
    if (pinned && !pinned.isSealed) renewFile(this.#path, pinText(toHex(pinned.bytes)));
    if (given === undefined) return;
    const givenKey = decodeBytes(given, 32);
    if (!givenKey || !context.crypto.isAcceptablePublicKey(givenKey))
      throw new OrchestratorError("KEY_REFUSED");
    this.#pin(givenKey);
  }

  /** The pinned key; null before the first orchestrator was seen. */
  get(): Uint8Array | null {
    return this.#key;
  }

  /**
   * Obeys this orchestrator from now on. Durable when it resolves.
   *
   * @throws {OrchestratorError} `ORCHESTRATOR_KEY_CHANGED` where another one is pinned.
   */
  async set(publicKey: Uint8Array): Promise<void> {
    this.#pin(publicKey);
  }

  #pin(publicKey: Uint8Array): void {
    const text = toHex(publicKey);
    if (this.#key === null) {
      replaceFile(this.#path, pinText(text));
      this.#key = publicKey;
    } else if (toHex(this.#key) !== text) {
      throw new OrchestratorError("ORCHESTRATOR_KEY_CHANGED", {
        details: { pinned: toHex(this.#key), offered: text },
      });
    }
  }
}

/** The key and its checksum, with a space between them. */
function pinText(hex: string): string {
  return `${hex} ${checksumOf(hex)}\n`;
}

/** Null where it is damaged. Earlier versions wrote no checksum. */
function parsePin(text: string): { bytes: Uint8Array; isSealed: boolean } | null {
  const [hex = "", checksum] = text.trim().split(" ");
  const bytes = fromHex(hex);
  if (bytes?.length !== 32 || (checksum !== undefined && checksum !== checksumOf(hex))) return null;
  return { bytes, isSealed: checksum !== undefined };
}
