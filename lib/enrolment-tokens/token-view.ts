/** A token as people and events see it: never the token, nor its hash. */
import type { EventSubject } from "../events.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { EnrolmentTokenDocument } from "./documents.ts";
import type { EnrolmentToken } from "./schemas.ts";

type Stored = Pick<StoredDocument<EnrolmentTokenDocument>, "value" | "revision">;

/** Whether a token approves another machine at a fleet time, and else why not. */
export function statusOf(token: Readonly<EnrolmentTokenDocument>, nowMs: number): EnrolmentToken["status"] {
  if (token.revoked_at !== undefined) return "revoked";
  if (token.used >= token.uses) return "used_up";
  return token.ends_ms <= nowMs ? "expired" : "active";
}

/** The token as the API shows it at a fleet time. */
export function toEnrolmentToken({ value, revision }: Stored, nowMs: number): EnrolmentToken {
  const { hash: _hash, ends_ms: _ends, ...shown } = value;
  return { ...shown, tags: { ...value.tags }, status: statusOf(value, nowMs), version: revision };
}

/** The token as events name it. */
export function tokenSubject({ id, name }: Readonly<EnrolmentTokenDocument>): EventSubject {
  return { type: "enrolmentToken", id, name: name ?? id };
}
