/** An operator who is removed in the moment in which they sign in. */
import { expect, it } from "vitest";
import { systemCaller, toHex } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
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
