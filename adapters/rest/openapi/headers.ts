/** The headers that the OpenAPI description tells of: those that a request may carry and those that an answer has. */
import type { AnyProcedure } from "@trpc/server";
import type { ProcedureMeta, RestMeta, SuccessStatus } from "../../trpc/trpc.ts";
import { inputFields } from "../parameters.ts";

const text = { type: "string" } as const;

const lastEventId = {
  in: "header",
  name: "Last-Event-ID",
  description: "Id of the last item that was read; what came after it is told.",
  schema: text,
} as const;

const idempotencyKey = {
  in: "header",
  name: "Idempotency-Key",
  description:
    "Any text of one's own, e.g. a UUID. The same request with the same key is carried out once: later ones get the first answer, for 24 hours.",
  schema: { ...text, minLength: 1, maxLength: 255 },
} as const;

const ifMatch = {
  in: "header",
  name: "If-Match",
  description: "The `ETag` that was read: the change is made only if nobody made another since.",
  schema: text,
} as const;

const ifNoneMatch = {
  in: "header",
  name: "If-None-Match",
  description: "The `ETag` that is known: 304 without a body where it is still that.",
  schema: text,
} as const;

const prefer = {
  in: "header",
  name: "Prefer",
  description:
    "`wait=n` or `respond-async` (RFC 7240): how many seconds the answer may be held back, where the body has no `wait_seconds`.",
  schema: text,
} as const;

const etag = {
  ETag: { description: "Version of what is shown, for `If-Match` and `If-None-Match`.", schema: text },
};

const location = {
  Location: {
    description: "Path of what was made or started.",
    schema: { ...text, format: "uri-reference" },
  },
} as const;

/** What a 304 has. */
export const notModified = { headers: etag } as const;

/** The headers that a request of this procedure may carry beside those of every request. */
export function requestHeaders(procedure: AnyProcedure): object[] {
  const { openapi, rest } = procedure._def.meta as Required<ProcedureMeta>;
  const [schema] = (procedure._def as unknown as { inputs: readonly unknown[] }).inputs;
  const canWait = schema !== undefined && inputFields(schema).has("wait_seconds");
  const isChange = openapi.method !== "GET" && openapi.protect !== false;
  return [
    ...(isChange ? [idempotencyKey] : []),
    ...(rest?.conditional === true ? [ifMatch] : []),
    ...(rest?.versioned === true ? [ifNoneMatch] : []),
    ...(canWait ? [prefer] : []),
    ...(rest?.streams === undefined ? [] : [lastEventId]),
  ];
}

/** The headers of a success that are the procedure's own; null where it has none. */
export function answerHeaders(rest: RestMeta, status: SuccessStatus): object | null {
  if (rest.location !== undefined && status !== 200) return location;
  return rest.versioned === true ? etag : null;
}
