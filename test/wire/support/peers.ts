/** Two sides of a handshake with fixed keys, for the tests of the wire. */
import nacl from "tweetnacl";
import type { Crypto } from "../../../lib/crypto/crypto.ts";
import { concatBytes, nodeIdOf } from "../../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../../lib/crypto/node-crypto.ts";
import { createAgentHandshake, type AgentHandshakeOptions } from "../../../lib/wire/agent-handshake.ts";
import type { AgentStatus } from "../../../lib/wire/handshake-messages.ts";
import {
  createOrchestratorHandshake,
  type OrchestratorHandshakeOptions,
} from "../../../lib/wire/orchestrator-handshake.ts";
import type { AgentSession, OrchestratorSession } from "../../../lib/wire/session.ts";

export const agentSigner = nodeCrypto.createSigner(new Uint8Array(32).fill(1));
export const orchestratorSigner = nodeCrypto.createSigner(new Uint8Array(32).fill(2));
export const boxPublicKey = nacl.box.keyPair.fromSecretKey(new Uint8Array(32).fill(3)).publicKey;
export const nodeId = nodeIdOf(agentSigner.publicKey, nodeCrypto);
export const orchestratorTime = "2030-01-01T00:00:00.000Z";

/** The real cryptography with randomness that repeats: SHA-256 of a seed and a counter. */
export function repeatableCrypto(seed: string): Crypto {
  let count = 0;
  const next = (): Uint8Array =>
    nodeCrypto.sha256(concatBytes(new TextEncoder().encode(seed), Uint8Array.of(count++)));
  return {
    ...nodeCrypto,
    randomBytes: (length) => next().slice(0, length),
    createExchangeKeyPair() {
      const secretKey = next();
      return { secretKey, publicKey: nacl.scalarMult.base(secretKey) };
    },
  };
}

export function agentOptions(changes: Partial<AgentHandshakeOptions> = {}): AgentHandshakeOptions {
  return {
    crypto: repeatableCrypto("agent"),
    signer: agentSigner,
    boxPublicKey,
    description: { agent_version: "1.2.3", hostname: "web-1", platform: "linux" },
    pinnedKey: orchestratorSigner.publicKey,
    tlsExporter: null,
    ...changes,
  };
}

export function orchestratorOptions(
  changes: Partial<OrchestratorHandshakeOptions> = {},
): OrchestratorHandshakeOptions {
  return {
    crypto: repeatableCrypto("orchestrator"),
    signer: orchestratorSigner,
    tlsExporter: null,
    ...changes,
  };
}

/** Both ends of a finished handshake, and the frames that made it. */
export interface Established {
  agent: AgentSession;
  orchestrator: OrchestratorSession;
  frames: { hello: string; welcome: string; prove: Uint8Array; accepted: Uint8Array };
}

/** Runs a whole handshake. */
export function establish(
  sides: {
    agent?: Partial<AgentHandshakeOptions>;
    orchestrator?: Partial<OrchestratorHandshakeOptions>;
    status?: AgentStatus;
  } = {},
): Established {
  const agentSide = createAgentHandshake(agentOptions(sides.agent));
  const orchestratorSide = createOrchestratorHandshake(orchestratorOptions(sides.orchestrator));
  const hello = agentSide.hello();
  const welcome = orchestratorSide.receive(hello);
  if (welcome.kind !== "send") throw new Error("no welcome");
  const prove = agentSide.receive(welcome.frame);
  if (prove.kind !== "send") throw new Error("no proof");
  const proved = orchestratorSide.receive(prove.frame);
  if (proved.kind !== "proved") throw new Error("not proved");
  const { frame, session } = orchestratorSide.accept(sides.status ?? "approved", orchestratorTime);
  const accepted = agentSide.receive(frame);
  if (accepted.kind !== "accepted") throw new Error("not accepted");
  return {
    agent: accepted.session,
    orchestrator: session,
    frames: { hello, welcome: welcome.frame, prove: prove.frame, accepted: frame },
  };
}

/** The code of the error that a call throws, or what it returned. */
export function codeOf(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error instanceof Error && "code" in error ? error.code : error;
  }
}
