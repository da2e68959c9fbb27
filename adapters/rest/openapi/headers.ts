/** The headers that the OpenAPI description tells of: those that a request may carry and those that an answer has. */
import type { AnyProcedure } from "@trpc/server";
import type { ProcedureMeta, SuccessStatus } from "../../trpc/trpc.ts";
import { waitsOf } from "../routes.ts";

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

const preferenceApplied = {
  "Preference-Applied": {
    description: "What was done of `Prefer`: for how long the answer was held back at most.",
    schema: text,
  },
} as const;

const unbuffered = {
  "X-Accel-Buffering": {
    description: "Has proxies pass each item on at once.",
    schema: { ...text, const: "no" },
  },
} as const;

/** The headers of every answer, as components. */
export const sharedHeaders = {
  "Cache-Control": { description: "Answers are not to be kept.", schema: { ...text, const: "no-store" } },
  "Strict-Transport-Security": {
    description: "Over TLS: has browsers come back over TLS only.",
    schema: text,
  },
  "X-Content-Type-Options": {
    description: "Has browsers believe the media type.",
    schema: { ...text, const: "nosniff" },
  },
  "X-Request-Id": {
    description:
      "Names the request in problems, the log and the audit log: the `X-Request-Id` that was sent (up to 64 letters, digits, `.`, `_`, `-`), or one that was made.",
    schema: { ...text, pattern: "^[A-Za-z0-9._-]{1,64}$" },
  },
} as const;

/** The headers of every answer, as an answer refers to them. */
export const commonHeaders: Readonly<Record<string, object>> = Object.fromEntries(
  Object.keys(sharedHeaders).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
);

/** What a 304 has. */
export const notModified = { headers: { ...etag, ...commonHeaders } } as const;

/** The headers that a request of this procedure may carry beside those of every request. */
export function requestHeaders(procedure: AnyProcedure): object[] {
  const { openapi, rest } = procedure._def.meta as Required<ProcedureMeta>;
  const isChange = openapi.method !== "GET" && openapi.protect !== false;
  return [
    ...(isChange ? [idempotencyKey] : []),
    ...(rest?.conditional === true ? [ifMatch] : []),
    ...(rest?.version !== undefined && procedure._def.type === "query" ? [ifNoneMatch] : []),
    ...(canWait(procedure) ? [prefer] : []),
    ...(rest?.streams === undefined ? [] : [lastEventId]),
  ];
}

/** The headers of a success. */
export function answerHeaders(procedure: AnyProcedure, status: SuccessStatus): object {
  const { rest = {} } = procedure._def.meta as ProcedureMeta;
  return {
    ...(rest.location !== undefined && status !== 200 && location),
    ...(rest.version !== undefined && status !== 204 && etag),
    ...(canWait(procedure) && preferenceApplied),
    ...(rest.streams !== undefined && unbuffered),
    ...commonHeaders,
  };
}

function canWait(procedure: AnyProcedure): boolean {
  return waitsOf(procedure) !== null;
}
