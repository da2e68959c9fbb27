/** Bodies over tRPC: none at all, and those of strangers, which may be short alone. */
import { expect, it } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import { serve } from "../../support/server.ts";

const json = { "content-type": "application/json" };

it("a change that takes nothing needs no body", async () => {
  await using test = await createTestOrchestrator();
  await using server = await serve(test.orchestrator);
  const { token } = await test.signIn("Viewer");
  const call = {
    method: "POST",
    path: "/trpc/auth.signOut",
    headers: { ...json, authorization: `Bearer ${token}` },
  };
  expect((await server.call(call)).status).toBe(200);
  expect((await server.call(call)).status).toBe(401);
});

it.each([
  ["alone", "auth.challenge", true],
  ["first of a batch", "auth.challenge,agents.setStatus?batch=1", true],
  ["last of a batch", "agents.setStatus,auth.verify?batch=1", true],
  ["without one that is open to strangers", "agents.setStatus", false],
])("a long body for calls is read as long as none is open to strangers: %s", async (_, path, isRefused) => {
  await using test = await createTestOrchestrator();
  await using server = await serve(test.orchestrator);
  const body = JSON.stringify({ public_key: "x".repeat(20_000) });
  const { status, text } = await server.call({ method: "POST", path: `/trpc/${path}`, headers: json, body });
  expect([status, text.includes("PAYLOAD_TOO_LARGE")]).toEqual(isRefused ? [413, true] : [401, false]);
});
