/** Recomputes the chain of the audit log, from the anchor to the head that the storage has. */
import type { z } from "zod";
import { auditLog, type Context } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { JsonObject } from "../json.ts";
import { zeroHash } from "../storage/hash-chain.ts";
import type { LogEntry, LogPage, StoredDocument } from "../storage/storage.ts";
import { isOurs, readAnchor, type Anchor } from "./anchor.ts";
import type { AuditVerification, verifyAuditInput } from "./schemas.ts";

/** A head that was kept elsewhere. */
interface KnownHead {
  sequence: number;
  hash: string;
}

/** @throws {OrchestratorError} `VALIDATION_FAILED` where one of the fields is missing. */
export function toKnownHead({
  known_sequence: sequence,
  known_hash: hash,
}: z.output<typeof verifyAuditInput>): KnownHead | null {
  if (sequence !== undefined && hash !== undefined) return { sequence, hash };
  if (sequence === undefined && hash === undefined) return null;
  const path = [sequence === undefined ? "known_sequence" : "known_hash"];
  throw new OrchestratorError("VALIDATION_FAILED", {
    issues: [{ path, message: "must be given with the other field of the head" }],
  });
}

/** Reads every event, and begins again where old ones were removed meanwhile. */
export async function verifyLog(context: Context, known: KnownHead | null): Promise<AuditVerification> {
  for (;;) {
    const anchor = await readAnchor(context);
    const verification = await verifyFrom(context, anchor, known);
    if (verification.valid) return verification;
    const now = await readAnchor(context);
    if (now?.revision === anchor?.revision) return verification;
  }
}

async function verifyFrom(
  context: Context,
  anchor: StoredDocument<Anchor> | null,
  known: KnownHead | null,
): Promise<AuditVerification> {
  if (anchor && !isOurs(context, anchor.value))
    return { valid: false, from_sequence: 1, to_sequence: 0, first_bad_sequence: 1, head_hash: zeroHash };
  let previous = anchor?.value.hash ?? zeroHash;
  let expected = (anchor?.value.sequence ?? 0) + 1;
  const first = expected;
  const look = compareWith(known, { sequence: first - 1, hash: previous });
  const range = () => ({ from_sequence: first, to_sequence: expected - 1, head_hash: previous });
  const bad = (sequence: number) => ({ valid: false, ...range(), first_bad_sequence: sequence });
  // What the anchor vouches for may still be there: the process may have ended between anchor and removal.
  for (let from: number | null = first; from !== null;) {
    const page = await readPage(context, from);
    if ("badSequence" in page) return bad(page.badSequence);
    for (const entry of page.entries) {
      const fits = entry.sequence === expected && entry.hash === hashOf(context, previous, entry);
      if (!fits) return bad(Math.min(expected, entry.sequence));
      previous = entry.hash!;
      expected += 1;
      look.at(entry.sequence, previous);
    }
    from = page.next;
    if (from === null && page.head.sequence >= expected) return bad(expected);
    // What the storage has as the newest entry was written with the documents: a whole chain of other entries is none.
    if (from === null && page.head.sequence === expected - 1 && page.head.hash !== previous)
      return bad(expected - 1);
  }
  return { valid: true, ...range(), ...(known && { known_head: look.found }) };
}

type Found = NonNullable<AuditVerification["known_head"]>;

/** Looks for a head that was kept elsewhere among places of the log, from the one before the oldest on. */
function compareWith(known: KnownHead | null, base: { sequence: number; hash: string }) {
  let found: Found = known !== null && known.sequence < base.sequence ? "pruned" : "missing";
  const at = (sequence: number, hash: string): void => {
    if (sequence === known?.sequence) found = hash === known.hash ? "present" : "different";
  };
  at(base.sequence, base.hash);
  return {
    at,
    get found() {
      return found;
    },
  };
}

/** Events as they are stored, or the first of them that can't be read any more: that is what verifying is there to find. */
async function readPage({ storage }: Context, from: number): Promise<LogPage | { badSequence: number }> {
  try {
    return await storage.readLog(auditLog, { from, limit: 1000 });
  } catch (error) {
    if (!isOrchestratorError(error, "STORAGE_CORRUPT")) throw error;
    return { badSequence: Number(error.details["sequence"] ?? from) };
  }
}

function hashOf({ crypto }: Context, previous: string, { sequence, at, value }: LogEntry): string {
  const body = canonicalJson({ sequence, at, value: value as JsonObject });
  return toHex(crypto.sha256(toUtf8(previous + body)));
}
