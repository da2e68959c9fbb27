/**
 * The orchestrator's side of the handshake, a pure state machine.
 *
 *   waiting --hello--> welcomed --prove--> proved --accept()--> done
 *
 * Between `proved` and `accept` the caller decides about the agent. Any other frame, or one that does not prove what it
 * must, ends in `failed` and throws; `refuse` still makes the frame that tells the agent why.
 */
import type { Crypto, Signer } from "../crypto/crypto.ts";
import { nodeIdOf, toHex, toUtf8 } from "../crypto/encoding.ts";
import { isLowOrderExchangeKey } from "../crypto/exchange-key.ts";
import { OrchestratorError, type ErrorCode } from "../errors.ts";
import type { Epoch } from "./epoch.ts";
import { frameKind } from "./framing.ts";
import {
  bytesOf,
  checkEpochVersion,
  checkHandshakeFrame,
  checkTokenVersion,
  outOfOrder,
} from "./handshake-frame.ts";
import {
  helloSchema,
  proveSchema,
  type Accepted,
  type AgentStatus,
  type Hello,
  type Refused,
  type Welcome,
} from "./handshake-messages.ts";
import { epochVersion, versionsOf } from "./limits.ts";
import { parseMessage } from "./parse-json.ts";
import { createSealing, type Sealing } from "./sealing.ts";
import { createOrchestratorSession, type OrchestratorSession } from "./session.ts";
import { labelled, labels, openingHash, provingHash } from "./transcript.ts";

/** What the orchestrator's side needs. */
export interface OrchestratorHandshakeOptions {
  crypto: Crypto;
  /** The orchestrator's identity. */
  signer: Signer;
  /** Exported keying material of the TLS connection, or null where there is none. */
  tlsExporter: Uint8Array | null;
  /** Which life of its data the orchestrator leads. Absent: it speaks version 1, which knows no epochs. */
  epoch?: Epoch | undefined;
  /** Whether a key, lower-case hex, was found good before: what can be told from the key alone is not looked at again. Default: none was. */
  isKnownKey?: ((publicKey: string) => boolean) | undefined;
}

/** What an agent proved and said of itself. */
export interface ProvedAgent {
  /** Derived from the proved key, never claimed. */
  node_id: string;
  /** Ed25519, 32 bytes, lower-case hex. */
  public_key: string;
  /** X25519, 32 bytes, lower-case hex: secrets for this agent are sealed to it. */
  box_public_key: string;
  agent_version: string;
  hostname: string;
  platform: string;
  /** The newest epoch of this orchestrator that it has seen; absent where it told none. */
  epoch?: Epoch;
  /** What it brings in place of an operator's approval, valid in form alone; a secret, for no log. Absent where it brought none. */
  enrolment_token?: string;
}

/** What to do after a frame. */
export type OrchestratorHandshakeStep =
  { kind: "send"; frame: string } | { kind: "proved"; agent: ProvedAgent };

/** The orchestrator's side of one handshake. */
export interface OrchestratorHandshake {
  /**
   * Takes the next frame of the agent.
   *
   * @throws {OrchestratorError} `SIGNATURE_INVALID` where the agent does not hold the key it names.
   * @throws {OrchestratorError} `KEY_REFUSED` for a weak key.
   * @throws {OrchestratorError} `VERSION_UNSUPPORTED` where no version is common.
   * @throws {OrchestratorError} `PROTOCOL_ERROR` for anything else that is unknown or out of order.
   */
  receive(frame: Uint8Array | string): OrchestratorHandshakeStep;
  /**
   * Tells a proved agent how it stands.
   *
   * @param orchestratorTime - RFC 3339 in UTC.
   * @throws {OrchestratorError} `PROTOCOL_ERROR` unless an agent is proved.
   */
  accept(status: AgentStatus, orchestratorTime: string): { frame: Uint8Array; session: OrchestratorSession };
  /** Makes the frame that says why the connection ends; sealed as soon as there are keys. */
  refuse(code: ErrorCode, message: string): Uint8Array | string;
}

type State =
  | { name: "waiting" }
  | { name: "welcomed"; hello: Hello; welcome: Welcome; opening: Uint8Array }
  | { name: "proved"; nodeId: string; version: number }
  | { name: "done" }
  | { name: "failed" };

