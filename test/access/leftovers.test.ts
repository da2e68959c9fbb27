/** What is left of sign-ins: for how long, how much of it, and what people are told of its end. */
import { expect, it } from "vitest";
import { toHex } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";

const anonymous = { kind: "anonymous" } as const;
const minute = 60_000;
const hour = 60 * minute;

type SignedIn = Awaited<ReturnType<TestOrchestrator["signIn"]>>;

async function signInAgain({ orchestrator }: TestOrchestrator, { signer }: SignedIn) {
  const { challenge_id, message } = await orchestrator.access.challenge(anonymous, {
    public_key: toHex(signer.publicKey),
  });
  const signature = toHex(signer.sign(new TextEncoder().encode(message)));
  return orchestrator.access.verify(anonymous, { challenge_id, signature });
}

const keysOf = async ({ storage }: TestOrchestrator, collection: string) =>
  (await storage.list(collection, { limit: 1_000 })).items.map(({ key }) => key);

it("a session ends, as it says, at the same moment by a clock that was set since it began", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Viewer");
  const { expires_at: before } = await test.orchestrator.access.session(caller);
  test.clock.jump(-10 * hour);
  const { expires_at: after } = await test.orchestrator.access.session(caller);
  expect(Date.parse(before) - Date.parse(after)).toBe(10 * hour);
});

it("what a new session says of its end is what it says later", async () => {
  await using test = await createTestOrchestrator();
  const known = await test.signIn("Viewer");
  test.clock.jump(3 * hour);
  const { token, expires_at } = await signInAgain(test, known);
  const caller = await test.orchestrator.access.authenticate(token);
  expect((await test.orchestrator.access.session(caller)).expires_at).toBe(expires_at);
});

it("answered challenges are forgotten some time after they expired, more than one with each new one", async () => {
  await using test = await createTestOrchestrator();
  const known = await test.signIn("Viewer");
  for (let n = 0; n < 9; n += 1) await signInAgain(test, known);
  expect(await keysOf(test, "used_nonces")).toHaveLength(10);
  await test.clock.advance(10 * minute);
  await signInAgain(test, known);
  expect(await keysOf(test, "used_nonces")).toHaveLength(11);
  await test.clock.advance(2 * minute);
  const left: number[] = [];
  for (let n = 0; n < 4; n += 1) {
    await signInAgain(test, known);
    left.push((await keysOf(test, "used_nonces")).length);
  }
  expect(left[1]! - left[0]!).toBe(-3);
  // Those of the last minutes stay.
  expect(left.at(-1)).toBe(5);
});

it.each([
  ["back", -3 * hour],
  ["ahead", 3 * hour],
])(
  "an answered challenge is answered once while it counts, also by a clock that was set %s",
  async (_, byMs) => {
    await using test = await createTestOrchestrator();
    const known = await test.signIn("Viewer");
    test.clock.jump(byMs);
    const { access } = test.orchestrator;
    const { challenge_id, message } = await access.challenge(anonymous, {
      public_key: toHex(known.signer.publicKey),
    });
    const signature = toHex(known.signer.sign(new TextEncoder().encode(message)));
    await access.verify(anonymous, { challenge_id, signature });
    // Each sign-in forgets some that are over.
    for (let n = 0; n < 3; n += 1) await signInAgain(test, known);
    await expect(access.verify(anonymous, { challenge_id, signature })).rejects.toMatchObject({
      code: "CHALLENGE_INVALID",
    });
  },
);

it("sessions that are over are forgotten when somebody signs in, and those that live stay", async () => {
  await using test = await createTestOrchestrator();
  const known = await test.signIn("Viewer");
  for (let n = 0; n < 5; n += 1) await signInAgain(test, known);
  await test.clock.advance(30 * 24 * hour);
  const { token } = await signInAgain(test, known);
  expect(await keysOf(test, "sessions")).toHaveLength(1);
  await expect(test.orchestrator.access.authenticate(token)).resolves.toMatchObject({ kind: "operator" });
});
