/** Recomputes the chain of the audit log, from the anchor to the head that the storage has. */
import type { z } from "zod";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { zeroHash } from "../storage/hash-chain.ts";
import type { StoredDocument } from "../storage/storage.ts";
import { isOurs, placeOf, readAnchor, type Anchor } from "./anchor.ts";
import { checkPage, type Place } from "./chain.ts";
import type { AuditVerification, verifyAuditInput } from "./schemas.ts";

/** Events of one page. */
const limit = 1000;

/** A head that was kept elsewhere. */
export type KnownHead = Place;

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

/**
 * Reads every event, and begins again where old ones were removed meanwhile.
 *
 * @param checked - Up to where the log was found to fit before.
 */
export async function verifyLog(
  context: Context,
  known: KnownHead | null,
  checked: Place,
): Promise<AuditVerification> {
  for (;;) {
    const anchor = await readAnchor(context);
    const verification = await verifyFrom(context, { anchor, checked }, known);
    if (verification.valid) return verification;
    const now = await readAnchor(context);
    if (now?.revision === anchor?.revision) return verification;
  }
}

async function verifyFrom(
  context: Context,
  { anchor, checked }: { anchor: StoredDocument<Anchor> | null; checked: Place },
  known: KnownHead | null,
): Promise<AuditVerification> {
  if (anchor && !isOurs(context, anchor.value))
    return { valid: false, from_sequence: 1, to_sequence: 0, first_bad_sequence: 1, head_hash: zeroHash };
  // What the anchor vouches for may still be there: the process may have ended between anchor and removal.
  const base = placeOf(anchor);
  const look = compareWith(known, base);
  for (let after = base; ;) {
    const { place, bad, isEnd } = await checkPage(context, after, { limit, known: checked, each: look.at });
    const range = { from_sequence: base.sequence + 1, to_sequence: place.sequence, head_hash: place.hash };
    if (bad !== null) return { valid: false, ...range, first_bad_sequence: bad };
    if (isEnd) return { valid: true, ...range, ...(known && { known_head: look.found }) };
    after = place;
  }
}

type Found = NonNullable<AuditVerification["known_head"]>;

/** Looks for a head that was kept elsewhere among places of the log, from the one before the oldest on. */
function compareWith(known: KnownHead | null, base: Place) {
  let found: Found = known !== null && known.sequence < base.sequence ? "pruned" : "missing";
  const at = ({ sequence, hash }: Place): void => {
    if (sequence === known?.sequence) found = hash === known.hash ? "present" : "different";
  };
  at(base);
  return {
    at,
    get found() {
      return found;
    },
  };
}
