/** The last event that was removed from the audit log: what the chain of the rest hangs on. It only ever moves forward. */
import type { Context } from "../context.ts";
import { fromHex, toHex, toUtf8 } from "../crypto/encoding.ts";
import { zeroHash } from "../storage/hash-chain.ts";
import type { LogPlace, StoredDocument, Write } from "../storage/storage.ts";
import type { Place } from "./chain.ts";

/** Where the log begins, signed by the orchestrator: nobody else can move it. */
export interface Anchor {
  /** Of the last event that was removed. */
  sequence: number;
  /** Its hash, hex. */
  hash: string;
  /** Of the orchestrator, over both; hex. */
  signature: string;
}

const place = { collection: "settings", key: "audit_anchor" } as const;

/** Reads the anchor; null where nothing was removed yet. */
export function readAnchor({ storage }: Context): Promise<StoredDocument<Anchor> | null> {
  return storage.get<Anchor>(place.collection, place.key);
}

/** Where the log begins by an anchor: behind which place. */
export function placeOf(anchor: StoredDocument<Anchor> | null): Place {
  if (anchor === null) return { sequence: 0, hash: zeroHash };
  const { sequence, hash } = anchor.value;
  return { sequence, hash };
}

/** Makes the anchor of an event. */
export function signAnchor({ identity }: Context, { sequence, hash }: LogPlace): Anchor {
  const signed = { sequence, hash: hash ?? "" };
  return { ...signed, signature: toHex(identity.sign(textOf(signed))) };
}

/** Whether the orchestrator itself made an anchor. */
export function isOurs({ crypto, identity }: Context, anchor: Readonly<Anchor>): boolean {
  const signature = fromHex(anchor.signature) ?? new Uint8Array(0);
  return crypto.verify(identity.publicKey, textOf(anchor), signature);
}

/** The write of an anchor in the place of the one that was read; it conflicts where another was put there meanwhile. */
export function toAnchorPut(anchor: Anchor, before: StoredDocument<Anchor> | null): Write {
  return { kind: "put", ...place, value: { ...anchor }, expected: before?.revision ?? 0 };
}

function textOf({ sequence, hash }: Readonly<Pick<Anchor, "sequence" | "hash">>): Uint8Array {
  return toUtf8(`fleetwright/1 audit anchor\n${sequence}\n${hash}`);
}
