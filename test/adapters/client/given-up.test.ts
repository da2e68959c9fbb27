/** A call that is given up while somebody signs in for it, which a person may have to confirm: it ends, and the sign-in goes on for others. */
import { getEventListeners } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { nodeCrypto } from "fleetwright";
import { createClient } from "fleetwright/client";
import { createTestOrchestrator } from "fleetwright/testing";
import { toHex } from "../../../lib/crypto/encoding.ts";
import { deferred } from "../../support/deferred.ts";
import { serve } from "../../support/server.ts";
import { waitFor } from "../../support/wait-for.ts";

/** A client whose key signs when a test says so. */
async function start(token?: string) {
  const { publicKey, secretKey } = nodeCrypto.createSigningKeyPair();
  const product = await createTestOrchestrator({ adminPublicKeys: [toHex(publicKey)] });
  const server = await serve(product.orchestrator);
  onTestFinished(async () => {
    await server[Symbol.asyncDispose]();
    await product[Symbol.asyncDispose]();
  });
  const confirmed = deferred<void>();
  let asked = 0;
  const own = nodeCrypto.createSigner(secretKey);
  const signer = {
    publicKey: toHex(publicKey),
    async sign(message: string) {
      asked += 1;
      await confirmed.promise;
      return own.sign(Buffer.from(message));
    },
  };
  const client = createClient({ url: server.url, signer, ...(token !== undefined && { token }) });
  return { client, confirm: () => confirmed.resolve(), asked: () => asked };
}

test.each([
  ["that has not signed in", undefined],
  ["whose session has ended", "fw_gone"],
])(
  "a call of a client %s ends with its signal, and others with the same sign-in get theirs",
  async (_, token) => {
    const { client, confirm, asked } = await start(token);
    const stop = new AbortController();
    const given = client.agents.list({}, { signal: stop.signal });
    const kept = client.agents.list();
    await waitFor(() => expect(asked()).toBe(1));
    stop.abort(new Error("The page was left."));
    await expect(given).rejects.toThrow("The page was left.");
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    confirm();
    expect(await kept).toMatchObject({ items: [] });
    expect(asked()).toBe(1);
  },
);

test("a stream ends with its signal, too", async () => {
  const { client, confirm, asked } = await start();
  const stop = new AbortController();
  const first = client.events.stream({}, stop.signal).next();
  await waitFor(() => expect(asked()).toBe(1));
  stop.abort();
  expect(await first).toEqual({ done: true, value: undefined });
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
  confirm();
});

test("a call whose signal has ended before asks nobody to sign", async () => {
  const { client, asked } = await start();
  const given = client.agents.list({}, { signal: AbortSignal.abort(new Error("Too late.")) });
  await expect(given).rejects.toThrow("Too late.");
  expect(asked()).toBe(0);
});
