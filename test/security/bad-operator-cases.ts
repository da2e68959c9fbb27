/** Requests about enrolment tokens, maintenance windows, channels, notifications, thresholds and the audit log that must be refused. */
import { randomUUID } from "node:crypto";
import { get, post, put, remove, type Refused } from "./bad-input-cases.ts";

const field = (name: string, call: Refused[1], pointer: string): Refused => [
  name,
  call,
  400,
  "VALIDATION_FAILED",
  pointer,
];

const later = "2100-01-01T00:00:00Z";
const window = (fields: object) =>
  post("/maintenance-windows", { reason: "work", mode: "freeze", ends_at: later, ...fields });
const recurring = (schedule: object, fields: object = {}) =>
  post("/maintenance-windows", {
    reason: "work",
    mode: "mute",
    schedule: { cron: "0 2 * * *", duration_minutes: 60, ...schedule },
    ...fields,
  });

const windows: Refused[] = [
  field(
    "a window without an end",
    post("/maintenance-windows", { reason: "work", mode: "mute" }),
    "/ends_at",
  ),
  field("a window that ends before it starts", window({ starts_at: "2100-01-02T00:00:00Z" }), "/ends_at"),
  field("a window that ends as it starts", window({ starts_at: later }), "/ends_at"),
  field("a window that has ended", window({ ends_at: "2001-01-01T00:00:00Z" }), "/ends_at"),
  field("a window until a time without a zone", window({ ends_at: "2100-01-01T00:00:00" }), "/ends_at"),
  field("a window that does something else", window({ mode: "silence" }), "/mode"),
  field("a window without a reason", window({ reason: "" }), "/reason"),
  field("a window with a reason of two lines", window({ reason: "a\nb" }), "/reason"),
  field("a window with a reason that moves the cursor", window({ reason: "\u001b[2J" }), "/reason"),
  field("a window with a field that there is not", window({ minutes: 5 }), "/minutes"),
  ["a window for a selector that is none", window({ selector: "role=" }), 400, "SELECTOR_INVALID"],
  field("a window at no time that there is", recurring({ cron: "99 2 * * *" }), "/schedule/cron"),
  field("a window on the 30th of February", recurring({ cron: "0 0 30 2 *" }), "/schedule/cron"),
  field("a window of no minutes", recurring({ duration_minutes: 0 }), "/schedule/duration_minutes"),
  field("a window of 10,081 minutes", recurring({ duration_minutes: 10_081 }), "/schedule/duration_minutes"),
  field("a window in no zone that there is", recurring({ time_zone: "Mars/Olympus" }), "/schedule/time_zone"),
  field(
    "a window on a 29th of February that does not come in time",
    recurring({ cron: "0 0 29 2 *" }, { starts_at: "2097-01-01T00:00:00Z", ends_at: "2103-01-01T00:00:00Z" }),
    "/schedule",
  ),
  ["a window that there is not", get(`/maintenance-windows/${randomUUID()}`), 404, "NOT_FOUND"],
  [
    "a change of a window that there is not",
    put(`/maintenance-windows/${randomUUID()}`, {}),
    404,
    "NOT_FOUND",
  ],
];

const hook = { url: "https://hooks.example.com/fleet" };
const channel = (fields: object) =>
  post("/channels", { name: "hook", type: "webhook", config: hook, ...fields });

