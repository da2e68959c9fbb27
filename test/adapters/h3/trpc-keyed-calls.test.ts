/** What an `Idempotency-Key` does not change over tRPC. What it does stands in test/adapters/conventions.test.ts. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemorySecretsKey } from "../../support/secrets-key.ts";
import { serve } from "../../support/server.ts";

it("what only reads is read anew", async () => {
  await using test = await createTestOrchestrator();
  await using server = await serve(test.orchestrator);
  const { token } = await test.signIn("Admin");
  const items = async () => {
    const headers = { authorization: `Bearer ${token}`, "idempotency-key": "one" };
    const { json } = await server.call({ path: "/trpc/modules.list?input=%7B%7D", headers });
    return (json as { result: { data: { items: unknown[] } } }).result.data.items;
  };
  expect(await items()).toHaveLength(0);
  await test.orchestrator.modules.upload(systemCaller, { content: "name: motd\nresources: []\n" });
  expect(await items()).toHaveLength(1);
});

it("what comes without one is made each time", async () => {
  await using test = await createTestOrchestrator({ secretsKey: new MemorySecretsKey() });
  await using server = await serve(test.orchestrator);
  const { token } = await test.signIn("Admin");
  const create = () =>
    server.call({
      method: "POST",
      path: "/trpc/secrets.create",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "db", value: "hush-hush" }),
    });
  expect((await create()).status).toBe(200);
  expect((await create()).status).toBe(409);
});

it("what comes with one is made once: its answer is given again, or its refusal", async () => {
  await using test = await createTestOrchestrator({ secretsKey: new MemorySecretsKey() });
  await using server = await serve(test.orchestrator);
  const { token } = await test.signIn("Admin");
  const create = async (key: string) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const { status, json } = await server.call({
      method: "POST",
      path: "/trpc/secrets.create",
      headers: { ...headers, "idempotency-key": key },
      body: JSON.stringify({ name: "db", value: "hush-hush" }),
    });
    return { status, json };
  };
  const first = await create("one");
  expect(first).toMatchObject({ status: 200, json: { result: { data: { name: "db" } } } });
  expect(await create("one")).toEqual(first);
  const refused = await create("two");
  expect(refused.status).toBe(409);
  await test.orchestrator.secrets.remove(systemCaller, { name: "db" });
  expect((await create("two")).status).toBe(409);
  expect((await create("three")).status).toBe(200);
});

it.each([
  ["if-match", "If-Match is not supported here."],
  ["if-none-match", "If-None-Match is not supported here."],
])("a change with %s that nobody would look at is refused, and says so", async (name, message) => {
  await using test = await createTestOrchestrator({ secretsKey: new MemorySecretsKey() });
  await using server = await serve(test.orchestrator);
  const { token } = await test.signIn("Admin");
  const { status, json } = await server.call({
    method: "POST",
    path: "/trpc/secrets.create",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", [name]: '"1"' },
    body: JSON.stringify({ name: "db", value: "hush-hush" }),
  });
  expect(status).toBe(412);
  expect(JSON.stringify(json)).toContain(message);
  expect((await test.orchestrator.secrets.list(systemCaller)).items).toEqual([]);
});

it("a key for several calls at once is refused, and none of them is made", async () => {
  await using test = await createTestOrchestrator({ secretsKey: new MemorySecretsKey() });
  await using server = await serve(test.orchestrator);
  const { token } = await test.signIn("Admin");
  const call = (headers: Record<string, string>) =>
    server.call({
      method: "POST",
      path: "/trpc/secrets.create,secrets.create?batch=1",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      body: JSON.stringify({ 0: { name: "a", value: "hush" }, 1: { name: "b", value: "hush" } }),
    });
  const refused = await call({ "idempotency-key": "k-12345678" });
  expect([refused.status, JSON.stringify(refused.json)]).toEqual([
    400,
    expect.stringContaining("An idempotency key is for one call"),
  ]);
  expect((await test.orchestrator.secrets.list(systemCaller)).items).toEqual([]);
  expect((await call({})).status).toBe(200);
  expect((await test.orchestrator.secrets.list(systemCaller)).items).toHaveLength(2);
});
