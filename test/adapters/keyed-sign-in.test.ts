/**
 * A sign-in that carries an idempotency key, as every change does that a client makes which is signed in already: the answer, with the token of
 * the new session, was kept on disk for a day and came with every backup. And an old token, which is in nobody's way else, was refused.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toHex, type Signer } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { createClient } from "../../adapters/client/client.ts";
import type { Answer } from "../support/http.ts";
import { serve, type TestServer } from "../support/server.ts";

let test: TestOrchestrator;
let server: TestServer;

beforeAll(async () => {
  test = await createTestOrchestrator();
  server = await serve(test.orchestrator);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await test[Symbol.asyncDispose]();
});

type Challenge = { challenge_id: string; message: string };

async function stored(): Promise<string> {
  const { items } = await test.storage.list("idempotent_calls", { limit: 1_000 });
  return JSON.stringify(items);
}

const ways: [string, (json: unknown) => unknown, (verb: string) => string][] = [
  ["REST", (json) => json, (verb) => `/api/v1/auth/${verb}`],
  ["tRPC", (json) => (json as { result?: { data: unknown } }).result?.data, (verb) => `/trpc/auth.${verb}`],
];

describe.each(ways)("over %s", (way, read, pathOf) => {
  let keys = 0;
  const call = (token: string, verb: string, body: object): Promise<Answer> =>
    server.call({
      method: "POST",
      path: pathOf(verb),
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${token}`,
        "idempotency-key": `${way}-${(keys += 1)}`,
      },
      body: JSON.stringify(body),
    });
  const signInWith = async (token: string, signer: Signer): Promise<string> => {
    const asked = await call(token, "challenge", { public_key: toHex(signer.publicKey) });
    expect(asked.status).toBe(200);
    const { challenge_id, message } = read(asked.json) as Challenge;
    const verified = await call(token, "verify", {
      challenge_id,
      signature: toHex(signer.sign(Buffer.from(message))),
    });
    expect(verified.status).toBe(200);
    return (read(verified.json) as { token: string }).token;
  };

  it("who is signed in gets a token that is kept nowhere", async () => {
    const { token, signer } = await test.signIn("Admin", `admin-${way}`);
    const another = await signInWith(token, signer);
    expect(another).toMatch(/^fw_/);
    expect(await stored()).not.toContain(another);
  });

  it("whose session is over signs in all the same", async () => {
    const { token, signer, caller } = await test.signIn("Viewer", `viewer-${way}`);
    await test.orchestrator.access.signOut(caller);
    expect(await signInWith(token, signer)).toMatch(/^fw_/);
  });
});

it("a client that is signed in, and signs in by hand once more, has its token kept nowhere", async () => {
  // Of its own: the connections of the client end with it.
  await using own = await serve(test.orchestrator);
  const { token, signer } = await test.signIn("Admin", "by-hand");
  const client = createClient({ url: own.url, token });
  const asked = { public_key: toHex(signer.publicKey) };
  const { challenge_id, message } = await client.request<Challenge>("POST", "/auth/challenge", {
    body: asked,
  });
  const signature = toHex(signer.sign(Buffer.from(message)));
  const session = await client.request<{ token: string }>("POST", "/auth/verify", {
    body: { challenge_id, signature },
  });
  expect(await stored()).not.toContain(session.token);
});
