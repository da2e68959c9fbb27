import { describe, expect, it } from "vitest";
import { nodeCrypto, toHex, type Caller, type Signer } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { sourceOf } from "../../lib/callers/caller-source.ts";

const from = (source_address: string): Caller => ({ kind: "anonymous", origin: { source_address } });
const wrong = "00".repeat(64);

async function signWrongly(test: TestOrchestrator, caller: Caller, public_key: string): Promise<void> {
  const { challenge_id } = await test.orchestrator.access.challenge(caller, { public_key });
  const attempt = test.orchestrator.access.verify(caller, { challenge_id, signature: wrong });
  await expect(attempt).rejects.toMatchObject({ code: "SIGNATURE_INVALID" });
}

async function signRightly({ orchestrator: { access } }: TestOrchestrator, caller: Caller, signer: Signer) {
  const { challenge_id, message } = await access.challenge(caller, { public_key: toHex(signer.publicKey) });
  const signature = toHex(signer.sign(new TextEncoder().encode(message)));
  return access.verify(caller, { challenge_id, signature });
}

describe("sign-in", () => {
  it("by its owner goes on while a stranger elsewhere signs wrongly for the same key", async () => {
    await using test = await createTestOrchestrator({ signInsPerMinute: 6 });
    const { signer } = await test.signIn("Operator");
    const public_key = toHex(signer.publicKey);
    for (let address = 1; address <= 20; address += 1) {
      for (let n = 0; n < 3; n += 1) await signWrongly(test, from(`203.0.113.${address}`), public_key);
      const again = test.orchestrator.access.challenge(from(`203.0.113.${address}`), { public_key });
      await expect(again).rejects.toMatchObject({ code: "RATE_LIMITED" });
    }
    const session = await signRightly(test, from("198.51.100.1"), signer);
    expect(session.operator.public_key).toBe(public_key);
  });

  it("counts all addresses of one IPv6 network as one", async () => {
    await using test = await createTestOrchestrator({ signInsPerMinute: 2 });
    const public_key = toHex(nodeCrypto.createSigningKeyPair().publicKey);
    const ask = (address: string) => test.orchestrator.access.challenge(from(address), { public_key });
    await ask("2001:db8::1");
    await ask("2001:DB8:0:0:ffff::2");
    await expect(ask("2001:db8::3")).rejects.toMatchObject({ code: "RATE_LIMITED" });
    await expect(ask("2001:db8:0:1::3")).resolves.toBeDefined();
  });

  it("of a team behind one address goes on, however many they are and whatever a stranger there does", async () => {
    await using test = await createTestOrchestrator({ signInsPerMinute: 30 });
    const office = from("192.0.2.1");
    const strange = () =>
      test.orchestrator.access.challenge(office, {
        public_key: toHex(nodeCrypto.createSigningKeyPair().publicKey),
      });
    for (let n = 0; n < 30; n += 1) await strange();
    await expect(strange()).rejects.toMatchObject({ code: "RATE_LIMITED" });
    const known = await Promise.all(
      Array.from({ length: 40 }, (_, n) => test.signIn("Operator", `one-${n}`)),
    );
    const signIn = async ({ signer }: (typeof known)[number]): Promise<void> => {
      const public_key = toHex(signer.publicKey);
      const { challenge_id, message } = await test.orchestrator.access.challenge(office, { public_key });
      const signature = toHex(signer.sign(new TextEncoder().encode(message)));
      await test.orchestrator.access.verify(office, { challenge_id, signature });
    };
    for (const operator of known) await signIn(operator);
    // Each for itself has thirty calls a minute, fifteen sign-ins.
    for (let n = 0; n < 14; n += 1) await signIn(known[0]!);
    await expect(signIn(known[0]!)).rejects.toMatchObject({ code: "RATE_LIMITED" });
    await signIn(known[1]!);
  });

  it("challenges that are none of ours count where they come from", async () => {
    await using test = await createTestOrchestrator({ signInsPerMinute: 2 });
    const redeem = () =>
      test.orchestrator.access.verify(from("192.0.2.1"), { challenge_id: "x.y", signature: wrong });
    for (const code of ["CHALLENGE_INVALID", "CHALLENGE_INVALID", "RATE_LIMITED"])
      await expect(redeem()).rejects.toMatchObject({ code });
  });

  it("that are refused fill no audit log, however many addresses they come from", async () => {
    await using test = await createTestOrchestrator();
    const public_key = toHex(nodeCrypto.createSigningKeyPair().publicKey);
    for (let n = 0; n < 70; n += 1) await signWrongly(test, from(`198.51.100.${n}`), public_key);
    const recorded = () => test.events.filter(({ event_type }) => event_type === "operator.signInRefused");
    expect(recorded()).toHaveLength(60);
    await test.clock.advance(1_000);
    await signWrongly(test, from("192.0.2.1"), public_key);
    expect(recorded().at(-1)?.metadata).toEqual({ code: "SIGNATURE_INVALID", unrecorded: 10 });
  });

  it("keys that are none count, too", async () => {
    await using test = await createTestOrchestrator({ signInsPerMinute: 2 });
    const ask = () => test.orchestrator.access.challenge(from("192.0.2.1"), { public_key: "ab".repeat(32) });
    for (const code of ["KEY_REFUSED", "KEY_REFUSED", "RATE_LIMITED"])
      await expect(ask()).rejects.toMatchObject({ code });
  });

  it.each([
    ["192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:0db8::7", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ])("sees %s as %s", (address, place) => {
    expect(sourceOf(from(address))).toBe(place);
  });
});

describe("refusals for want of a right", () => {
  it("are recorded up to a number a minute, with how many were not", async () => {
    await using test = await createTestOrchestrator();
    const viewer = await test.signIn("Viewer", "one");
    const other = await test.signIn("Viewer", "two");
    const remove = (caller: Caller) =>
      expect(
        test.orchestrator.operators.remove(caller, { operator_id: viewer.operator_id }),
      ).rejects.toMatchObject({ code: "FORBIDDEN" });
    for (let n = 0; n < 200; n += 1) await remove(viewer.caller);
    const recorded = () => test.events.filter(({ event_type }) => event_type === "access.denied");
    expect(recorded()).toHaveLength(20);
    await remove(other.caller);
    expect(recorded()).toHaveLength(21);
    await test.clock.advance(3_000);
    await remove(viewer.caller);
    expect(recorded().at(-1)).toMatchObject({
      actor: { name: "one" },
      metadata: { permission: "operators.remove", needed: "Admin", unrecorded: 180 },
    });
  });
});

describe("calls of a session", () => {
  it("are limited where the options say so, each session by itself", async () => {
    await using test = await createTestOrchestrator({ callsPerMinute: 60 });
    const [one, two] = [await test.signIn("Viewer", "one"), await test.signIn("Viewer", "two")];
    for (let n = 0; n < 59; n += 1) await test.orchestrator.access.authenticate(one.token);
    await expect(test.orchestrator.access.authenticate(one.token)).rejects.toMatchObject({
      code: "RATE_LIMITED",
      details: { retry_after_seconds: 1 },
    });
    await expect(test.orchestrator.access.authenticate(two.token)).resolves.toBeDefined();
    const { token: again } = await signRightly(test, from("198.51.100.1"), one.signer);
    for (let n = 0; n < 60; n += 1) await test.orchestrator.access.authenticate(again);
    await expect(test.orchestrator.access.authenticate(again)).rejects.toMatchObject({
      code: "RATE_LIMITED",
    });
    await test.clock.advance(1_000);
    await expect(test.orchestrator.access.authenticate(one.token)).resolves.toBeDefined();
  });
});
