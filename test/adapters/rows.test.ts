import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { readText } from "../architecture/source-tree.ts";
import { serve, type TestServer } from "../support/server.ts";

/** Every row of section 4 of the specification, in its order, with a test that calls it and how. Paths are below `/api/v1`. */
const rows: readonly (readonly [row: string, file: string, call: string])[] = [
  ["POST /discover", "test/discovery/discovery.test.ts", "discovery.broadcast("],
  ["GET /status", "test/status/status.test.ts", "status.get("],
  ["POST /auth/challenge", "test/access/limits.test.ts", "access.challenge("],
  ["POST /auth/verify", "test/access/sign-in.test.ts", "access.verify("],
  ["GET /operators", "test/access/operators.test.ts", "operators.list("],
  ["POST /operators", "test/access/operators.test.ts", "operators.add("],
  ["GET /operators/{operator_id}", "test/adapters/client/retry.test.ts", "operators.get("],
  ["DELETE /operators/{operator_id}", "test/access/operators.test.ts", "operators.remove("],
  ["GET /agents", "test/agents/agents.test.ts", "agents.list("],
  ["POST /agents/{node_id}", "test/agents/agents.test.ts", "agents.setStatus("],
  ["DELETE /agents/{node_id}", "test/agents/agents.test.ts", "agents.remove("],
  ["GET /agents/{node_id}/attributes", "test/agents/attributes-changed.test.ts", "agents.attributes("],
  ["PUT /agents/{node_id}/tags", "test/agents/agents.test.ts", "tags.replace("],
  ["PUT /agents/{node_id}/tags/{key}", "test/agents/agents.test.ts", "tags.set("],
  ["DELETE /agents/{node_id}/tags/{key}", "test/agents/agents.test.ts", "tags.remove("],
  ["GET /tags", "test/agents/agents.test.ts", "tags.list("],
  ["GET /agents/{node_id}/metrics", "test/metrics/metrics.test.ts", "metrics.history("],
  ["GET /agents/{node_id}/metrics/latest", "test/metrics/metrics.test.ts", "metrics.latest("],
  ["GET /terminal", "test/terminals/elsewhere.test.ts", "terminals.list("],
  ["GET /terminal/session/{session_id}", "test/terminals/elsewhere.test.ts", "terminals.get("],
  ["DELETE /terminal/session/{session_id}", "test/terminals/terminal-access.test.ts", "terminals.close("],
  [
    "GET /terminal/session/{session_id}/transcript",
    "test/terminals/terminal-stream.test.ts",
    "terminals.transcript(",
  ],
  ["POST /terminal/{node_id}", "test/terminals/terminal-limits.test.ts", "terminals.open("],
  ["GET /maintenance-windows", "test/adapters/cli/operator-side.test.ts", '"windows", "list"'],
  ["POST /maintenance-windows", "test/maintenance/held-work.test.ts", "maintenanceWindows.create("],
  ["GET /maintenance-windows/{id}", "test/maintenance/window-verbs.test.ts", "maintenanceWindows.get("],
  ["PUT /maintenance-windows/{id}", "test/maintenance/held-work.test.ts", "maintenanceWindows.update("],
  ["DELETE /maintenance-windows/{id}", "test/maintenance/held-work.test.ts", "maintenanceWindows.remove("],
  ["GET /channels", "test/notifications/channels/channel-config.test.ts", "channels().list("],
  ["POST /channels", "test/notifications/channels/channel-config.test.ts", "channels.create("],
  ["GET /channels/{id}", "test/notifications/channels/outbox.test.ts", "channels.get("],
  ["PUT /channels/{id}", "test/notifications/channels/channel-config.test.ts", "channels().update("],
  ["DELETE /channels/{id}", "test/notifications/channels/channel-config.test.ts", "channels().remove("],
  ["POST /channels/{id}/test", "test/notifications/channels/outbox.test.ts", "channels.test("],
  ["GET /notifications", "test/notifications/inbox/notifications.test.ts", "notifications.list("],
  [
    "POST /notifications/read-all",
    "test/notifications/inbox/notifications.test.ts",
    "notifications.readAll(",
  ],
  ["POST /notifications/{id}/read", "test/notifications/inbox/notifications.test.ts", "notifications.read("],
  ["GET /modules", "test/modules/module-views.test.ts", "modules.list("],
  ["POST /modules", "test/modules/modules.test.ts", "modules.upload("],
  ["GET /modules/{name}", "test/modules/module-views.test.ts", "modules.get("],
  ["DELETE /modules/{name}", "test/modules/modules.test.ts", "modules.remove("],
  ["GET /assignments", "test/modules/module-views.test.ts", "assignments.list("],
  ["POST /assignments", "test/assignments/assignment-agreement.test.ts", "assignments.create("],
  ["GET /assignments/{name}", "test/rollouts/rollouts.test.ts", "assignments.get("],
  ["DELETE /assignments/{name}", "test/rollouts/rollouts.test.ts", "assignments.remove("],
  ["POST /assignments/{name}/apply", "test/rollouts/rollouts.test.ts", "rollouts.apply("],
  ["POST /assignments/{name}/plan", "test/e2e/main-job.test.ts", "assignments.plan("],
  ["POST /agents/{node_id}/apply", "test/operations/stored-plans.test.ts", "operations.apply("],
  ["GET /agents/{node_id}/drift", "test/restores/restores.test.ts", "drift.list("],
  ["POST /agents/{node_id}/drift", "test/drift/enforcement.test.ts", "drift.check("],
  ["GET /agents/{node_id}/drift/latest", "test/operations/inquiries.test.ts", "drift.latest("],
  ["POST /agents/{node_id}/plan", "test/operations/stored-plans.test.ts", "operations.plan("],
  ["GET /agents/{node_id}/state", "test/operations/forget.test.ts", "operations.believed("],
  [
    "GET /agents/{node_id}/state/operations",
    "test/adapters/main-job-rest.test.ts",
    "`/agents/${nodeId}/state/operations",
  ],
  [
    "GET /agents/{node_id}/state/operations/{operation_id}/output",
    "test/operations/bad-modules.test.ts",
    "operations.output(",
  ],
  ["GET /drift/{drift_id}", "test/drift/scheduled-checks.test.ts", "drift.get("],
  ["GET /state/operations", "test/operations/operations.test.ts", "operations.list("],
  ["GET /state/operations/{operation_id}", "test/modules/module-requirements.test.ts", "operations.get("],
  ["GET /secrets", "test/secrets/secrets.test.ts", "secrets().list("],
  ["POST /secrets", "test/secrets/secrets.test.ts", "secrets().create("],
  ["GET /secrets/{name}", "test/secrets/secrets.test.ts", "secrets().get("],
  ["PUT /secrets/{name}", "test/secrets/secrets.test.ts", "secrets().update("],
  ["DELETE /secrets/{name}", "test/secrets/secrets.test.ts", "secrets().remove("],
  ["GET /audit", "test/audit/audit.test.ts", "audit.list("],
  ["DELETE /audit", "test/audit/prune-guards.test.ts", "audit.prune("],
  ["GET /audit/retention", "test/audit/prune-guards.test.ts", "audit.getRetention("],
  ["PUT /audit/retention", "test/audit/audit.test.ts", "audit.setRetention("],
];

let orchestrator: TestOrchestrator;
let server: TestServer;
beforeAll(async () => {
  orchestrator = await createTestOrchestrator();
  server = await serve(orchestrator.orchestrator);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await orchestrator[Symbol.asyncDispose]();
});

/** Asks as a stranger: paths and methods are looked up first, so what is there answers 401, or does what anyone may. */
async function statusOf(row: string): Promise<number> {
  const [method = "", path = ""] = row.split(" ");
  const { status } = await server.rest(method, path.replaceAll(/\{\w+\}/g, "0".repeat(32)));
  return status;
}

test("the table has every row of the specification once", () => {
  expect(rows).toHaveLength(67);
  expect(new Set(rows.map(([row]) => row)).size).toBe(67);
});

test.each(rows)("%s is served, and called in %s", async (row, file, call) => {
  const anyone: Record<string, number> = {
    "GET /status": 200,
    "POST /auth/challenge": 400,
    "POST /auth/verify": 400,
  };
  expect(await statusOf(row)).toBe(anyone[row] ?? 401);
  expect(readText(file)).toContain(call);
});
