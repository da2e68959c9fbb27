import { describe, expect, it } from "vitest";
import { fromHex, isOrchestratorError, nodeCrypto, Orchestrator, systemCaller, toHex } from "fleetwright";
import type { ErrorCode } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const anonymous = { kind: "anonymous" } as const;
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function newKey() {
  const signer = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
  return { signer, publicKey: toHex(signer.publicKey) };
}

async function codeOf(promise: Promise<unknown>): Promise<ErrorCode | "none"> {
  try {
    await promise;
    return "none";
  } catch (error) {
    if (isOrchestratorError(error)) return error.code;
    throw error;
  }
}

describe("signing in", () => {
  it("gives a session for a signed challenge, and the session tells who it is", async () => {
    await using test = await createTestOrchestrator();
    const { caller, token } = await test.signIn("Viewer", "ada");
    expect(token).toMatch(/^fw_[A-Za-z0-9_-]{43}$/);
    expect((await test.orchestrator.access.session(caller)).operator.username).toBe("ada");
  });

  it("stores no token: the storage holds only its hash", async () => {
    await using test = await createTestOrchestrator();
    const { token } = await test.signIn("Admin");
    const sessions = await test.storage.list("sessions");
    expect(sessions.items).toHaveLength(1);
    expect(JSON.stringify(sessions)).not.toContain(token.slice(3));
  });

  it("gives a text to sign that says what it is for, line by line", async () => {
    await using test = await createTestOrchestrator();
    const { access, publicKey } = test.orchestrator;
    const key = newKey();
    const asked = {
      public_key: key.publicKey,
      audience: "https://fleet.example",
      client_nonce: "ab".repeat(32),
    };
    const { message, nonce, expires_at, audience } = await access.challenge(anonymous, asked);
    expect(message.split("\n")).toEqual([
      "fleetwright/1 operator sign-in",
      "service: fleetwright",
      "audience: https://fleet.example",
      `orchestrator: ${toHex(publicKey)}`,
      `operator: ${key.publicKey}`,
      `client nonce: ${asked.client_nonce}`,
      `nonce: ${nonce}`,
      `expires: ${expires_at}`,
    ]);
    const bare = await access.challenge(anonymous, { public_key: key.publicKey });
    expect([audience, bare.audience]).toEqual(["https://fleet.example", "any"]);
    expect(bare.message).toContain("\naudience: any\n");
    expect(bare.message).toContain("\nclient nonce: none\n");
  });

  it.each(["wss://http:81", "https://fleet.example/", "fleet.example", "ftp://fleet.example"])(
    "is for the origin of a server, which %s is none of",
    async (audience) => {
      await using test = await createTestOrchestrator();
      const { access } = test.orchestrator;
      const asked = access.challenge(anonymous, { public_key: newKey().publicKey, audience });
      expect(await codeOf(asked)).toBe("VALIDATION_FAILED");
    },
  );

  it("is written down with the address that it came from", async () => {
    await using test = await createTestOrchestrator();
    const { signer } = await test.signIn("Viewer", "ada");
    const caller = { kind: "anonymous", origin: { source_address: "203.0.113.7" } } as const;
    const { access } = test.orchestrator;
    const { challenge_id, message } = await access.challenge(caller, { public_key: toHex(signer.publicKey) });
    await access.verify(caller, { challenge_id, signature: toHex(signer.sign(utf8(message))) });
    expect(test.events.at(-1)).toMatchObject({
      event_type: "operator.signedIn",
      actor: { type: "operator", name: "ada" },
      source_address: "203.0.113.7",
    });
  });

  it("is unavailable before the start", async () => {
    const storage = new MemoryStorage();
    const { access } = new Orchestrator({ storage, transport: new MemoryTransport() });
    expect(await codeOf(access.challenge(anonymous, { public_key: newKey().publicKey }))).toBe("UNAVAILABLE");
  });

  it("uses a challenge up at the first answer, right or wrong", async () => {
    await using test = await createTestOrchestrator();
    const { access } = test.orchestrator;
    const { signer } = await test.signIn("Viewer", "ada");
    const challenge = await access.challenge(anonymous, { public_key: toHex(signer.publicKey) });
    const right = toHex(signer.sign(utf8(challenge.message)));
    const wrong = toHex(signer.sign(utf8("something else")));
    const { challenge_id } = challenge;
    expect(await codeOf(access.verify(anonymous, { challenge_id, signature: wrong }))).toBe(
      "SIGNATURE_INVALID",
    );
    expect(await codeOf(access.verify(anonymous, { challenge_id, signature: right }))).toBe(
      "CHALLENGE_INVALID",
    );
  });

  it("lets exactly one of two answers at the same time win", async () => {
    await using test = await createTestOrchestrator();
    const { access } = test.orchestrator;
    const { signer } = await test.signIn("Viewer", "ada");
    const challenge = await access.challenge(anonymous, { public_key: toHex(signer.publicKey) });
    const answer = {
      challenge_id: challenge.challenge_id,
      signature: toHex(signer.sign(utf8(challenge.message))),
    };
    const codes = await Promise.all([1, 2, 3, 4].map(() => codeOf(access.verify(anonymous, answer))));
    expect(codes.sort()).toEqual(["CHALLENGE_INVALID", "CHALLENGE_INVALID", "CHALLENGE_INVALID", "none"]);
  });

  it("refuses an expired challenge", async () => {
    await using test = await createTestOrchestrator();
    const { access } = test.orchestrator;
    const { signer } = await test.signIn("Viewer", "ada");
    const challenge = await access.challenge(anonymous, { public_key: toHex(signer.publicKey) });
    await test.clock.advance(60_000);
    const signature = toHex(signer.sign(utf8(challenge.message)));
    expect(await codeOf(access.verify(anonymous, { challenge_id: challenge.challenge_id, signature }))).toBe(
      "CHALLENGE_INVALID",
    );
  });

  it("refuses a challenge that was changed in any character", async () => {
    await using test = await createTestOrchestrator();
    const { access } = test.orchestrator;
    const { signer } = await test.signIn("Viewer", "ada");
    const { challenge_id, message } = await access.challenge(anonymous, {
      public_key: toHex(signer.publicKey),
    });
    const signature = toHex(signer.sign(utf8(message)));
    const changed =
      challenge_id.slice(0, 20) + (challenge_id[20] === "A" ? "B" : "A") + challenge_id.slice(21);
    expect(await codeOf(access.verify(anonymous, { challenge_id: changed, signature }))).toBe(
      "CHALLENGE_INVALID",
    );
    expect(await codeOf(access.verify(anonymous, { challenge_id: "x", signature }))).toBe(
      "CHALLENGE_INVALID",
    );
  });

  it("gives an unknown key a challenge like any other, which no signature answers", async () => {
    await using test = await createTestOrchestrator();
    const { access } = test.orchestrator;
    const known = await test.signIn("Viewer", "ada");
    const stranger = newKey();
    const decoy = await access.challenge(anonymous, { public_key: stranger.publicKey });
    const real = await access.challenge(anonymous, { public_key: toHex(known.signer.publicKey) });
    expect(Object.keys(decoy)).toEqual(Object.keys(real));
    expect(decoy.challenge_id.length).toBe(real.challenge_id.length);
    const signature = toHex(stranger.signer.sign(utf8(decoy.message)));
    const answer = { challenge_id: decoy.challenge_id, signature };
    expect(await codeOf(access.verify(anonymous, answer))).toBe("SIGNATURE_INVALID");
  });

  it("limits the sign-ins from one address, and says when to come again", async () => {
    await using test = await createTestOrchestrator({ signInsPerMinute: 3 });
    const caller = { kind: "anonymous", origin: { source_address: "203.0.113.7" } } as const;
    const attempt = () => test.orchestrator.access.challenge(caller, { public_key: newKey().publicKey });
    for (let i = 0; i < 3; i += 1) await attempt();
    await expect(attempt()).rejects.toMatchObject({
      code: "RATE_LIMITED",
      details: { retry_after_seconds: 20 },
    });
    await test.clock.advance(20_000);
    await expect(attempt()).resolves.toBeDefined();
  });

  it("refuses keys of small order when an operator is added", async () => {
    await using test = await createTestOrchestrator();
    const identityPoint = `01${"00".repeat(31)}`;
    const add = test.orchestrator.operators.add(systemCaller, { username: "eve", public_key: identityPoint });
    await expect(add).rejects.toMatchObject({ code: "KEY_REFUSED" });
    expect(fromHex(identityPoint)).toHaveLength(32);
  });
});

