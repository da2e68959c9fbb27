/** One valid message of every type. */
import type { AgentMessage, OrchestratorMessage } from "../../../lib/wire/messages.ts";

const id = "01890000-0000-7000-8000-000000000001";
const operation_id = "01890000-0000-7000-8000-000000000002";
const session_id = "01890000-0000-7000-8000-000000000003";
const not_after = "2030-01-01T00:05:00.000Z";
const at = "2030-01-01T00:00:00.000Z";
const command = { id, not_after };

const resource = {
  resource_id: "file:/etc/motd",
  module: "base",
  type: "file",
  identity: "/etc/motd",
  spec: { path: "/etc/motd", content: "grüß dich\n", mode: "0644" },
  requires: [],
  run_on: [],
  timeout_seconds: 30,
  retry: { attempts: 2, delay_seconds: 1.5 },
  on_failure: "stop" as const,
  ignore_drift: ["mode"],
  sensitive: false,
};

const result = {
  resource_id: "file:/etc/motd",
  module: "base",
  type: "file",
  identity: "/etc/motd",
  outcome: "changed" as const,
  action: "update" as const,
  changes: [{ property: "content", before: "a", after: "b", diff: "-a\n+b\n", sensitive: false }],
  caused_by: [],
  attempts: 1,
  duration_ms: 1.25,
};

const output = {
  module: "base",
  resource_id: "command:date",
  stream: "stdout" as const,
  text: "€ 5\n",
  truncated: false,
};
const run = { ...command, operation_id, resources: [resource], timeout_seconds: 600 };

/** What came to the apply later: an orchestrator of then does not send it. */
export const plannedApplyExample: OrchestratorMessage = {
  type: "apply",
  ...run,
  allow_empty: false,
  plan_digest: "0123456789abcdef".repeat(4),
};

export const orchestratorExamples: OrchestratorMessage[] = [
  { type: "apply", ...run, allow_empty: false },
  { type: "plan", ...run },
  { type: "check", ...run },
  { type: "run", ...run },
  { type: "forget", ...command, operation_id, names: ["base", "web/file:/etc/motd"] },
  { type: "cancel", ...command, operation_id },
  { type: "ack", ...command, operation_id },
  { type: "status", ...command, status: "approved" },
  { type: "attributes.refresh", ...command },
  { type: "config", ...command, metrics_interval_seconds: 15 },
  { type: "metrics.ack", ...command, through: at },
  { type: "terminal.open", ...command, session_id, cols: 80, rows: 24, shell: "/bin/sh", operator: "ada" },
  { type: "terminal.resize", ...command, session_id, cols: 120, rows: 40 },
  { type: "terminal.close", ...command, session_id },
  { type: "terminal.grant", ...command, session_id, through: 1_048_576 },
];

export const agentExamples: AgentMessage[] = [
  { type: "reply", id, error: { code: "HOST_ERROR", message: "No.", details: { errno: "EACCES" } } },
  { type: "progress", operation_id, results: [result] },
  { type: "output", operation_id, output: [output] },
  {
    type: "result",
    operation_id,
    status: "succeeded",
    results: [result],
    output: [output],
    started_at: at,
    finished_at: not_after,
    duration_ms: 300_000,
  },
  {
    type: "attributes",
    attributes: { "os.family": "debian", "cpu.count": 8, "custom.db": true },
    collected_at: at,
  },
  { type: "metrics", samples: [{ at, values: { "cpu.percent{state=user}": 12.5 } }], gap: false },
  { type: "terminal.closed", session_id, reason: "exit", exit_code: 0 },
  { type: "terminal.taken", session_id, through: 12 },
  { type: "log", level: "warn", message: "The clock is 3 s off." },
];

export const streamExample = { streamId: session_id, data: new TextEncoder().encode("\u001b[1mhello\r\n") };
