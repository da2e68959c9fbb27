/**
 * The agent's side of the handshake, a pure state machine.
 *
 *   start --hello()--> greeted --welcome--> proving --accepted--> done
 *
 * Any other frame, or one that does not prove what it must, ends in `failed` and throws; nothing more is taken then.
 */
import type { Crypto, Signer } from "../crypto/crypto.ts";
import { nodeIdOf, toHex, toUtf8 } from "../crypto/encoding.ts";
import { errorTable, OrchestratorError, type ErrorCode } from "../errors.ts";
import type { Epoch } from "./epoch.ts";
import { frameKind } from "./framing.ts";
import { bytesOf, checkEpochVersion, checkHandshakeFrame, outOfOrder } from "./handshake-frame.ts";
import {
  acceptedOrRefusedSchema,
  welcomeOrRefusedSchema,
  type AgentStatus,
  type Hello,
  type Refused,
  type Welcome,
} from "./handshake-messages.ts";
import { epochVersion, tokenVersion, versionsOf } from "./limits.ts";
import { parseMessage } from "./parse-json.ts";
import { createSealing, type Sealing } from "./sealing.ts";
import { createAgentSession, type AgentSession } from "./session.ts";
import { labelled, labels, openingHash, provingHash } from "./transcript.ts";

/** What an agent says of itself. */
export interface AgentDescription {
  /** 1-64 characters. */
  agent_version: string;
  /** 1-253 characters. */
  hostname: string;
  /** 1-32 characters, as Node names it: "linux". */
  platform: string;
}

/** What the agent's side needs. */
export interface AgentHandshakeOptions {
  crypto: Crypto;
  /** The agent's identity. */
  signer: Signer;
  /** X25519 key to which secrets for this agent are sealed, 32 bytes. */
  boxPublicKey: Uint8Array;
  description: AgentDescription;
  /** The orchestrator's key, 32 bytes; null trusts the first one seen, which the caller stores afterwards. */
  pinnedKey: Uint8Array | null;
  /**
   * The newest epoch that was seen of the orchestrator with this key; null where none was. Absent: the agent speaks version 1, which
   * knows no epochs.
   */
  followedEpoch?: (orchestratorKey: Uint8Array) => Epoch | null;
  /**
   * What stands in for an operator's approval, 1-256 characters; a secret. It is sent sealed, to an orchestrator that proved the pinned
   * key, and never where none is pinned. Absent: the agent has none.
   */
  enrolmentToken?: string;
  /** Exported keying material of the TLS connection, or null where there is none. */
  tlsExporter: Uint8Array | null;
}

/** What to do after a frame. */
export type AgentHandshakeStep =
  | { kind: "send"; frame: Uint8Array }
  | {
      kind: "accepted";
      status: AgentStatus;
      /** RFC 3339; tells how far the agent's clock is off. */
      orchestratorTime: string;
      /** The key that was proved: to be pinned where none was. */
      orchestratorKey: Uint8Array;
      /** Null of an orchestrator that tells none. Whether it is too old is the caller's to decide. */
      epoch: Epoch | null;
      /** Whether the enrolment token was sent: an orchestrator of an earlier version takes none. */
      hasSentToken: boolean;
      session: AgentSession;
    };

/** The agent's side of one handshake. */
export interface AgentHandshake {
  /** The first frame. Called once. */
  hello(): string;
  /**
   * Takes the next frame of the orchestrator.
   *
   * @throws {OrchestratorError} `ORCHESTRATOR_KEY_CHANGED` where another key than the pinned one answers.
   * @throws {OrchestratorError} `SIGNATURE_INVALID` where the orchestrator does not hold the key it names.
   * @throws {OrchestratorError} `KEY_REFUSED` for a weak key.
   * @throws {OrchestratorError} `VERSION_UNSUPPORTED` for a version that was not offered.
   * @throws {OrchestratorError} `PROTOCOL_ERROR` for anything else that is unknown or out of order.
   * @throws {OrchestratorError} the code of a refusal, or `PEER_ERROR` where this version does not know it.
   */
  receive(frame: Uint8Array | string): AgentHandshakeStep;
}

type State =
  | { name: "start" }
  | { name: "greeted"; hello: Hello; ephemeralSecret: Uint8Array }
  | { name: "proving"; orchestratorKey: Uint8Array; sealing: Sealing; version: number }
  | { name: "done" }
  | { name: "failed" };

/** Begins a handshake. */
export function createAgentHandshake(options: AgentHandshakeOptions): AgentHandshake {
  let state: State = { name: "start" };
  return {
    hello() {
      if (state.name !== "start") throw outOfOrder();
      const opened = createHello(options);
      state = { name: "greeted", ...opened };
      return JSON.stringify(opened.hello);
    },
    receive(frame) {
      const before = state;
      state = { name: "failed" };
      if (before.name === "greeted") {
        const welcome = readWelcome(options, before.hello, frame);
        const { prove, ...rest } = answerWelcome(options, before, welcome);
        state = { name: "proving", ...rest };
        return { kind: "send", frame: prove };
      }
      if (before.name === "proving") {
        const step = readAccepted(options, before, frame);
        state = { name: "done" };
        return step;
      }
      throw outOfOrder();
    },
  };
}

