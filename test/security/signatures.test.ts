/** What one key signs for one purpose is worth nothing for any other, even where a machine and a person share the key. */
import { describe, expect, it } from "vitest";
import { systemCaller, toHex } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { Signer } from "../../lib/crypto/crypto.ts";
import { toUtf8 } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { createAgentHandshake } from "../../lib/wire/agent-handshake.ts";
import type { AgentHandshake } from "../../lib/wire/agent-handshake.ts";
import { createOrchestratorHandshake } from "../../lib/wire/orchestrator-handshake.ts";
import { labels } from "../../lib/wire/transcript.ts";
import { listFiles, readText } from "../architecture/source-tree.ts";

const anonymous = { kind: "anonymous" } as const;

describe("an agent at a rogue orchestrator", () => {
  it("signs nothing by which the rogue gets a session, although an Admin has the same key", async () => {
    await using test = await createTestOrchestrator();
    const { access, operators } = test.orchestrator;
    const { signer, signed } = recordingSigner();
    const public_key = toHex(signer.publicKey);
    await operators.add(systemCaller, { username: "ada", public_key, role: "Admin" });
    const attempts = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const challenge = await access.challenge(anonymous, { public_key });
      const rogue = createOrchestratorHandshake({
        crypto: nodeCrypto,
        signer: newSigner(),
        tlsExporter: null,
      });
      attempts.push({ challenge, step: meet(agentOf(signer), rogue) });
    }
    expect(attempts.map(({ step }) => step)).toEqual(["proved", "proved", "proved"]);
    expect(signed).toHaveLength(3);
    for (const [index, { challenge }] of attempts.entries()) {
      const { challenge_id } = challenge;
      const signature = toHex(signed[index]!.signature);
      await expect(access.verify(anonymous, { challenge_id, signature })).rejects.toMatchObject({
        code: "SIGNATURE_INVALID",
      });
    }
    for (const { message } of signed) {
      expect(new TextDecoder().decode(message.subarray(0, 20))).toBe("fleetwright/1 agent\0");
      expect(message).toHaveLength(20 + 32);
    }
  });

  it("signs nothing at all for one that passes on the welcome of the real one", () => {
    const { signer, signed } = recordingSigner();
    const options = { crypto: nodeCrypto, signer: newSigner(), tlsExporter: null };
    const agent = agentOf(signer);
    // The rogue needs keys of its own to read what follows, so it can't pass on the greeting as it is.
    const hello = JSON.parse(agent.hello()) as object;
    const ephemeral_key = toHex(nodeCrypto.createExchangeKeyPair().publicKey);
    const welcome = createOrchestratorHandshake(options).receive(JSON.stringify({ ...hello, ephemeral_key }));
    if (welcome.kind !== "send") throw new Error("no welcome");
    expect(() => agent.receive(welcome.frame)).toThrow(
      expect.objectContaining({ code: "SIGNATURE_INVALID" }),
    );
    expect(signed).toEqual([]);
  });

  it("takes the proof of a sign-in for no welcome", async () => {
    await using test = await createTestOrchestrator();
    const real = test.orchestrator;
    const { signer, signed } = recordingSigner();
    const agent = agentOf(signer);
    const hello = agent.hello();
    const rogue = createOrchestratorHandshake({ crypto: nodeCrypto, signer: newSigner(), tlsExporter: null });
    const welcome = rogue.receive(hello);
    if (welcome.kind !== "send") throw new Error("no welcome");
    const { proof } = await real.access.challenge(anonymous, { public_key: toHex(signer.publicKey) });
    const forged = {
      ...(JSON.parse(welcome.frame) as object),
      public_key: toHex(real.publicKey),
      signature: proof,
    };
    expect(() => agent.receive(JSON.stringify(forged))).toThrow(
      expect.objectContaining({ code: "SIGNATURE_INVALID" }),
    );
    expect(signed).toEqual([]);
  });
});

it("every text that is signed begins with a purpose of its own, and none with another's", () => {
  const purposes = [
    ...Object.values(labels).map((label) => `${label}\0`),
    "fleetwright/1 sign-in challenge\0",
    "fleetwright/1 operator sign-in\n",
    "fleetwright/1 announcement\0",
    "fleetwright/1 announcement answer\0",
    "fleetwright/1 audit anchor\n",
    "fleetwright/1 audit head\n",
    "fleetwright/1 backup\0",
  ];
  /** What keys are derived for: nothing of it is signed. */
  const derived = [
    "agent to orchestrator",
    "orchestrator to agent",
    "challenge",
    "idempotency",
    "secret placeholder",
    "secret value",
    "secrets",
  ];
  const known = [
    ...purposes.map((each) => each.slice(0, -1)),
    ...derived.map((each) => `fleetwright/1 ${each}`),
  ];
  const inSources = listFiles("lib").flatMap(
    (path) => readText(path)?.match(/fleetwright\/1 [a-z -]+/g) ?? [],
  );
  expect([...new Set(inSources)].sort()).toEqual(known.sort());
  for (const [at, one] of purposes.entries()) {
    for (const other of purposes.slice(at + 1))
      expect(one.startsWith(other) || other.startsWith(one)).toBe(false);
  }
});

