/** The newest event of the audit log, signed: kept elsewhere, it shows that what stands there later is still the same log. */
import { toTimestamp } from "../clock.ts";
import { auditLog, type Context } from "../context.ts";
import { fromHex, toHex, toUtf8 } from "../crypto/encoding.ts";
import { nodeCrypto } from "../crypto/node-crypto.ts";
import { parsePublicKey } from "../crypto/parse-public-key.ts";
import { OrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import { zeroHash } from "../storage/hash-chain.ts";
import { auditHeadSchema, type AuditHead } from "./schemas.ts";

type Signed = Pick<AuditHead, "sequence" | "hash" | "recorded_at">;

/** Signs where the log ends now. */
export async function signHead({ storage, identity }: Context): Promise<AuditHead> {
  const { entries, head } = await storage.readLog(auditLog, { reverse: true, limit: 1 });
  const [newest] = entries;
  const signed = {
    sequence: newest?.sequence ?? head.sequence,
    hash: newest?.hash ?? head.hash ?? zeroHash,
    recorded_at: newest ? toTimestamp(newest.at) : null,
  };
  return { ...signed, signature: toHex(identity.sign(textOf(signed))) };
}

/**
 * Reads a head of an audit log that was kept elsewhere, as JSON, and checks that the orchestrator signed it.
 *
 * @param orchestratorKey - The orchestrator's public key, 64 hex digits or base64. Known from elsewhere: whoever makes up a log and a
 * head of it names a key of their own.
 * @throws {OrchestratorError} `VALIDATION_FAILED` where the text is no head; `SIGNATURE_INVALID` where another key signed it, or it was
 *   changed; `KEY_REFUSED`.
 */
export function readAuditHead(text: string, orchestratorKey: string): AuditHead {
  const key = fromHex(parsePublicKey(orchestratorKey, nodeCrypto).hex) as Uint8Array;
  const head = parseInput(auditHeadSchema, parseJson(text));
  const signature = fromHex(head.signature) as Uint8Array;
  if (nodeCrypto.verify(key, textOf(head), signature)) return head;
  throw new OrchestratorError("SIGNATURE_INVALID", {
    message: "The head of the audit log was not signed by this orchestrator key, or was changed.",
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new OrchestratorError("VALIDATION_FAILED", { issues: [{ path: [], message: "is not JSON" }] });
  }
}

function textOf({ sequence, hash, recorded_at }: Readonly<Signed>): Uint8Array {
  return toUtf8(`fleetwright/1 audit head\n${sequence}\n${hash}\n${recorded_at ?? ""}`);
}
