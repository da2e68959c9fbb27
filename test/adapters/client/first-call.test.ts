import { expect, test } from "vitest";
import { createClient, type Fetch } from "fleetwright/client";
import { readSigner } from "fleetwright/client/node";
import { startCommandLine } from "../../support/command-line.ts";

test("a first change carries its key, though nobody has signed in before it, and a sign-in none", async () => {
  const { server, key } = await startCommandLine();
  const keys: Record<string, boolean> = {};
  const recording: Fetch = (url, init) => {
    keys[`${init.method} ${new URL(url).pathname}`] = new Headers(init.headers).has("idempotency-key");
    return fetch(url, init);
  };
  // What is undefined counts as not given.
  const client = createClient({
    url: server.url,
    signer: readSigner(key),
    fetch: recording,
    ...({ token: undefined, onToken: undefined, onAway: undefined, spelt_wrongly: undefined } as object),
  });
  expect(await client.agents.rejectPending({ connected: false })).toMatchObject({ rejected: 0 });
  expect(keys).toEqual({
    "POST /api/v1/auth/challenge": false,
    "POST /api/v1/auth/verify": false,
    "POST /api/v1/pending-agents/reject": true,
  });
});
