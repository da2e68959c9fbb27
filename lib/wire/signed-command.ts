/**
 * Commands: every message of the orchestrator is signed by its identity for one agent, so that nothing that stands
 * between, and nobody who copies a message to another agent, can make one.
 *
 * On the wire a command is 64 bytes of signature, then canonical JSON. The signature is over the label, the node_id and
 * exactly those bytes: the agent verifies before it parses. Whether the time is past (`not_after`) is the agent's to check.
 */
import type { Crypto, Signer } from "../crypto/crypto.ts";
import { concatBytes, toUtf8 } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { Json } from "../json.ts";
import type { OrchestratorMessage } from "./messages.ts";
import { labelled, labels } from "./transcript.ts";

/** Bytes of signature before the text of a command. */
export const signatureBytes = 64;

/** Signs a message for one agent. */
export function signCommand(signer: Signer, nodeId: string, message: OrchestratorMessage): Uint8Array {
  // The schemas allow nothing that JSON can't carry.
  const text = toUtf8(canonicalJson(message as Json));
  return concatBytes(signer.sign(commandBytes(nodeId, text)), text);
}

/** Who signs, and for whom. */
export interface CommandPeers {
  /** 32 bytes. */
  orchestratorKey: Uint8Array;
  nodeId: string;
}

/**
 * Verifies a command and returns its text, unread.
 *
 * @throws {OrchestratorError} `SIGNATURE_INVALID` where it is not signed by this orchestrator for this agent.
 */
export function verifyCommand(crypto: Crypto, peers: CommandPeers, signed: Uint8Array): Uint8Array {
  const text = signed.subarray(signatureBytes);
  const signature = signed.subarray(0, signatureBytes);
  if (!crypto.verify(peers.orchestratorKey, commandBytes(peers.nodeId, text), signature)) {
    throw new OrchestratorError("SIGNATURE_INVALID", {
      message: "A command is not signed by the orchestrator.",
    });
  }
  return text;
}

function commandBytes(nodeId: string, text: Uint8Array): Uint8Array {
  return labelled(labels.command, concatBytes(toUtf8(nodeId), new Uint8Array(1), text));
}
