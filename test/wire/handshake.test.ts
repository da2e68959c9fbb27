/** Both sides of the handshake together: every step, and every way in which a peer or a relay may cheat. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Crypto } from "../../lib/crypto/crypto.ts";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { createAgentHandshake } from "../../lib/wire/agent-handshake.ts";
import { createOrchestratorHandshake } from "../../lib/wire/orchestrator-handshake.ts";
import {
  agentOptions,
  agentSigner,
  boxPublicKey,
  codeOf,
  establish,
  nodeId,
  orchestratorOptions,
  orchestratorSigner,
  orchestratorTime,
} from "./support/peers.ts";

const smallOrder = "00".repeat(32);

/** Both sides up to the frame that is named. */
function upTo(step: "hello" | "welcome" | "prove" | "proved") {
  const agent = createAgentHandshake(agentOptions());
  const orchestrator = createOrchestratorHandshake(orchestratorOptions());
  const hello = agent.hello();
  const none = new Uint8Array();
  if (step === "hello") return { agent, orchestrator, hello, welcome: "", prove: none };
  const welcome = orchestrator.receive(hello);
  if (welcome.kind !== "send") throw new Error("no welcome");
  if (step === "welcome") return { agent, orchestrator, hello, welcome: welcome.frame, prove: none };
  const prove = agent.receive(welcome.frame);
  if (prove.kind !== "send") throw new Error("no proof");
  if (step === "proved") orchestrator.receive(prove.frame);
  return { agent, orchestrator, hello, welcome: welcome.frame, prove: prove.frame };
}

/** A message with some fields replaced. */
function altered(frame: string, fields: Record<string, unknown>): string {
  return JSON.stringify({ ...(JSON.parse(frame) as object), ...fields });
}

describe("a handshake between honest peers", () => {
  test("names the agent by its key and hands over what it said of itself", () => {
    const { orchestrator, prove } = upTo("prove");
    expect(orchestrator.receive(prove)).toEqual({
      kind: "proved",
      agent: {
        node_id: nodeId,
        public_key: toHex(agentSigner.publicKey),
        box_public_key: toHex(boxPublicKey),
        agent_version: "1.2.3",
        hostname: "web-1",
        platform: "linux",
      },
    });
  });

  test.each(["pending", "approved", "rejected"] as const)("tells the agent that it is %s", (status) => {
    const { agent, orchestrator } = upTo("proved");
    const accepted = agent.receive(orchestrator.accept(status, orchestratorTime).frame);
    expect(accepted).toMatchObject({ kind: "accepted", status, orchestratorTime });
  });

  test.each([
    ["that is known is not tested again", true],
    ["that is not known is tested", false],
  ])("an agent's key %s", (_, isKnown) => {
    const tested: string[] = [];
    const crypto: Crypto = {
      ...nodeCrypto,
      isAcceptablePublicKey(key) {
        tested.push("key");
        return nodeCrypto.isAcceptablePublicKey(key);
      },
      verify(key, message, signature, options) {
        if (options?.isKnownKey !== true) tested.push("key of the signature");
        return nodeCrypto.verify(key, message, signature, options);
      },
    };
    const isKnownKey = (key: string): boolean => isKnown && key === toHex(agentSigner.publicKey);
    const agent = createAgentHandshake(agentOptions());
    const orchestrator = createOrchestratorHandshake(orchestratorOptions({ crypto, isKnownKey }));
    const welcome = orchestrator.receive(agent.hello());
    const prove = welcome.kind === "send" ? agent.receive(welcome.frame) : null;
    expect(prove?.kind === "send" && orchestrator.receive(prove.frame)).toMatchObject({ kind: "proved" });
    expect(tested).toEqual(isKnown ? [] : ["key", "key of the signature"]);
  });

  test("hands over the key of an orchestrator that was not pinned", () => {
    const agent = createAgentHandshake(agentOptions({ pinnedKey: null }));
    const orchestrator = createOrchestratorHandshake(orchestratorOptions());
    const welcome = orchestrator.receive(agent.hello());
    const prove = welcome.kind === "send" ? agent.receive(welcome.frame) : null;
    if (prove?.kind !== "send") throw new Error("no proof");
    orchestrator.receive(prove.frame);
    const accepted = agent.receive(orchestrator.accept("approved", orchestratorTime).frame);
    expect(accepted).toMatchObject({ orchestratorKey: orchestratorSigner.publicKey });
  });

  test("does not show the name of the machine to who listens", () => {
    const { frames } = establish();
    const seen = frames.hello + frames.welcome + Buffer.from(frames.prove).toString("latin1");
    expect(seen).not.toContain("web-1");
  });

  test("takes frames of just 16 KiB, and none that is a byte longer", () => {
    const ofLength = (frame: string, length: number): string => frame.padEnd(length);
    const { orchestrator, hello } = upTo("hello");
    expect(orchestrator.receive(ofLength(hello, 16_384))).toMatchObject({ kind: "send" });
    const { agent, welcome } = upTo("welcome");
    expect(agent.receive(ofLength(welcome, 16_384))).toMatchObject({ kind: "send" });
    expect(codeOf(() => upTo("hello").orchestrator.receive(ofLength(hello, 16_385)))).toBe("PROTOCOL_ERROR");
    expect(codeOf(() => upTo("welcome").agent.receive(ofLength(welcome, 16_385)))).toBe("PROTOCOL_ERROR");
  });

  test("works when only one side sees TLS, as behind a proxy", () => {
    const tlsExporter = new Uint8Array(32).fill(5);
    expect(JSON.parse(establish({ agent: { tlsExporter } }).frames.welcome)).toMatchObject({
      channel_binding: false,
    });
    expect(JSON.parse(establish({ orchestrator: { tlsExporter } }).frames.welcome)).toMatchObject({
      channel_binding: false,
    });
  });
});

