/** A body is described as required where a request without one is always refused, whatever refuses it. */
import type { AnyProcedure } from "@trpc/server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { createOpenApiDocument } from "../../adapters/rest/openapi.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
import { serve, type TestServer } from "../support/server.ts";

/** By its method, in small letters. */
type Described = Record<string, { requestBody?: { required?: boolean } }>;

const { paths = {} } = await createOpenApiDocument(appRouter);
const rows = restProcedures(appRouter).flatMap(([name, procedure]) => {
  const { method, path } = ((procedure as AnyProcedure)._def.meta as ProcedureMeta).openapi!;
  const { requestBody } = (paths[path] as Described)[method.toLowerCase()]!;
  // It asks the network.
  if (name === "discovery.broadcast") return [];
  return requestBody ? [{ name, method, path, isRequired: requestBody.required === true }] : [];
});

let served: TestOrchestrator;
let server: TestServer;
let token: string;
beforeAll(async () => {
  served = await createTestOrchestrator();
  server = await serve(served.orchestrator);
  ({ token } = await served.signIn("Admin", "ada"));
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await served[Symbol.asyncDispose]();
});

const nodeId = "0".repeat(32);
/** What parts of a path may be, one of which each row takes. */
const parts = [() => nodeId, (name: string) => (name === "node_id" ? nodeId : "name")];
for (const id of ["00000000-0000-4000-8000-000000000000", "0".repeat(64)]) parts.push(() => id);

describe("a request without a body", () => {
  test.each(rows)("to $name is refused as invalid only where one is required", async (row) => {
    const headers = { authorization: `Bearer ${token}` };
    const inPath = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `/${name}`);
    const answers = [];
    for (const part of parts) {
      const path = `/api/v1${row.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => part(name))}`;
      const { json } = await server.call({ method: row.method, path, headers });
      const { code, errors = [] } = (json ?? {}) as { code?: string; errors?: { pointer: string }[] };
      if (!errors.some(({ pointer }) => inPath.includes(pointer))) answers.push(code);
    }
    expect(answers.length).toBeGreaterThan(0);
    expect(answers.every((code) => code === "VALIDATION_FAILED")).toBe(row.isRequired);
  });
});
