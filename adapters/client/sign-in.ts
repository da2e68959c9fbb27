/**
 * Signs in by challenge, and signs for nobody but the server that was called.
 *
 * What is signed is built here, of parts that were checked, and never taken as it came: a server could send a text that is good
 * elsewhere. A server that passes on the text of another one fails at the origin, which is the one that this client called; one
 * that has another key than the pinned one fails at the key, which it must prove before anything is signed.
 */
import type { ErrorCode, Session } from "fleetwright";
import { ApiError } from "./api-error.ts";
import { fromHex, toHex, toHexKey } from "./hex.ts";
import type { Send } from "./http.ts";
import type { OperatorSigner } from "./signer.ts";
import { verifySignature } from "./verify.ts";

/** Whom to sign in to. */
export interface SignInTarget {
  send: Send;
  /** Origin that is called, as `URL.origin` writes it. */
  audience: string;
  /** The orchestrator's key, hex; null takes the one that is proved. */
  pinnedKey: string | null;
  /** Hears of the key that was proved where none is pinned, before anything is signed. What it throws ends the sign-in. */
  onKey(key: string): void | Promise<void>;
}

/** A session, and whose it is. */
export interface OpenedSession {
  session: Session;
  /** Of the orchestrator, hex: to be pinned. */
  orchestratorKey: string;
}

/**
 * Opens a session.
 *
 * @throws {ApiError} What the server refuses with; `ORCHESTRATOR_KEY_CHANGED` for another key than the pinned one, `PROTOCOL_ERROR` for a
 * text that is not meant for this server and this key, `SIGNATURE_INVALID` where the server does not prove its key.
 */
export async function openSession(target: SignInTarget, signer: OperatorSigner): Promise<OpenedSession> {
  const { send, audience, pinnedKey } = target;
  const post = (path: string, body: object): Promise<unknown> =>
    send({ method: "POST", path, body, token: null });
  const clientNonce = toHex(crypto.getRandomValues(new Uint8Array(32)));
  const asked = { public_key: signer.publicKey, audience, client_nonce: clientNonce };
  const challenge = readChallenge(await post("/auth/challenge", asked));
  const orchestratorKey = challenge.orchestrator_key;
  if (pinnedKey !== null && orchestratorKey !== pinnedKey)
    throw keyChanged(audience, pinnedKey, orchestratorKey);
  const operatorKey = toHexKey(signer.publicKey) ?? signer.publicKey;
  const message = textToSign(challenge, { audience, operatorKey, clientNonce });
  if (challenge.message !== message) throw otherText(audience);
  const proof = {
    publicKey: fromHex(orchestratorKey),
    message: proofLabel + message,
    signature: fromHex(challenge.proof),
  };
  if (!(await (signer.verify ?? verifySignature)(proof))) throw unproved(audience);
  if (pinnedKey === null) await target.onKey(orchestratorKey);
  const signature = toHex(await signer.sign(message));
  const { challenge_id } = challenge;
  const session = (await post("/auth/verify", { challenge_id, signature })) as Session;
  return { session, orchestratorKey };
}

/** The fields of a challenge, each of a form that fits into one line of the text. */
const patterns = {
  challenge_id: /^[^]{1,1000}$/,
  message: /^[^]{1,2000}$/,
  service: /^[^\p{C}\p{Zl}\p{Zp}]{1,200}$/u,
  orchestrator_key: /^[0-9a-f]{64}$/,
  nonce: /^[0-9a-f]{64}$/,
  expires_at: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
  proof: /^[0-9a-f]{128}$/,
} as const;

type Parts = Record<keyof typeof patterns, string>;

function readChallenge(answer: unknown): Parts {
  const fields = (answer ?? {}) as Record<string, unknown>;
  for (const [name, pattern] of Object.entries(patterns)) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (typeof value !== "string" || !pattern.test(value)) throw noChallenge(name);
  }
  return fields as Parts;
}

/** What this client knows by itself. */
interface OwnParts {
  audience: string;
  /** Hex. */
  operatorKey: string;
  clientNonce: string;
}

function textToSign(challenge: Parts, { audience, operatorKey, clientNonce }: OwnParts): string {
  return [
    "fleetwright/1 operator sign-in",
    `service: ${challenge.service}`,
    `audience: ${audience}`,
    `orchestrator: ${challenge.orchestrator_key}`,
    `operator: ${operatorKey}`,
    `client nonce: ${clientNonce}`,
    `nonce: ${challenge.nonce}`,
    `expires: ${challenge.expires_at}`,
  ].join("\n");
}

const proofLabel = "fleetwright/1 sign-in challenge\0";

function keyChanged(audience: string, pinned: string, seen: string): ApiError {
  return refusal("ORCHESTRATOR_KEY_CHANGED", {
    detail: `The orchestrator at ${audience} says that its key is ${seen}. Pinned is ${pinned}: nothing was signed.`,
    details: { pinned, seen },
  });
}

function otherText(audience: string): ApiError {
  return refusal("PROTOCOL_ERROR", {
    detail: `${audience} sent a text to sign that is not for it and this key, maybe that of another server: nothing was signed.`,
  });
}

function unproved(audience: string): ApiError {
  return refusal("SIGNATURE_INVALID", {
    detail: `${audience} does not prove the orchestrator's key that it names: nothing was signed.`,
  });
}

function noChallenge(field: string): ApiError {
  return refusal("PROTOCOL_ERROR", {
    detail: `The server's challenge has no usable ${field}; a server of an older version has none. Nothing was signed.`,
  });
}

/** 502, as the service itself has it for a peer that it does not trust. */
function refusal(code: ErrorCode, said: { detail: string; details?: Record<string, unknown> }): ApiError {
  const title = "The server is not trusted.";
  return new ApiError({ type: "about:blank", title, status: 502, code, ...said });
}
