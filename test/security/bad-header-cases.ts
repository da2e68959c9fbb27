/** The same for what goes with a request: its headers, and whoever sends it. */
import { assignment, get, json, nodeId, post, put, remove, type Refused } from "./bad-input-cases.ts";

export const headers: Refused[] = [
  [
    "an idempotency key with a space",
    post("/assignments", assignment, { ...json, "idempotency-key": "a b" }),
    400,
    "VALIDATION_FAILED",
  ],
  [
    "an idempotency key that is too long",
    post("/assignments", assignment, { ...json, "idempotency-key": "x".repeat(256) }),
    400,
    "VALIDATION_FAILED",
  ],
  [
    "If-Match where nothing has a version",
    post("/assignments", assignment, { ...json, "if-match": '"1"' }),
    412,
    "PRECONDITION_FAILED",
  ],
  [
    "If-None-Match with what would overwrite",
    put("/audit/retention", { retention_days: 9 }, { ...json, "if-none-match": "*" }),
    412,
    "PRECONDITION_FAILED",
  ],
  [
    "If-None-Match with a removal",
    { ...remove(`/agents/${nodeId}`), headers: { "if-none-match": '"1"' } },
    412,
    "PRECONDITION_FAILED",
  ],
  [
    "If-Match that is no tag",
    put("/audit/retention", { retention_days: 9 }, { ...json, "if-match": "1" }),
    412,
    "PRECONDITION_FAILED",
  ],
  [
    "If-Match that is weak",
    put("/audit/retention", { retention_days: 9 }, { ...json, "if-match": 'W/"0"' }),
    412,
    "PRECONDITION_FAILED",
  ],
  [
    "a charset that is not UTF-8",
    post("/modules", { content: "a" }, { "content-type": "application/json; charset=latin1" }),
    415,
    "UNSUPPORTED_MEDIA_TYPE",
  ],
  [
    "an encoded body",
    post("/modules", Buffer.from([0x1f, 0x8b, 8]), { ...json, "content-encoding": "gzip" }),
    415,
    "UNSUPPORTED_MEDIA_TYPE",
  ],
  ["a page of another site", get("/agents", { origin: "https://evil.test" }), 403, "ORIGIN_REFUSED"],
  ["a page without a site", get("/agents", { origin: "null" }), 403, "ORIGIN_REFUSED"],
  ["a host with a space", get("/agents", { host: "a b" }), 400, "VALIDATION_FAILED"],
  [
    "a chunked body that is too large",
    { ...post("/modules", { content: "x".repeat(1 << 21) }), chunked: true },
    413,
    "PAYLOAD_TOO_LARGE",
  ],
  [
    "a body that is far too large, chunked",
    { ...post("/modules", { content: "x".repeat(12 << 20) }), chunked: true },
    413,
    "PAYLOAD_TOO_LARGE",
  ],
];

export const strangers: Refused[] = [
  ["no token", get("/agents", { authorization: "" }), 401, "UNAUTHENTICATED"],
  ["another scheme", get("/agents", { authorization: "Basic cm9vdDpyb290" }), 401, "UNAUTHENTICATED"],
  ["a bearer of nothing", get("/agents", { authorization: "Bearer " }), 401, "UNAUTHENTICATED"],
  [
    "an unknown token",
    get("/agents", { authorization: `Bearer fw_${"a".repeat(43)}` }),
    401,
    "UNAUTHENTICATED",
  ],
  [
    "a very long token",
    get("/agents", { authorization: `Bearer ${"a".repeat(8000)}` }),
    401,
    "UNAUTHENTICATED",
  ],
  [
    "a challenge that was never issued",
    post("/auth/verify", { challenge_id: "a.b", signature: "0".repeat(128) }),
    401,
    "CHALLENGE_INVALID",
  ],
  [
    "a stranger's broken body, which is not even read",
    post("/modules", "{", { ...json, authorization: "" }),
    401,
    "UNAUTHENTICATED",
  ],
];
