import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fromHex, nodeCrypto, systemCaller } from "fleetwright";
import { createClient } from "fleetwright/client";
import { createBrowserKey, createBrowserSigner } from "fleetwright/client/browser";
import { createTestOrchestrator } from "fleetwright/testing";
import { serve } from "../../support/server.ts";

describe("a key in a browser", () => {
  it("can't be read out, survives being kept, and signs in", async () => {
    await using product = await createTestOrchestrator();
    await using server = await serve(product.orchestrator);
    const key = await createBrowserKey();
    await product.orchestrator.operators.add(systemCaller, { username: "ada", public_key: key.publicKey });
    const client = createClient({ url: server.url, signer: createBrowserSigner(structuredClone(key)) });
    expect(await client.auth.session()).toMatchObject({ operator: { username: "ada" } });
    const { privateKey } = key;
    if (privateKey instanceof Uint8Array) throw new Error("Node knows Ed25519.");
    await expect(crypto.subtle.exportKey("pkcs8", privateKey)).rejects.toThrow(/not extractable/i);
  });

  it("signs the same way where the browser does not know Ed25519", async () => {
    vi.spyOn(crypto.subtle, "generateKey").mockRejectedValue(
      new DOMException("Unrecognized name.", "NotSupportedError"),
    );
    onTestFinished(() => void vi.restoreAllMocks());
    const key = await createBrowserKey();
    expect(key.privateKey).toBeInstanceOf(Uint8Array);
    const signature = await createBrowserSigner(key).sign("a text with ü");
    const message = new TextEncoder().encode("a text with ü");
    expect(nodeCrypto.verify(fromHex(key.publicKey) ?? new Uint8Array(), message, signature)).toBe(true);
  });
});
