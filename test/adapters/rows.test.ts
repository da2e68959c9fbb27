import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { serve, type TestServer } from "../support/server.ts";

/** Every row of section 4 of the specification, in its order; paths are below `/api/v1`. */
const rows = `
  POST /discover
  GET /status
  POST /auth/challenge
  POST /auth/verify
  GET /operators
  POST /operators
  GET /operators/{operator_id}
  DELETE /operators/{operator_id}
  GET /agents
  POST /agents/{node_id}
  DELETE /agents/{node_id}
  GET /agents/{node_id}/attributes
  PUT /agents/{node_id}/tags
  PUT /agents/{node_id}/tags/{key}
  DELETE /agents/{node_id}/tags/{key}
  GET /tags
  GET /agents/{node_id}/metrics
  GET /agents/{node_id}/metrics/latest
  GET /terminal
  GET /terminal/session/{session_id}
  DELETE /terminal/session/{session_id}
  GET /terminal/session/{session_id}/transcript
  POST /terminal/{node_id}
  GET /maintenance-windows
  POST /maintenance-windows
  GET /maintenance-windows/{id}
  PUT /maintenance-windows/{id}
  DELETE /maintenance-windows/{id}
  GET /channels
  POST /channels
  GET /channels/{id}
  PUT /channels/{id}
  DELETE /channels/{id}
  POST /channels/{id}/test
  GET /notifications
  POST /notifications/read-all
  POST /notifications/{id}/read
  GET /modules
  POST /modules
  GET /modules/{name}
  DELETE /modules/{name}
  GET /assignments
  POST /assignments
  GET /assignments/{name}
  DELETE /assignments/{name}
  POST /assignments/{name}/apply
  POST /assignments/{name}/plan
  POST /agents/{node_id}/apply
  GET /agents/{node_id}/drift
  POST /agents/{node_id}/drift
  GET /agents/{node_id}/drift/latest
  POST /agents/{node_id}/plan
  GET /agents/{node_id}/state
  GET /agents/{node_id}/state/operations
  GET /agents/{node_id}/state/operations/{operation_id}/output
  GET /drift/{drift_id}
  GET /state/operations
  GET /state/operations/{operation_id}
  GET /secrets
  POST /secrets
  GET /secrets/{name}
  PUT /secrets/{name}
  DELETE /secrets/{name}
  GET /audit
  DELETE /audit
  GET /audit/retention
  PUT /audit/retention
`
  .trim()
  .split(/\n\s*/);

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
  expect(new Set(rows).size).toBe(67);
});

test.each(rows)("%s is served", async (row) => {
  const anyone: Record<string, number> = {
    "GET /status": 200,
    "POST /auth/challenge": 400,
    "POST /auth/verify": 400,
  };
  expect(await statusOf(row)).toBe(anyone[row] ?? 401);
});
