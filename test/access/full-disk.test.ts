import { describe, expect, it } from "vitest";
import { nodeCrypto, systemCaller, toHex } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { Signer } from "../../lib/crypto/crypto.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { waitFor } from "../support/wait-for.ts";

const anonymous = { kind: "anonymous" } as const;

async function startFull(): Promise<{ test: TestOrchestrator; data: MemoryData; signer: Signer }> {
  const data = new MemoryData();
  const test = await createTestOrchestrator({
    storage: new MemoryStorage({ data }),
    signInsPerMinute: 1_000,
  });
  const { signer } = await test.signIn("Admin");
  data.freeBytes = 0;
  return { test, data, signer };
}

async function signIn(
  { orchestrator }: TestOrchestrator,
  signer: Signer,
  signedBy = signer,
): Promise<string> {
  const { access } = orchestrator;
  const challenge = await access.challenge(anonymous, { public_key: toHex(signer.publicKey) });
  const signature = toHex(signedBy.sign(new TextEncoder().encode(challenge.message)));
  const { token } = await access.verify(anonymous, { challenge_id: challenge.challenge_id, signature });
  return token;
}

describe("with a full disk", () => {
  it("operators sign in, read and sign out, and each of it is in the audit log", async () => {
    const { test, signer } = await startFull();
    const { orchestrator } = test;
    const caller = await orchestrator.access.authenticate(await signIn(test, signer));
    expect((await orchestrator.operators.list(caller)).items).toHaveLength(1);
    await expect(orchestrator.audit.setRetention(caller, { retention_days: 5 })).rejects.toMatchObject({
      code: "STORAGE_FULL",
    });
    const listed = async (): Promise<string[]> =>
      (await orchestrator.audit.list(systemCaller)).items.map((event) => event.event_type);
    // That the storage is full is told beside what is asked for.
    await waitFor(async () => expect(await listed()).toContain("storage.full"));
    await orchestrator.access.signOut(caller);
    expect((await listed()).slice(0, 3)).toEqual(["operator.signedOut", "storage.full", "operator.signedIn"]);
    await test[Symbol.asyncDispose]();
  });

  it("a challenge that was used stays used, also after a kill and with a clock that was set back", async () => {
    const data = new MemoryData();
    const clock = new FakeClock();
    const hour = 3_600_000;
    const start = (storage: MemoryStorage) =>
      createTestOrchestrator({ clock, storage, signInsPerMinute: 1_000 });
    const killed = new MemoryStorage({ clock, data });
    const first = await start(killed);
    const { signer } = await first.signIn("Admin");
    await clock.advance(120_000);
    data.freeBytes = 0;
    for (let minute = 0; minute < 30; minute += 1) await clock.advance(60_000);
    const { access } = first.orchestrator;
    const { challenge_id, message } = await access.challenge(anonymous, {
      public_key: toHex(signer.publicKey),
    });
    const used = { challenge_id, signature: toHex(signer.sign(new TextEncoder().encode(message))) };
    await access.verify(anonymous, used);
    for (let minute = 0; minute < 30; minute += 1) await clock.advance(60_000);
    // Whoever signs in has what is over forgotten.
    await signIn(first, signer);
    await signIn(first, signer);
    await killed.close();
    await Promise.resolve(first[Symbol.asyncDispose]()).catch(() => {});
    clock.jump(-hour);
    data.freeBytes = Infinity;
    const second = await start(new MemoryStorage({ clock, data }));
    await expect(second.orchestrator.access.verify(anonymous, used)).rejects.toMatchObject({
      code: "CHALLENGE_INVALID",
    });
    await second[Symbol.asyncDispose]();
  });

  it("nobody else can use the reserve up", async () => {
    const { test, data, signer } = await startFull();
    // That the storage is full is told once, and has its part of the reserve.
    await expect(test.orchestrator.audit.setRetention(systemCaller, { retention_days: 5 })).rejects.toThrow();
    await test.orchestrator.audit.list(systemCaller);
    const before = data.reserveBytes;
    const stranger = nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey);
    for (let n = 0; n < 5; n++) {
      await expect(signIn(test, stranger)).rejects.toMatchObject({ code: "STORAGE_FULL" });
      await expect(signIn(test, signer, stranger)).rejects.toMatchObject({ code: "STORAGE_FULL" });
    }
    expect(data.reserveBytes).toBe(before);
    await signIn(test, signer);
    expect(data.reserveBytes).toBeLessThan(before);
    await test[Symbol.asyncDispose]();
  });

  it("a sign-in is refused clearly once the reserve is used up, too", async () => {
    const { test, data, signer } = await startFull();
    data.reserveBytes = 0;
    await expect(signIn(test, signer)).rejects.toMatchObject({ code: "STORAGE_FULL" });
    data.freeBytes = Infinity;
    await signIn(test, signer);
    await test[Symbol.asyncDispose]();
  });

  it("an Admin prunes the audit log to make space", async () => {
    const { test } = await startFull();
    await test.clock.advance(1_000);
    const before = new Date(test.clock.now()).toISOString();
    expect((await test.orchestrator.audit.prune(systemCaller, { before })).deleted).toBeGreaterThan(0);
    expect(await test.orchestrator.audit.verify(systemCaller)).toMatchObject({ valid: true });
    await test[Symbol.asyncDispose]();
  });

  it("the status is degraded and says why, and heals", async () => {
    const { test, data } = await startFull();
    const { status } = test.orchestrator;
    expect(await status.get(systemCaller)).toMatchObject({
      status: "degraded",
      checks: [
        { name: "storage", status: "failed", detail: expect.stringContaining("STORAGE_FULL") },
        { name: "log", status: "ok" },
        { name: "time_series", status: "ok" },
        { name: "clock", status: "ok" },
        { name: "agents", status: "ok" },
        { name: "enrolment", status: "ok" },
      ],
    });
    await test.orchestrator.checkReady();
    data.freeBytes = 1_000_000;
    expect(await status.get(systemCaller)).toMatchObject({ status: "ok" });
    await test[Symbol.asyncDispose]();
  });
});
