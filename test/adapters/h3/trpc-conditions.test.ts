/** A change over tRPC with an `If-Match` that its procedure does not look at was made as if there were none; over REST it was refused. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { serve } from "../../support/server.ts";

it("what goes by no version is refused with a condition, and nothing is changed", async () => {
  await using test = await createTestOrchestrator();
  await using server = await serve(test.orchestrator);
  const { token } = await test.signIn("Operator");
  const send = (name: string, body: object) =>
    server.call({
      method: "POST",
      path: `/trpc/${name}`,
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
        "if-match": '"1"',
      },
      body: JSON.stringify(body),
    });
  const made = await send("secrets.create", { name: "db", value: "hush-hush" });
  expect(made.status).toBe(412);
  expect(made.json).toMatchObject({ error: { data: { problem: { code: "PRECONDITION_FAILED" } } } });
  expect((await test.orchestrator.secrets.list(systemCaller)).items).toEqual([]);
  // One that does go by a version looks at it.
  const content = "name: motd\nresources: []\n";
  await test.orchestrator.modules.upload(systemCaller, { content });
  expect((await send("modules.remove", { name: "motd" })).status).toBe(200);
});