describe("sessions", () => {
  it("ends after an hour without a call, and after twelve hours in any case", async () => {
    await using test = await createTestOrchestrator();
    const { access } = test.orchestrator;
    const idle = await test.signIn("Viewer", "idle");
    const busy = await test.signIn("Viewer", "busy");
    for (let minutes = 0; minutes < 11 * 60; minutes += 30) {
      await test.clock.advance(30 * 60_000);
      await access.authenticate(busy.token);
    }
    expect(await codeOf(access.authenticate(idle.token))).toBe("UNAUTHENTICATED");
    await test.clock.advance(59 * 60_000);
    expect(await codeOf(access.authenticate(busy.token))).toBe("none");
    await test.clock.advance(60_000);
    expect(await codeOf(access.authenticate(busy.token))).toBe("UNAUTHENTICATED");
  });

  it("goes on where the time of its last use can't be written, which is logged", async () => {
    const logger = new RecordingLogger();
    const storage = new RacingStorage((writes) =>
      writes.some((write) => write.kind === "put" && write.collection === "sessions"),
    );
    await using test = await createTestOrchestrator({ storage, logger });
    const { access } = test.orchestrator;
    const { token } = await test.signIn("Viewer", "ada");
    await test.clock.advance(60_000);
    storage.before = () => Promise.reject(new Error("of a disk"));
    await expect(access.authenticate(token)).resolves.toMatchObject({ username: "ada" });
    expect(logger.lines).toContainEqual({
      level: "debug",
      message: "A session's last use was not written.",
      fields: { error: new Error("of a disk") },
    });
  });

  it("is over where it began in a time that is still to come", async () => {
    await using test = await createTestOrchestrator();
    const { access } = test.orchestrator;
    const { token, caller } = await test.signIn("Viewer", "ada");
    const { value } = (await test.storage.get<{ created_at: number }>("sessions", caller.session_id))!;
    const begin = (aheadMs: number) =>
      test.storage.commit([
        {
          kind: "put",
          collection: "sessions",
          key: caller.session_id,
          value: { ...value, created_at: value.created_at + aheadMs },
        },
      ]);
    // A start after a kill may repeat a minute of the fleet's time, and does no harm to anybody.
    await begin(60_000);
    expect(await codeOf(access.authenticate(token))).toBe("none");
    await begin(3_600_000);
    expect(await codeOf(access.authenticate(token))).toBe("UNAUTHENTICATED");
  });

  it("tells a token of none apart from no token", async () => {
    await using test = await createTestOrchestrator();
    const { access } = test.orchestrator;
    await expect(access.authenticate(`fw_${"x".repeat(43)}`)).rejects.toMatchObject({
      code: "UNAUTHENTICATED",
      details: { reason: "invalid_token" },
    });
    await expect(access.authenticate(null)).resolves.toEqual({ kind: "anonymous" });
  });

  it("ends at sign-out, when the operator is removed, and when the role changes", async () => {
    await using test = await createTestOrchestrator();
    const { access, operators } = test.orchestrator;
    const first = await test.signIn("Viewer", "first");
    const second = await test.signIn("Viewer", "second");
    const third = await test.signIn("Operator", "third");
    await access.signOut(first.caller);
    await operators.remove(systemCaller, { operator_id: second.operator_id });
    await operators.setRole(systemCaller, { operator_id: third.operator_id, role: "viewer" });
    for (const { token } of [first, second, third]) {
      expect(await codeOf(access.authenticate(token))).toBe("UNAUTHENTICATED");
    }
  });
});
