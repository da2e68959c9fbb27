/** Requests to single features that must be refused: runs, terminals, metrics, discovery, secrets. */
import { randomUUID } from "node:crypto";
import { assignment, get, nodeId, post, put, type Refused } from "./bad-input-cases.ts";

const run = (fields: object) => post("/state/runs", { selector: "*", command: "true", ...fields });
const secret = (fields: object) => post("/secrets", { name: "a", value: "value", ...fields });

/** A body of one of them that is refused for a field. */
const field = (name: string, call: Refused[1], pointer: string): Refused => [
  name,
  call,
  400,
  "VALIDATION_FAILED",
  pointer,
];

export const features: Refused[] = [
  field(
    "half a character deep in params",
    post(`/agents/${nodeId}/plan`, { params: { site: { names: ["a", "b\ud800"] } } }),
    "/params/site/names/1",
  ),
  field(
    "half a character as a key",
    post(`/agents/${nodeId}/apply`, { params: { site: { "\udc00": 1 } } }),
    "/params/site",
  ),
  field("half a character in a command", run({ command: ["echo", "\ud83d"] }), "/command/1"),
  field(
    "half a character in a text for people",
    post("/assignments", { ...assignment, description: "\ud800" }),
    "/description",
  ),
  field(
    "half a character in a comment of a module",
    post("/modules", { content: "name: a\nresources: [] # \ud800" }),
    "/content",
  ),
  field("a run of nothing", post("/state/runs", { selector: "*" }), "/command"),
  field("a run of two things", run({ script: "true" }), "/script"),
  field("a run nowhere", post("/state/runs", { command: "true" }), "/selector"),
  field("a run in two places", run({ node_ids: [nodeId] }), "/node_ids"),
  field("a run on no agent of a list", post("/state/runs", { node_ids: [], command: "true" }), "/node_ids"),
  field("a run with a NUL", run({ command: "a\0b" }), "/command"),
  field(
    "a run of a script of 300,000 characters",
    post("/state/runs", { selector: "*", script: "#".repeat(300_000) }),
    "/script",
  ),
  field("a run with an empty command", run({ command: "" }), "/command"),
  field("a run with a variable that is none", run({ environment: { "A B": "" } }), "/environment/A B"),
  field("a run with a folder that is not absolute", run({ cwd: "../etc" }), "/cwd"),
  field("a run as nobody that can be", run({ user: "root;id" }), "/user"),
  field("a run without end", run({ timeout_seconds: 1e9 }), "/timeout_seconds"),
  field("a run with a canary of none", run({ rollout: { canary: 0 } }), "/rollout/canary"),
  ["a run on a selector that is none", run({ selector: "role=" }), 400, "SELECTOR_INVALID"],
  ["a run on a selector that matches nobody", run({}), 409, "NO_MATCH"],
  [
    "a run on an agent that there is not",
    post("/state/runs", { node_ids: [nodeId], command: "true" }),
    404,
    "NOT_FOUND",
  ],
  ["a run that there is not", get(`/state/runs/${randomUUID()}`), 404, "NOT_FOUND"],
  ["an end of a run that there is not", post(`/state/runs/${randomUUID()}/cancel`, {}), 404, "NOT_FOUND"],
  field("a terminal without a size", post(`/terminal/${nodeId}`, { cols: 0, rows: 24 }), "/cols"),
  field("a terminal of 10^9 lines", post(`/terminal/${nodeId}`, { cols: 80, rows: 1e9 }), "/rows"),
  [
    "a terminal on an agent that there is not",
    post(`/terminal/${nodeId}`, { cols: 80, rows: 24 }),
    404,
    "NOT_FOUND",
  ],
  ["a terminal that there is not", get(`/terminal/session/${randomUUID()}`), 404, "NOT_FOUND"],
  field("metrics of a time that is none", get(`/agents/${nodeId}/metrics?from=yesterday`), "/from"),
  field(
    "metrics of a range that ends before it begins",
    get(`/agents/${nodeId}/metrics?from=2030-01-01T01:00:00Z&to=2030-01-01T00:00:00Z`),
    "/to",
  ),
  field("metrics with a step of nothing", get(`/agents/${nodeId}/metrics?step_seconds=0`), "/step_seconds"),
  field("metrics with a step of NaN", get(`/agents/${nodeId}/metrics?step_seconds=NaN`), "/step_seconds"),
  field(
    "metrics of a series of 1,000 characters",
    get(`/agents/${nodeId}/metrics?series=${"a".repeat(1_000)}`),
    "/series/0",
  ),
  [
    "metrics of agents of a selector that is none",
    get("/metrics/prometheus?selector=role="),
    400,
    "SELECTOR_INVALID",
  ],
  [
    "a refresh of an agent that there is not",
    post(`/agents/${nodeId}/attributes/refresh`, {}),
    404,
    "NOT_FOUND",
  ],
  field(
    "a refresh without end",
    post(`/agents/${nodeId}/attributes/refresh`, { wait_seconds: 1e9 }),
    "/wait_seconds",
  ),
  field(
    "an announcement to a target of 10,000 characters",
    post("/discover", { target: "a".repeat(10_000) }),
    "/target",
  ),
  field(
    "an announcement to a target that is none",
    post("/discover", { target: "http://10.0.0.1/;id" }),
    "/target",
  ),
  field("an announcement without end", post("/discover", { timeout_ms: 1e9 }), "/timeout_ms"),
  field("a secret of nothing", secret({ value: "" }), "/value"),
  field("a secret of 65,537 bytes", secret({ value: "x".repeat(65_537) }), "/value"),
  field("a secret with a name that leaves its folder", secret({ name: "../a" }), "/name"),
  ["a secret where there is no key", put("/secrets/nothing", { value: "a" }), 409, "SECRETS_KEY_MISSING"],
];
