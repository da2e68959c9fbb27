/** Sign-ins at a server that relays to another one: it must get neither a session there nor any signature. */
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryStorage, toHex } from "fleetwright";
import { createClient } from "fleetwright/client";
import type { ApiError, Client } from "fleetwright/client";
import { createKeyFile } from "fleetwright/client/node";
import { startServer } from "fleetwright/h3";
import type { ServerOptions } from "fleetwright/h3";
import { startRogue } from "../support/rogue-server.ts";
import type { Fields, RogueOptions } from "../support/rogue-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A field that is undefined is not sent. */
const withoutAudience = (asked: Fields): Fields => ({ ...asked, audience: undefined });
const otherKey = "f".repeat(64);
const agentProof = `fleetwright/1 agent\0${"x".repeat(32)}`;

/** How a rogue may go about it, and what the client says. */
const attempts: readonly [string, RogueOptions, string][] = [
  ["passes everything on", {}, "ORIGIN_REFUSED"],
  ["leaves the audience out", { ask: withoutAudience }, "PROTOCOL_ERROR"],
  ["leaves everything out but the key", { ask: ({ public_key }) => ({ public_key }) }, "PROTOCOL_ERROR"],
  [
    "asks for the text of the real server's own clients",
    { ask: (asked, { realUrl }) => ({ ...asked, audience: realUrl }) },
    "PROTOCOL_ERROR",
  ],
  [
    "names its own address beside the real text",
    {
      ask: (asked, { realUrl }) => ({ ...asked, audience: realUrl }),
      challenge: (challenge, asked) => ({ ...challenge, audience: asked["audience"] }),
    },
    "PROTOCOL_ERROR",
  ],
  [
    "hides lines in the name of the service",
    {
      ask: withoutAudience,
      challenge: (challenge, { audience }) => ({
        ...challenge,
        service: `fleetwright\naudience: ${String(audience)}`,
      }),
    },
    "PROTOCOL_ERROR",
  ],
  [
    "hides lines in the expiry",
    {
      ask: withoutAudience,
      challenge: (challenge) => ({ ...challenge, expires_at: `${String(challenge["expires_at"])}\nx: y` }),
    },
    "PROTOCOL_ERROR",
  ],
  [
    "names the real key in a text of its own, which it can't prove",
    {
      ask: withoutAudience,
      challenge: (challenge, { audience, client_nonce }) => ({
        ...challenge,
        message: String(challenge["message"])
          .replace(/^audience: .*$/m, `audience: ${String(audience)}`)
          .replace(/^client nonce: .*$/m, `client nonce: ${String(client_nonce)}`),
      }),
    },
    "SIGNATURE_INVALID",
  ],
  [
    "sends the text of an agent's handshake",
    { ask: ({ public_key }) => ({ public_key }), challenge: (each) => ({ ...each, message: agentProof }) },
    "PROTOCOL_ERROR",
  ],
  [
    "sends no text at all",
    { ask: ({ public_key }) => ({ public_key }), challenge: () => ({}) },
    "PROTOCOL_ERROR",
  ],
];

describe("a server that relays the challenge of another one gets nothing", () => {
  it.each(attempts)("when it %s", async (_, options, code) => {
    const { url, signer } = await startReal();
    const rogue = await startRogue(url, options);
    const keys: string[] = [];
    const onOrchestratorKey = (key: string): void => void keys.push(key);
    const error = await refusalOf(createClient({ url: rogue.url, signer, onOrchestratorKey }));
    expect(rogue).toMatchObject({ tokens: [], signatures: [] });
    expect(error.code).toBe(code);
    // Nothing that would be pinned.
    expect(keys).toEqual([]);
  });

  it("when it is called by a name that the real server does not have", async () => {
    const { url, signer, port } = await startReal({ allowedHosts: ["fleet.example"] });
    const rogue = await startRogue(url);
    const client = (name: string, to: string): Client =>
      createClient({
        url: `http://${name}`,
        signer,
        // As a resolver would: the name leads there.
        fetch: (target, init) => fetch(target.replace(`http://${name}`, to), init),
      });
    expect((await refusalOf(client("rogue.example", rogue.url))).code).toBe("ORIGIN_REFUSED");
    expect((await refusalOf(client(`localhost:${port + 1}`, rogue.url))).code).toBe("ORIGIN_REFUSED");
    expect(rogue).toMatchObject({ tokens: [], signatures: [] });
    const session = await client("fleet.example", url).signIn();
    expect(session.operator.role).toBe("Admin");
  });

  it("over tRPC", async () => {
    const { url, signer } = await startReal();
    const ask = async (audience: string): Promise<number> => {
      const body = JSON.stringify({ public_key: signer.publicKey, audience });
      const headers = { "content-type": "application/json" };
      return (await fetch(`${url}/trpc/auth.challenge`, { method: "POST", headers, body })).status;
    };
    expect(await ask("http://127.0.0.1:1")).toBe(403);
    expect(await ask(url)).toBe(200);
  });
});

describe("a client that knows the orchestrator's key", () => {
  it("refuses every other, before it looks at anything else", async () => {
    const { url, signer, orchestratorKey } = await startReal();
    const rogue = await startRogue(url, { ask: withoutAudience });
    const error = await refusalOf(createClient({ url: rogue.url, signer, orchestratorKey: otherKey }));
    expect(error).toMatchObject({
      code: "ORCHESTRATOR_KEY_CHANGED",
      problem: { details: { pinned: otherKey, seen: orchestratorKey } },
    });
    expect(rogue).toMatchObject({ tokens: [], signatures: [] });
  });

  it("holds on to the one that it saw first, and tells of it before it signs", async () => {
    const first = await startReal();
    const second = await startReal({ adminPublicKeys: [first.signer.publicKey] });
    let at = first;
    const told: string[] = [];
    const client = createClient({
      url: "http://fleet.example",
      signer: first.signer,
      fetch: (target, init) => fetch(target.replace("http://fleet.example", at.url), init),
      onOrchestratorKey: (key) => void told.push(key),
    });
    await client.signIn();
    await client.signIn();
    expect(told).toEqual([first.orchestratorKey]);
    at = second;
    expect((await refusalOf(client)).code).toBe("ORCHESTRATOR_KEY_CHANGED");
  });

  it("signs nothing where the one who hears of the key does not want it", async () => {
    const { url, signer } = await startReal();
    const signed: string[] = [];
    const watched = { ...signer, sign: (text: string) => (signed.push(text), signer.sign(text)) };
    const onOrchestratorKey = (): never => {
      throw new Error("Not that one.");
    };
    const refused = createClient({ url, signer: watched, onOrchestratorKey }).signIn();
    await expect(refused).rejects.toThrow("Not that one.");
    expect(signed).toEqual([]);
    await createClient({ url, signer: watched }).signIn();
    expect(signed).toEqual([expect.stringContaining(`\naudience: ${url}\n`)]);
  });
});

async function refusalOf(client: Client): Promise<ApiError> {
  return client.signIn().then(
    () => expect.unreachable("It signed in."),
    (error: unknown) => error as ApiError,
  );
}

async function startReal(options: Partial<ServerOptions> = {}) {
  const signer = createKeyFile(join(temporaryFolder(), "key"));
  const server = await startServer({
    storage: new MemoryStorage(),
    adminPublicKeys: [signer.publicKey],
    ...options,
    listen: { port: 0 },
  });
  onTestFinished(() => server.close());
  const { url, orchestrator } = server;
  return { url, port: Number(new URL(url).port), signer, orchestratorKey: toHex(orchestrator.publicKey) };
}
