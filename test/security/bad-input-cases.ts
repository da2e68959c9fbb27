/** Requests that must be refused, as data: what is asked, and what it is answered with. */
import { randomUUID } from "node:crypto";
import type { Call } from "../support/http.ts";

export const json = { "content-type": "application/json" };
export const nodeId = "0".repeat(32);
const key = "11".repeat(32);

const assignment = { name: "a", selector: "*", modules: ["web"] };

export const get = (path: string, headers: Record<string, string> = {}): Call => ({
  path: `/api/v1${path}`,
  headers,
});
const sent =
  (method: string) =>
  (path: string, body: unknown, headers: Record<string, string> = json): Call => ({
    method,
    path: `/api/v1${path}`,
    headers,
    body: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });
export const [post, put] = [sent("POST"), sent("PUT")];
export const remove = (path: string): Call => ({ method: "DELETE", path: `/api/v1${path}` });
const nested = (levels: number): string => `{"content":${"[".repeat(levels)}${"]".repeat(levels)}}`;

/** What is asked, its status, its code, and where the fault is. */
export type Refused = [name: string, call: Call, status: number, code: string, pointer?: string];

export const bodies: Refused[] = [
  ["JSON that breaks off", post("/modules", '{"content":'), 400, "VALIDATION_FAILED"],
  ["JSON with a comma too many", post("/modules", '{"content":"a",}'), 400, "VALIDATION_FAILED"],
  ["two JSON texts", post("/modules", '{"content":"a"}{}'), 400, "VALIDATION_FAILED"],
  ["a list", post("/modules", [{ content: "a" }]), 400, "VALIDATION_FAILED"],
  ["null", post("/modules", "null"), 400, "VALIDATION_FAILED"],
  ["no body where one is needed", post("/modules", ""), 400, "VALIDATION_FAILED", "/content"],
  ["bytes that are not UTF-8", post("/modules", Buffer.from([0x7b, 0xff])), 400, "VALIDATION_FAILED"],
  ["20,000 levels", post("/modules", nested(20_000)), 400, "VALIDATION_FAILED"],
  ["one level more than allowed", post("/modules", nested(64)), 400, "VALIDATION_FAILED"],
  ["a number for a text", post("/modules", { content: 1 }), 400, "VALIDATION_FAILED", "/content"],
  [
    "a text for a number",
    post(`/agents/${nodeId}/plan`, { timeout_seconds: "9" }),
    400,
    "VALIDATION_FAILED",
    "/timeout_seconds",
  ],
  [
    "a number out of range",
    post(`/agents/${nodeId}/plan`, { wait_seconds: 301 }),
    400,
    "VALIDATION_FAILED",
    "/wait_seconds",
  ],
  [
    "a number too large for any",
    post(`/agents/${nodeId}/plan`, '{"wait_seconds":1e999}'),
    400,
    "VALIDATION_FAILED",
    "/wait_seconds",
  ],
  ["an unknown field", post("/modules", { content: "a", "a/b": 1 }), 400, "VALIDATION_FAILED", "/a~1b"],
  [
    "a caller in the body",
    post(`/agents/${nodeId}`, { status: "approved", caller: { kind: "system" } }),
    400,
    "VALIDATION_FAILED",
    "/caller",
  ],
  [
    "__proto__",
    post("/operators", '{"username":"a","__proto__":{"role":"Admin"}}'),
    400,
    "VALIDATION_FAILED",
  ],
  [
    "__proto__ as the key of a tag",
    put(`/agents/${nodeId}/tags`, '{"tags":{"__proto__":"x"}}'),
    400,
    "VALIDATION_FAILED",
  ],
  [
    "constructor as a field",
    post("/modules", { content: "a", constructor: 1 }),
    400,
    "VALIDATION_FAILED",
    "/constructor",
  ],
  [
    "the path's parameter in the body",
    put(`/agents/${nodeId}/tags/env`, { key: "other", value: "x" }),
    400,
    "VALIDATION_FAILED",
    "/key",
  ],
  [
    "a media type that is not JSON",
    post("/modules", "content=a", { "content-type": "application/x-www-form-urlencoded" }),
    415,
    "UNSUPPORTED_MEDIA_TYPE",
  ],
  ["no media type", post("/modules", { content: "a" }, {}), 415, "UNSUPPORTED_MEDIA_TYPE"],
  ["a body that is too large", post("/modules", { content: "x".repeat(1 << 20) }), 413, "PAYLOAD_TOO_LARGE"],
  [
    "a module that is too large",
    post("/modules", { content: "x".repeat(524_289) }),
    400,
    "VALIDATION_FAILED",
    "/content",
  ],
  ["a body on a GET", { ...get("/agents", json), body: "{}" }, 400, "VALIDATION_FAILED"],
];

