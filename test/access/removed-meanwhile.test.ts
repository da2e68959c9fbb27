/** An operator who is removed, or signs out, in the moment in which they sign in or call. */
import { expect, it } from "vitest";
import { systemCaller, toHex, type Caller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { RacingStorage } from "../support/racing-storage.ts";

const anonymous = { kind: "anonymous" } as const;

it("is refused as a stranger is, and has no session", async () => {
  const storage = new RacingStorage((writes) =>
    writes.some((write) => write.kind === "put" && write.collection === "sessions"),
  );
  await using test = await createTestOrchestrator({ storage });
  const { operator_id, signer } = await test.signIn("Viewer");
  const { challenge_id, message } = await test.orchestrator.access.challenge(anonymous, {
    public_key: toHex(signer.publicKey),
  });
  storage.before = () => test.orchestrator.operators.remove(systemCaller, { operator_id });
  const signature = toHex(signer.sign(Buffer.from(message)));
  await expect(test.orchestrator.access.verify(anonymous, { challenge_id, signature })).rejects.toMatchObject(
    { code: "SIGNATURE_INVALID" },
  );
  expect((await storage.list("sessions", {})).items).toEqual([]);
});

it.each<
  [what: string, end: (test: TestOrchestrator, caller: Caller, operator_id: string) => Promise<unknown>]
>([
  ["signs out", ({ orchestrator }, caller) => orchestrator.access.signOut(caller)],
  [
    "is removed",
    ({ orchestrator }, _, operator_id) => orchestrator.operators.remove(systemCaller, { operator_id }),
  ],
])("who %s while the last use of the session is noted has none any more", async (_, end) => {
  const storage = new RacingStorage((writes) =>
    writes.some((write) => write.kind === "put" && write.collection === "sessions"),
  );
  await using test = await createTestOrchestrator({ storage });
  const { operator_id, token, caller } = await test.signIn("Viewer");
  await test.clock.advance(120_000);
  storage.before = () => end(test, caller, operator_id);
  await test.orchestrator.access.authenticate(token).catch(() => {});
  expect(storage.before).toBeNull();
  await expect(test.orchestrator.access.authenticate(token)).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
  });
  expect((await storage.list("sessions", {})).items).toEqual([]);
});