describe("a cheating orchestrator or relay is refused by the agent", () => {
  test("with another key than the pinned one", () => {
    const agent = createAgentHandshake(agentOptions({ pinnedKey: agentSigner.publicKey }));
    const welcome = createOrchestratorHandshake(orchestratorOptions()).receive(agent.hello());
    expect(codeOf(() => agent.receive(welcome.kind === "send" ? welcome.frame : ""))).toBe(
      "ORCHESTRATOR_KEY_CHANGED",
    );
  });

  test("that relays the handshake and puts in its own ephemeral key, either way", () => {
    const own = toHex(nodeCrypto.createExchangeKeyPair().publicKey);
    const towards = upTo("hello");
    const welcome = towards.orchestrator.receive(altered(towards.hello, { ephemeral_key: own }));
    expect(codeOf(() => towards.agent.receive(welcome.kind === "send" ? welcome.frame : ""))).toBe(
      "SIGNATURE_INVALID",
    );
    const back = upTo("welcome");
    expect(codeOf(() => back.agent.receive(altered(back.welcome, { ephemeral_key: own })))).toBe(
      "SIGNATURE_INVALID",
    );
  });

  test("that ends TLS itself and relays what is inside", () => {
    const agent = createAgentHandshake(agentOptions({ tlsExporter: new Uint8Array(32).fill(1) }));
    const orchestrator = createOrchestratorHandshake(
      orchestratorOptions({ tlsExporter: new Uint8Array(32).fill(2) }),
    );
    const welcome = orchestrator.receive(agent.hello());
    expect(codeOf(() => agent.receive(welcome.kind === "send" ? welcome.frame : ""))).toBe(
      "SIGNATURE_INVALID",
    );
  });

  test("that claims a TLS connection which the agent does not have", () => {
    const { agent, welcome } = upTo("welcome");
    expect(codeOf(() => agent.receive(altered(welcome, { channel_binding: true })))).toBe("PROTOCOL_ERROR");
  });

  test.each([
    [
      "an old welcome",
      (welcome: string) => altered(welcome, { nonce: "11".repeat(32) }),
      "SIGNATURE_INVALID",
    ],
    [
      "a version that was not offered",
      (welcome: string) => altered(welcome, { version: 2 }),
      "VERSION_UNSUPPORTED",
    ],
    ["an unknown field", (welcome: string) => altered(welcome, { extra: 1 }), "PROTOCOL_ERROR"],
    ["no JSON", () => "welcome", "PROTOCOL_ERROR"],
    ["a frame above 16 KiB", (welcome: string) => welcome + " ".repeat(16 * 1024), "PROTOCOL_ERROR"],
    ["a refusal", () => '{"type":"refused","code":"RATE_LIMITED","message":"later"}', "RATE_LIMITED"],
    [
      "a refusal that is not known here",
      () => '{"type":"refused","code":"NEWER","message":""}',
      "PEER_ERROR",
    ],
    [
      "a refusal named like a member of objects",
      () => '{"type":"refused","code":"CONSTRUCTOR","message":""}',
      "PEER_ERROR",
    ],
  ])("that sends %s in place of its welcome", (_, change, code) => {
    const { agent, welcome } = upTo("welcome");
    expect(codeOf(() => agent.receive(change(welcome)))).toBe(code);
    expect(codeOf(() => agent.receive(welcome))).toBe("PROTOCOL_ERROR");
  });

  test("that proves a key of small order, which anybody can", () => {
    const agent = createAgentHandshake(agentOptions({ pinnedKey: null }));
    const hello = agent.hello();
    const identity = `01${"00".repeat(31)}`;
    const weak = {
      publicKey: Uint8Array.from(Buffer.from(identity, "hex")),
      sign: () => Uint8Array.from(Buffer.from(identity + "00".repeat(32), "hex")),
    };
    const welcome = createOrchestratorHandshake(orchestratorOptions({ signer: weak })).receive(hello);
    expect(codeOf(() => agent.receive(welcome.kind === "send" ? welcome.frame : ""))).toBe("KEY_REFUSED");
  });

  test("that sends an ephemeral key of small order", () => {
    const agent = createAgentHandshake(agentOptions());
    const weak = {
      ...nodeCrypto,
      createExchangeKeyPair: () => ({ secretKey: new Uint8Array(32).fill(7), publicKey: new Uint8Array(32) }),
    };
    const welcome = createOrchestratorHandshake(orchestratorOptions({ crypto: weak })).receive(agent.hello());
    expect(codeOf(() => agent.receive(welcome.kind === "send" ? welcome.frame : ""))).toBe("KEY_REFUSED");
  });

  test("with any byte of any of its frames changed", () => {
    fc.assert(
      fc.property(fc.boolean(), fc.nat(), fc.integer({ min: 1, max: 255 }), (first, at, flip) => {
        const sides = upTo(first ? "welcome" : "proved");
        if (first) {
          const changed = flipText(sides.welcome, at, flip);
          expect(codeOf(() => sides.agent.receive(changed))).toMatch(refusals);
        } else {
          const changed = flipped(sides.orchestrator.accept("approved", orchestratorTime).frame, at, flip);
          expect(codeOf(() => sides.agent.receive(changed))).toBe("PROTOCOL_ERROR");
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe("a cheating agent or relay is refused by the orchestrator", () => {
  test.each([
    ["no common version", { versions: [2, 3] }, "VERSION_UNSUPPORTED"],
    ["an identity of small order", { node_public_key: `01${"00".repeat(31)}` }, "KEY_REFUSED"],
    ["an identity that is not on the curve", { node_public_key: `02${"00".repeat(31)}` }, "KEY_REFUSED"],
    ["an ephemeral key of small order", { ephemeral_key: smallOrder }, "KEY_REFUSED"],
    ["a box key of small order", { box_public_key: smallOrder }, "KEY_REFUSED"],
    ["a claimed node_id", { node_id: nodeId }, "PROTOCOL_ERROR"],
    ["upper-case hex, a second form of the same key", { nonce: "AB".repeat(32) }, "PROTOCOL_ERROR"],
    ["half of a surrogate pair", { agent_version: "\ud800" }, "PROTOCOL_ERROR"],
    ["too much of a version", { agent_version: "1".repeat(65) }, "PROTOCOL_ERROR"],
    ["another type", { type: "prove" }, "PROTOCOL_ERROR"],
  ])("with %s in its hello", (_, fields, code) => {
    const { orchestrator, hello } = upTo("hello");
    expect(codeOf(() => orchestrator.receive(altered(hello, fields)))).toBe(code);
    expect(codeOf(() => orchestrator.receive(hello))).toBe("PROTOCOL_ERROR");
  });

  test("that does not hold the key it names", () => {
    const impostor = { publicKey: agentSigner.publicKey, sign: orchestratorSigner.sign };
    const agent = createAgentHandshake(agentOptions({ signer: impostor }));
    const orchestrator = createOrchestratorHandshake(orchestratorOptions());
    const welcome = orchestrator.receive(agent.hello());
    const prove = welcome.kind === "send" ? agent.receive(welcome.frame) : null;
    expect(codeOf(() => orchestrator.receive(prove?.kind === "send" ? prove.frame : ""))).toBe(
      "SIGNATURE_INVALID",
    );
  });

  test("that repeats a proof recorded from another handshake", () => {
    const { frames } = establish();
    const orchestrator = createOrchestratorHandshake(orchestratorOptions({ crypto: nodeCrypto }));
    orchestrator.receive(frames.hello);
    expect(codeOf(() => orchestrator.receive(frames.prove))).toBe("PROTOCOL_ERROR");
  });

  test("with a first frame that is binary, or above 16 KiB, or nested 20,000 deep", () => {
    const { hello } = upTo("hello");
    for (const frame of [
      new TextEncoder().encode(hello),
      hello + " ".repeat(16 * 1024),
      "[".repeat(16_000),
    ]) {
      const orchestrator = createOrchestratorHandshake(orchestratorOptions());
      expect(codeOf(() => orchestrator.receive(frame))).toBe("PROTOCOL_ERROR");
    }
  });

  test("with any byte of any of its frames changed", () => {
    fc.assert(
      fc.property(fc.boolean(), fc.nat(), fc.integer({ min: 1, max: 255 }), (first, at, flip) => {
        const sides = upTo(first ? "hello" : "prove");
        if (!first) {
          expect(codeOf(() => sides.orchestrator.receive(flipped(sides.prove, at, flip)))).toBe(
            "PROTOCOL_ERROR",
          );
          return;
        }
        // A hello proves nothing yet: where the orchestrator takes it, the agent refuses the answer.
        const answer = codeOf(() => sides.orchestrator.receive(flipText(sides.hello, at, flip)));
        if (typeof answer === "string") expect(answer).toMatch(refusals);
        else expect(codeOf(() => sides.agent.receive((answer as { frame: string }).frame))).toMatch(refusals);
      }),
      { numRuns: 300 },
    );
  });
});

describe("out of order", () => {
  test("the agent takes nothing before its hello, says it once, and takes nothing after the end", () => {
    const agent = createAgentHandshake(agentOptions());
    expect(codeOf(() => agent.receive("{}"))).toBe("PROTOCOL_ERROR");
    expect(() => agent.receive("{}")).toThrow("The handshake is out of order.");
    const sides = upTo("proved");
    expect(codeOf(() => sides.agent.hello())).toBe("PROTOCOL_ERROR");
    const { frame } = sides.orchestrator.accept("approved", orchestratorTime);
    sides.agent.receive(frame);
    expect(codeOf(() => sides.agent.receive(frame))).toBe("PROTOCOL_ERROR");
  });

  test("the orchestrator accepts only who has proved, and once", () => {
    const early = upTo("prove");
    expect(codeOf(() => early.orchestrator.accept("approved", orchestratorTime))).toBe("PROTOCOL_ERROR");
    const { orchestrator, prove } = upTo("proved");
    orchestrator.accept("approved", orchestratorTime);
    expect(codeOf(() => orchestrator.accept("approved", orchestratorTime))).toBe("PROTOCOL_ERROR");
    expect(codeOf(() => orchestrator.receive(prove))).toBe("PROTOCOL_ERROR");
  });

  test("a proof sent in the clear is refused", () => {
    const { orchestrator } = upTo("prove");
    expect(codeOf(() => orchestrator.receive('{"type":"prove"}'))).toBe("PROTOCOL_ERROR");
  });
});

describe("a refusal", () => {
  test("in place of the welcome is read by the agent", () => {
    const { agent, orchestrator } = upTo("hello");
    expect(codeOf(() => agent.receive(orchestrator.refuse("RATE_LIMITED", "Too many.")))).toBe(
      "RATE_LIMITED",
    );
  });

  test("is the last thing that is said: who was refused is not accepted any more", () => {
    const { orchestrator } = upTo("proved");
    orchestrator.refuse("RATE_LIMITED", "Too many.");
    expect(codeOf(() => orchestrator.accept("approved", orchestratorTime))).toBe("PROTOCOL_ERROR");
    const early = upTo("hello");
    early.orchestrator.refuse("RATE_LIMITED", "Too many.");
    expect(codeOf(() => early.orchestrator.receive(early.hello))).toBe("PROTOCOL_ERROR");
  });

  test("that says more than the agent reads is cut, not taken for a fault", () => {
    const { agent, orchestrator } = upTo("hello");
    const refused = orchestrator.refuse("RATE_LIMITED", "x".repeat(501));
    expect(() => agent.receive(refused)).toThrow(expect.objectContaining({ code: "RATE_LIMITED" }));
  });

  test("after the proof is sealed and read by the agent", () => {
    const { agent, orchestrator } = upTo("proved");
    const frame = orchestrator.refuse("AGENT_ALREADY_CONNECTED", "There is one.");
    expect(frame).toBeInstanceOf(Uint8Array);
    expect(codeOf(() => agent.receive(frame))).toBe("AGENT_ALREADY_CONNECTED");
  });
});

const refusals =
  /^(PROTOCOL_ERROR|SIGNATURE_INVALID|KEY_REFUSED|VERSION_UNSUPPORTED|ORCHESTRATOR_KEY_CHANGED)$/;

function flipped(frame: Uint8Array, at: number, flip: number): Uint8Array {
  const changed = frame.slice();
  changed[at % changed.length] = (changed[at % changed.length] ?? 0) ^ flip;
  return changed;
}

/** As a text frame arrives: bytes that are no UTF-8 never get so far, so they count as another character here. */
function flipText(frame: string, at: number, flip: number): string {
  return new TextDecoder().decode(flipped(new TextEncoder().encode(frame), at, flip));
}