export const values: Refused[] = [
  [
    "a name with upper case",
    post("/assignments", { name: "Web", selector: "*", modules: ["web"] }),
    400,
    "VALIDATION_FAILED",
    "/name",
  ],
  ["a name that leaves its folder", get("/modules/..%2f..%2fetc"), 400, "VALIDATION_FAILED", "/name"],
  [
    "a username that starts with a digit",
    post("/operators", { username: "1a", public_key: key }),
    400,
    "VALIDATION_FAILED",
    "/username",
  ],
  [
    "a role that does not exist",
    post("/operators", { username: "a", public_key: key, role: "Root" }),
    400,
    "VALIDATION_FAILED",
    "/role",
  ],
  [
    "a key of the wrong length",
    post("/operators", { username: "a", public_key: "abcd" }),
    400,
    "KEY_REFUSED",
  ],
  [
    "a key of small order",
    post("/operators", { username: "a", public_key: `01${"0".repeat(62)}` }),
    400,
    "KEY_REFUSED",
  ],
  [
    "a selector that can't be read",
    post("/assignments", { name: "a", selector: "tag.env = = x", modules: ["web"] }),
    400,
    "SELECTOR_INVALID",
  ],
  ["a selector that can't be read, in a list", get("/agents?selector=((("), 400, "SELECTOR_INVALID"],
  [
    "an empty selector",
    post("/assignments", { name: "a", selector: "", modules: ["web"] }),
    400,
    "VALIDATION_FAILED",
    "/selector",
  ],
  [
    "an assignment of no module",
    post("/assignments", { name: "a", selector: "*", modules: [] }),
    400,
    "VALIDATION_FAILED",
    "/modules",
  ],
  [
    "a tag key with a space",
    put(`/agents/${nodeId}/tags/a%20b`, { value: "x" }),
    400,
    "VALIDATION_FAILED",
    "/key",
  ],
  [
    "a tag value with a line break",
    put(`/agents/${nodeId}/tags/env`, { value: "a\nb" }),
    400,
    "VALIDATION_FAILED",
    "/value",
  ],
  [
    "65 tags",
    put(`/agents/${nodeId}/tags`, {
      tags: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, ""])),
    }),
    400,
    "VALIDATION_FAILED",
    "/tags",
  ],
  ["an id that is not a UUID", get("/state/operations/1"), 400, "VALIDATION_FAILED", "/operation_id"],
  ["a node_id in upper case", get(`/agents/${"A".repeat(32)}`), 400, "VALIDATION_FAILED", "/node_id"],
  ["a timestamp that is none", remove("/audit?before=yesterday"), 400, "VALIDATION_FAILED", "/before"],
  [
    "a timestamp without a zone",
    remove("/audit?before=2026-01-01T00:00:00"),
    400,
    "VALIDATION_FAILED",
    "/before",
  ],
  ["no timestamp where one is needed", remove("/audit"), 400, "VALIDATION_FAILED", "/before"],
  [
    "a retention of no day",
    put("/audit/retention", { retention_days: 0 }),
    400,
    "VALIDATION_FAILED",
    "/retention_days",
  ],
  ["YAML that is none", post("/modules", { content: "a: [" }), 400, "MODULE_INVALID"],
  ["what is not there", get(`/agents/${nodeId}`), 404, "NOT_FOUND"],
  ["an operation that is not there", get(`/state/operations/${randomUUID()}`), 404, "NOT_FOUND"],
];

export const paths: Refused[] = [
  ["an unknown parameter", get("/agents?nope=1"), 400, "VALIDATION_FAILED", "/nope"],
  ["a parameter twice", get("/agents?limit=1&limit=2"), 400, "VALIDATION_FAILED", "/limit"],
  ["__proto__ as a parameter", get("/agents?__proto__=1"), 400, "VALIDATION_FAILED", "/__proto__"],
  ["a limit of 0", get("/agents?limit=0"), 400, "VALIDATION_FAILED", "/limit"],
  ["a limit past 500", get("/agents?limit=501"), 400, "VALIDATION_FAILED", "/limit"],
  ["a limit that is no number", get("/agents?limit=ten"), 400, "VALIDATION_FAILED", "/limit"],
  ["a boolean that is none", get("/agents?connected=yes"), 400, "VALIDATION_FAILED", "/connected"],
  ["a cursor that is none", get("/agents?cursor=%00"), 400, "VALIDATION_FAILED", "/cursor"],
  ["a cursor of nobody", get("/agents?cursor=abc"), 400, "CURSOR_INVALID"],
  ["a parameter where none is taken", get("/status?x=1"), 400, "VALIDATION_FAILED", "/x"],
  ["broken percent-encoding", get("/modules/%zz"), 400, "VALIDATION_FAILED", "/name"],
  ["NUL in the path", get("/modules/a%00b"), 400, "VALIDATION_FAILED", "/name"],
  ["an encoded slash between two parts", get("/agents%2ftags"), 404, "NOT_FOUND"],
  ["a dot segment", get("/agents/../status"), 404, "NOT_FOUND"],
  ["a slash at the end", get("/status/"), 404, "NOT_FOUND"],
  ["an empty part", get("/agents//attributes"), 404, "NOT_FOUND"],
  ["two slashes in front", { path: "//api/v1/status" }, 404, "NOT_FOUND"],
  ["upper case in the path", get("/Status"), 404, "NOT_FOUND"],
  ["upper case in the base path", { path: "/API/v1/status" }, 404, "NOT_FOUND"],
  ["another version", { path: "/api/v2/status" }, 404, "NOT_FOUND"],
];

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
    post("/modules", { content: "a" }, { ...json, "if-match": '"1"' }),
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
    400,
    "VALIDATION_FAILED",
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