it("a sign-in's proof is over the whole text, with the nonce and the origin that the caller sent", async () => {
  await using test = await createTestOrchestrator();
  const input = {
    public_key: "82dbc4681e280b749ca508bb9dc2cb8aa16c4cfb4d653a60d06c7375448245ce",
    audience: "https://fleet.example",
    client_nonce: "ab".repeat(32),
  };
  const { message, proof, orchestrator_key } = await test.orchestrator.access.challenge(anonymous, input);
  expect(message.split("\n").slice(0, 6)).toEqual([
    "fleetwright/1 operator sign-in",
    "service: fleetwright",
    "audience: https://fleet.example",
    `orchestrator: ${orchestrator_key}`,
    `operator: ${input.public_key}`,
    `client nonce: ${input.client_nonce}`,
  ]);
  const verify = (text: string): boolean =>
    nodeCrypto.verify(test.orchestrator.publicKey, toUtf8(text), Buffer.from(proof, "hex"));
  expect(verify(`fleetwright/1 sign-in challenge\0${message}`)).toBe(true);
  expect(verify(message)).toBe(false);
  expect(verify(`fleetwright/1 sign-in challenge\0${message.replace("fleet.", "other.")}`)).toBe(false);
});

it("the longest text there can be still signs in", async () => {
  await using test = await createTestOrchestrator();
  const { access, operators } = test.orchestrator;
  const signer = newSigner();
  const public_key = toHex(signer.publicKey);
  await operators.add(systemCaller, { username: "ada", public_key });
  const audience = `https://${"a".repeat(286)}:65535`;
  expect(audience).toHaveLength(300);
  const client_nonce = "ab".repeat(32);
  const { challenge_id, message } = await access.challenge(anonymous, { public_key, audience, client_nonce });
  const signature = toHex(signer.sign(toUtf8(message)));
  expect(await access.verify(anonymous, { challenge_id, signature })).toMatchObject({
    operator: { username: "ada" },
  });
});

it.each([
  "http://a/b",
  "http://a:80",
  "HTTP://a",
  "ftp://a",
  "http://a\nb",
  "a",
  "",
  "http://u@a",
  `http://${"a".repeat(300)}`,
])("refuses %j as an origin", async (audience) => {
  await using test = await createTestOrchestrator();
  const asked = test.orchestrator.access.challenge(anonymous, { public_key: "ab".repeat(32), audience });
  await expect(asked).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
});

it.each(["", "two\nlines", "a\u2028b", "x".repeat(201)])(
  "refuses %j as the name of a service",
  async (serviceName) => {
    await expect(createTestOrchestrator({ serviceName })).rejects.toMatchObject({
      code: "OPTIONS_INVALID",
      issues: [{ path: ["serviceName"] }],
    });
  },
);

function newSigner(): Signer {
  return nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
}

/** A signer that remembers what it was made to sign. */
function recordingSigner() {
  const signer = newSigner();
  const signed: { message: Uint8Array; signature: Uint8Array }[] = [];
  const sign = (message: Uint8Array): Uint8Array => {
    const signature = signer.sign(message);
    signed.push({ message, signature });
    return signature;
  };
  return { signer: { publicKey: signer.publicKey, sign }, signed };
}

function agentOf(signer: Signer): AgentHandshake {
  return createAgentHandshake({
    crypto: nodeCrypto,
    signer,
    boxPublicKey: nodeCrypto.createExchangeKeyPair().publicKey,
    description: { agent_version: "1.2.3", hostname: "web-1", platform: "linux" },
    pinnedKey: null,
    tlsExporter: null,
  });
}

/** Has them shake hands; tells how far they got. */
function meet(agent: AgentHandshake, orchestrator: ReturnType<typeof createOrchestratorHandshake>): string {
  const welcome = orchestrator.receive(agent.hello());
  if (welcome.kind !== "send") return "no welcome";
  const prove = agent.receive(welcome.frame);
  return prove.kind === "send" ? orchestrator.receive(prove.frame).kind : "no proof";
}