/** Begins a handshake. */
export function createOrchestratorHandshake(options: OrchestratorHandshakeOptions): OrchestratorHandshake {
  const { signer } = options;
  let state: State = { name: "waiting" };
  let sealing: Sealing | null = null;
  const sealText = (keys: Sealing, message: Accepted | Refused): Uint8Array =>
    keys.seal(frameKind.handshake, toUtf8(JSON.stringify(message)));
  return {
    receive(frame) {
      const before = state;
      state = { name: "failed" };
      if (before.name === "waiting") {
        const hello = readHello(options, frame);
        const { sealing: keys, ...welcomed } = answerHello(options, hello);
        sealing = keys;
        state = { name: "welcomed", hello, ...welcomed };
        return { kind: "send", frame: JSON.stringify(welcomed.welcome) };
      }
      if (before.name === "welcomed" && sealing) {
        const agent = readProve(options, { ...before, sealing }, frame);
        state = { name: "proved", nodeId: agent.node_id, version: before.welcome.version };
        return { kind: "proved", agent };
      }
      throw outOfOrder();
    },
    accept(status, orchestratorTime) {
      if (state.name !== "proved" || !sealing) throw outOfOrder();
      const { nodeId, version } = state;
      state = { name: "done" };
      const told = options.epoch && version >= epochVersion ? { epoch: options.epoch } : {};
      const accepted: Accepted = { type: "accepted", status, orchestrator_time: orchestratorTime, ...told };
      const frame = sealText(sealing, accepted);
      return { frame, session: createOrchestratorSession(sealing, { signer, nodeId }) };
    },
    refuse(code, message) {
      state = { name: "failed" };
      const refused: Refused = { type: "refused", code, message: message.slice(0, 500) };
      return sealing ? sealText(sealing, refused) : JSON.stringify(refused);
    },
  };
}

function readHello(options: OrchestratorHandshakeOptions, frame: Uint8Array | string): Hello {
  const { crypto, epoch, isKnownKey: isKnown = () => false } = options;
  const versions = spokenWith(epoch);
  const hello = parseMessage(helloSchema, checkHandshakeFrame(frame, "text"));
  if (!versions.some((version) => hello.versions.includes(version))) {
    throw new OrchestratorError("VERSION_UNSUPPORTED", {
      details: { offered: hello.versions, supported: [...versions] },
    });
  }
  if (!isKnown(hello.node_public_key) && !crypto.isAcceptablePublicKey(bytesOf(hello.node_public_key))) {
    throw new OrchestratorError("KEY_REFUSED", { message: "The agent's public key is weak." });
  }
  return hello;
}

function answerHello(
  options: OrchestratorHandshakeOptions,
  hello: Hello,
): { welcome: Welcome; opening: Uint8Array; sealing: Sealing } {
  const { crypto, signer, tlsExporter, epoch } = options;
  const ephemeral = crypto.createExchangeKeyPair();
  const sharedSecret = crypto.exchange(ephemeral.secretKey, bytesOf(hello.ephemeral_key));
  // A box key of low order would let anybody open the secrets that are sealed to it.
  const boxIsWeak = isLowOrderExchangeKey(bytesOf(hello.box_public_key));
  if (!sharedSecret || boxIsWeak) {
    throw new OrchestratorError("KEY_REFUSED", { message: "An exchange key of the agent is weak." });
  }
  const unsigned = {
    type: "welcome",
    version: spokenWith(epoch).find((version) => hello.versions.includes(version)) ?? 0,
    public_key: toHex(signer.publicKey),
    ephemeral_key: toHex(ephemeral.publicKey),
    nonce: toHex(crypto.randomBytes(32)),
    channel_binding: hello.channel_binding && tlsExporter !== null,
  } as const;
  const opening = openingHash(crypto, { hello, welcome: unsigned, tlsExporter });
  const signature = toHex(signer.sign(labelled(labels.orchestrator, opening)));
  return {
    welcome: { ...unsigned, signature },
    opening,
    sealing: createSealing(crypto, { side: "orchestrator", sharedSecret, opening }),
  };
}

function readProve(
  { crypto, isKnownKey: isKnown = () => false }: OrchestratorHandshakeOptions,
  opened: { hello: Hello; welcome: Welcome; opening: Uint8Array; sealing: Sealing },
  frame: Uint8Array | string,
): ProvedAgent {
  const { hello, welcome, opening, sealing } = opened;
  const { kind, payload } = sealing.open(checkHandshakeFrame(frame, "binary"));
  if (kind !== frameKind.handshake) throw outOfOrder();
  const { signature, ...prove } = parseMessage(proveSchema, payload);
  checkEpochVersion(prove, welcome.version);
  checkTokenVersion(prove, welcome.version);
  const publicKey = bytesOf(hello.node_public_key);
  const proving = provingHash(crypto, { opening, welcome, prove });
  const isKnownKey = isKnown(hello.node_public_key);
  if (!crypto.verify(publicKey, labelled(labels.agent, proving), bytesOf(signature), { isKnownKey })) {
    throw new OrchestratorError("SIGNATURE_INVALID", { message: "The agent did not prove its key." });
  }
  return {
    node_id: nodeIdOf(publicKey, crypto),
    public_key: hello.node_public_key,
    box_public_key: hello.box_public_key,
    agent_version: hello.agent_version,
    hostname: prove.hostname,
    platform: prove.platform,
    ...(prove.epoch && { epoch: prove.epoch }),
    ...(prove.enrolment_token !== undefined && { enrolment_token: prove.enrolment_token }),
  };
}

/** The versions that an orchestrator speaks that is of this epoch. */
function spokenWith(epoch: Epoch | undefined): readonly number[] {
  return versionsOf({ epochs: epoch !== undefined, tokens: true });
}
