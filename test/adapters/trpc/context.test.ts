import { expect, test } from "vitest";
import { createContextFactory } from "../../../adapters/trpc/context.ts";
import { createTestOrchestrator } from "../../../lib/testing/index.ts";

const request = { request_id: "r", source_address: "203.0.113.7", if_match: null };

test("who calls is whom the bearer token of the header is of, however it is spaced and spelled", async () => {
  await using served = await createTestOrchestrator();
  const { token } = await served.signIn("Viewer", "ada");
  const contextOf = createContextFactory(served.orchestrator);
  for (const header of [`Bearer ${token}`, `bearer   ${token}  `, `BEARER ${token}`])
    expect(await contextOf(request, header).caller()).toMatchObject({
      username: "ada",
      origin: { request_id: "r", source_address: "203.0.113.7" },
    });
  expect(await contextOf(request, undefined).caller()).toMatchObject({ kind: "anonymous" });
});

test.each([
  ["something before it", (token: string) => `Basic Bearer ${token}`],
  ["something behind it", (token: string) => `Bearer ${token} x`],
  ["nothing between", (token: string) => `Bearer${token}`],
  ["another scheme", (token: string) => `Token ${token}`],
  ["more than a token ever is", (token: string) => `Bearer ${token}${" ".repeat(600)}`],
])("a header with %s is refused", async (_, headerOf) => {
  await using served = await createTestOrchestrator();
  const { token } = await served.signIn("Viewer", "ada");
  const context = createContextFactory(served.orchestrator)(request, headerOf(token));
  await expect(context.caller()).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    message: "The Authorization header must be a bearer token.",
  });
});