const channels: Refused[] = [
  field("a channel of a type that there is not", channel({ type: "pigeon" }), "/type"),
  field("a channel of a type that every object has", channel({ type: "constructor" }), "/type"),
  field("a channel without a name", channel({ name: "" }), "/name"),
  field("a channel with a name of two lines", channel({ name: "a\r\nBcc: b" }), "/name"),
  field("a channel to a file", channel({ config: { url: "file:///etc/passwd" } }), "/config/url"),
  field(
    "a channel with a user in its address",
    channel({ config: { url: "https://a:b@c.test/" } }),
    "/config/url",
  ),
  field("a channel without an address", channel({ config: {} }), "/config/url"),
  field(
    "a channel with a field that there is not",
    channel({ config: { ...hook, prox: "x" } }),
    "/config/prox",
  ),
  field(
    "a channel with a line end in a header",
    channel({ config: { ...hook, headers: { "x-a": "b\r\nx-c: d" } } }),
    "/config/headers/x-a",
  ),
  field(
    "a channel with a header of the connection",
    channel({ config: { ...hook, headers: { "Content-Length": "0" } } }),
    "/config/headers",
  ),
  field(
    "mail with a line end in an address",
    channel({
      type: "email",
      config: { host: "mail.test", from: "a@b.test\r\nBcc: c@d.test", to: ["a@b.test"] },
    }),
    "/config/from",
  ),
  field(
    "a channel with a config of 40,000 characters",
    channel({ config: { ...hook, a: "x".repeat(40_000) } }),
    "/config",
  ),
  field("a channel for no event", channel({ events: [] }), "/events"),
  field("a channel for an event that there is not", channel({ events: ["agent.offlin"] }), "/events/0"),
  field("a channel for half a star", channel({ events: ["agent*"] }), "/events/0"),
  field("a channel from a severity that there is not", channel({ min_severity: "fatal" }), "/min_severity"),
  ["a channel for a selector that is none", channel({ selector: "role=" }), 400, "SELECTOR_INVALID"],
  [
    "a channel with a secret that there is not",
    channel({ type: "slack", config: { url: "secret:nothing" } }),
    409,
    "SECRET_UNAVAILABLE",
  ],
  field(
    "a channel with a mask in the place of a secret",
    channel({ config: { ...hook, secret: "********" } }),
    "/config/secret",
  ),
  [
    "a channel with a secret where there is no key",
    channel({ type: "slack", config: hook }),
    409,
    "SECRETS_KEY_MISSING",
  ],
  ["a channel that there is not", get(`/channels/${randomUUID()}`), 404, "NOT_FOUND"],
  ["a test of a channel that there is not", post(`/channels/${randomUUID()}/test`, {}), 404, "NOT_FOUND"],
  ["messages of a channel that there is not", get(`/channels/${randomUUID()}/deliveries`), 404, "NOT_FOUND"],
];

const preferences = (fields: object) => put("/notifications/preferences", fields);

const notifications: Refused[] = [
  field(
    "notifications of a severity that there is not",
    get("/notifications?min_severity=fatal"),
    "/min_severity",
  ),
  field("a page of no notifications", get("/notifications?limit=0"), "/limit"),
  ["notifications from a cursor that is none", get("/notifications?cursor=x"), 400, "CURSOR_INVALID"],
  ["a notification that there is not", post(`/notifications/${randomUUID()}/read`, {}), 404, "NOT_FOUND"],
  field(
    "a mute of an event that there is not",
    preferences({ muted_events: ["agent.gone"] }),
    "/muted_events/0",
  ),
  field("a mute of everything", preferences({ muted_events: ["*"] }), "/muted_events/0"),
  field("a mute below a severity that there is not", preferences({ min_severity: "loud" }), "/min_severity"),
  field("a mute with a field that there is not", preferences({ muted: true }), "/muted"),
];

const load = { name: "Busy", metric: "load.1", condition: "above", value: 4 };
const threshold = (fields: object) => post("/thresholds", { ...load, ...fields });
const noThreshold = `/thresholds/${randomUUID()}`;