function createHello(options: AgentHandshakeOptions): { hello: Hello; ephemeralSecret: Uint8Array } {
  const { crypto, signer, boxPublicKey, description, tlsExporter, followedEpoch } = options;
  const ephemeral = crypto.createExchangeKeyPair();
  const hello: Hello = {
    type: "hello",
    versions: [...versionsOf({ epochs: followedEpoch !== undefined, tokens: tokenOf(options) !== null })],
    node_public_key: toHex(signer.publicKey),
    box_public_key: toHex(boxPublicKey),
    ephemeral_key: toHex(ephemeral.publicKey),
    agent_version: description.agent_version,
    nonce: toHex(crypto.randomBytes(32)),
    channel_binding: tlsExporter !== null,
  };
  return { hello, ephemeralSecret: ephemeral.secretKey };
}

function readWelcome(options: AgentHandshakeOptions, hello: Hello, frame: Uint8Array | string): Welcome {
  const welcome = parseMessage(welcomeOrRefusedSchema, checkHandshakeFrame(frame, "text"));
  if (welcome.type === "refused") throw refusalOf(welcome);
  if (!hello.versions.includes(welcome.version)) throw new OrchestratorError("VERSION_UNSUPPORTED");
  if (welcome.channel_binding && options.tlsExporter === null) {
    throw new OrchestratorError("PROTOCOL_ERROR", {
      message: "The orchestrator sees TLS where there is none.",
    });
  }
  if (options.pinnedKey && toHex(options.pinnedKey) !== welcome.public_key) {
    throw new OrchestratorError("ORCHESTRATOR_KEY_CHANGED", {
      details: { pinned: toHex(options.pinnedKey), seen: welcome.public_key },
    });
  }
  return welcome;
}

function answerWelcome(
  options: AgentHandshakeOptions,
  opened: { hello: Hello; ephemeralSecret: Uint8Array },
  welcome: Welcome,
): { orchestratorKey: Uint8Array; sealing: Sealing; version: number; prove: Uint8Array } {
  const { crypto, signer, description, tlsExporter, followedEpoch } = options;
  const orchestratorKey = bytesOf(welcome.public_key);
  if (!crypto.isAcceptablePublicKey(orchestratorKey)) throw new OrchestratorError("KEY_REFUSED");
  const { signature, ...unsigned } = welcome;
  const opening = openingHash(crypto, { hello: opened.hello, welcome: unsigned, tlsExporter });
  if (!crypto.verify(orchestratorKey, labelled(labels.orchestrator, opening), bytesOf(signature))) {
    throw new OrchestratorError("SIGNATURE_INVALID", { message: "The orchestrator did not prove its key." });
  }
  const sharedSecret = crypto.exchange(opened.ephemeralSecret, bytesOf(welcome.ephemeral_key));
  if (!sharedSecret) throw new OrchestratorError("KEY_REFUSED", { message: "The ephemeral key is weak." });
  const sealing = createSealing(crypto, { side: "agent", sharedSecret, opening });
  const epoch = welcome.version < epochVersion ? null : (followedEpoch?.(orchestratorKey) ?? null);
  const { hostname, platform } = description;
  const enrolment_token = welcome.version < tokenVersion ? null : tokenOf(options);
  const unproved = {
    type: "prove",
    hostname,
    platform,
    ...(epoch && { epoch }),
    ...(enrolment_token !== null && { enrolment_token }),
  } as const;
  const proving = provingHash(crypto, { opening, welcome, prove: unproved });
  const prove = { ...unproved, signature: toHex(signer.sign(labelled(labels.agent, proving))) };
  return {
    orchestratorKey,
    sealing,
    version: welcome.version,
    prove: sealing.seal(frameKind.handshake, toUtf8(JSON.stringify(prove))),
  };
}

/** The token, for the one orchestrator whose key is pinned: whoever else answers first must not get it. */
function tokenOf({ pinnedKey, enrolmentToken }: AgentHandshakeOptions): string | null {
  return pinnedKey === null ? null : (enrolmentToken ?? null);
}

function readAccepted(
  options: AgentHandshakeOptions,
  { sealing, orchestratorKey, version }: { sealing: Sealing; orchestratorKey: Uint8Array; version: number },
  frame: Uint8Array | string,
): AgentHandshakeStep {
  const { crypto, signer } = options;
  const { kind, payload } = sealing.open(checkHandshakeFrame(frame, "binary"));
  if (kind !== frameKind.handshake) throw outOfOrder();
  const accepted = parseMessage(acceptedOrRefusedSchema, payload);
  if (accepted.type === "refused") throw refusalOf(accepted);
  checkEpochVersion(accepted, version);
  const nodeId = nodeIdOf(signer.publicKey, crypto);
  return {
    kind: "accepted",
    status: accepted.status,
    orchestratorTime: accepted.orchestrator_time,
    orchestratorKey,
    epoch: accepted.epoch ?? null,
    hasSentToken: version >= tokenVersion && tokenOf(options) !== null,
    session: createAgentSession(sealing, { crypto, orchestratorKey, nodeId }),
  };
}

function refusalOf({ code, message }: Refused): OrchestratorError {
  const known = Object.hasOwn(errorTable, code);
  return new OrchestratorError(known ? (code as ErrorCode) : "PEER_ERROR", {
    message: `The orchestrator refused: ${message}`,
    details: known ? {} : { code },
  });
}