const thresholds: Refused[] = [
  field("a threshold without a name", threshold({ name: "" }), "/name"),
  field("a threshold with a name of two lines", threshold({ name: "a\nb" }), "/name"),
  field("a threshold with a name that moves the cursor", threshold({ name: "\u001b[2J" }), "/name"),
  field("a threshold of what can be no metric", threshold({ metric: "Load 1" }), "/metric"),
  field("a threshold of a part of what can be no metric", threshold({ percent_of: "a{b" }), "/percent_of"),
  field("a threshold beside its limit", threshold({ condition: "beside" }), "/condition"),
  field("a threshold without a limit", post("/thresholds", { ...load, value: undefined }), "/value"),
  field("a threshold with a limit in words", threshold({ value: "4" }), "/value"),
  field("a threshold that recovers beyond its limit", threshold({ recovery_value: 5 }), "/recovery_value"),
  field("a threshold for less than no time", threshold({ for_seconds: -1 }), "/for_seconds"),
  field("a threshold for longer than a day", threshold({ for_seconds: 86_401 }), "/for_seconds"),
  field("a threshold for half a second", threshold({ recovery_seconds: 0.5 }), "/recovery_seconds"),
  field("a threshold of a severity that there is not", threshold({ severity: "fatal" }), "/severity"),
  field("a threshold with a field that there is not", threshold({ limit: 4 }), "/limit"),
  ["a threshold for a selector that is none", threshold({ selector: "role=" }), 400, "SELECTOR_INVALID"],
  ["a threshold that there is not", get(noThreshold), 404, "NOT_FOUND"],
  ["a change of a threshold that there is not", put(noThreshold, { value: 5 }), 404, "NOT_FOUND"],
  ["a removal of a threshold that there is not", remove(noThreshold), 404, "NOT_FOUND"],
  field("a threshold by an id that can be none", get("/thresholds/1"), "/id"),
  field("alarms of an agent that can be none", get("/alarms?node_id=1"), "/node_id"),
  field("alarms of a severity that there is not", get("/alarms?severity=fatal"), "/severity"),
  ["alarms from a cursor that is none", get("/alarms?cursor=x"), 400, "CURSOR_INVALID"],
];

const audit: Refused[] = [
  field("an audit log before its beginning", get("/audit?from_sequence=0"), "/from_sequence"),
  field("an audit log from below nothing", get("/audit?from_sequence=-1"), "/from_sequence"),
  field("an audit log from between two events", get("/audit?from_sequence=1.5"), "/from_sequence"),
  field("an audit log from a word", get("/audit?from_sequence=first"), "/from_sequence"),
  field("an audit log from beyond all numbers", get("/audit?from_sequence=1e400"), "/from_sequence"),
  field("an audit log sideways", get("/audit?order=sideways"), "/order"),
  field("an audit log of a search for nothing", get("/audit?search="), "/search"),
  field("an audit log of an actor of 101 characters", get(`/audit?actor=${"a".repeat(101)}`), "/actor"),
  ["an audit log from a cursor that is none", get("/audit?cursor=x"), 400, "CURSOR_INVALID"],
];

const token = (fields: object) => post("/enrolment-tokens", fields);
const noToken = `/enrolment-tokens/${randomUUID()}`;

const tokens: Refused[] = [
  field("an enrolment token for no machine", token({ uses: 0 }), "/uses"),
  field("an enrolment token for more machines than there are", token({ uses: 100_001 }), "/uses"),
  field("an enrolment token for two years", token({ expires_in_seconds: 63_072_000 }), "/expires_in_seconds"),
  field("an enrolment token with a name of two lines", token({ name: "a\nb" }), "/name"),
  field("an enrolment token with a tag that can be none", token({ tags: { "a b": "c" } }), "/tags/a b"),
  field("an enrolment token that the caller chose", token({ token: "fwt_mine" }), "/token"),
  ["an enrolment token that there is not", get(noToken), 404, "NOT_FOUND"],
  ["the end of an enrolment token that there is not", remove(noToken), 404, "NOT_FOUND"],
  field("an enrolment token by itself", get("/enrolment-tokens/fwt_secret"), "/id"),
];

export const operatorSide: Refused[] = [
  ...tokens,
  ...windows,
  ...channels,
  ...notifications,
  ...thresholds,
  ...audit,
];
