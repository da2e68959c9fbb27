/** Refusals that could not be written: the next record says how many they are. */
import { expect, it } from "vitest";
import { toHex, type Caller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";

async function scene() {
  const data = new MemoryData();
  const test = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
  const recorded = (type: string) => test.events.filter(({ event_type }) => event_type === type);
  return { test, data, recorded };
}

it("of calls are counted in the next one of the operator", async () => {
  const { test, data, recorded } = await scene();
  await using _ = test;
  const { caller, operator_id } = await test.signIn("Viewer", "one");
  const remove = () => test.orchestrator.operators.remove(caller, { operator_id });
  await expect(remove()).rejects.toMatchObject({ code: "FORBIDDEN" });
  data.freeBytes = 0;
  for (let n = 0; n < 3; n += 1) await expect(remove()).rejects.toMatchObject({ code: "STORAGE_FULL" });
  data.freeBytes = Infinity;
  await expect(remove()).rejects.toMatchObject({ code: "FORBIDDEN" });
  await expect(remove()).rejects.toMatchObject({ code: "FORBIDDEN" });
  expect(recorded("access.denied").map(({ metadata }) => metadata)).toEqual([
    { permission: "operators.remove", needed: "Admin" },
    { permission: "operators.remove", needed: "Admin", unrecorded: 3 },
    { permission: "operators.remove", needed: "Admin" },
  ]);
});

it("of sign-ins are counted in the next one", async () => {
  const { test, data, recorded } = await scene();
  await using _ = test;
  const { signer } = await test.signIn("Viewer", "one");
  const caller: Caller = { kind: "anonymous", origin: { source_address: "203.0.113.1" } };
  const { access } = test.orchestrator;
  const challenges = await Promise.all(
    Array.from({ length: 4 }, () => access.challenge(caller, { public_key: toHex(signer.publicKey) })),
  );
  const sign = (index: number) =>
    access.verify(caller, { challenge_id: challenges[index]!.challenge_id, signature: "00".repeat(64) });
  data.freeBytes = 0;
  for (const index of [0, 1]) await expect(sign(index)).rejects.toMatchObject({ code: "STORAGE_FULL" });
  data.freeBytes = Infinity;
  for (const index of [2, 3]) await expect(sign(index)).rejects.toMatchObject({ code: "SIGNATURE_INVALID" });
  expect(recorded("operator.signInRefused").map(({ metadata }) => metadata)).toEqual([
    { code: "SIGNATURE_INVALID", unrecorded: 2 },
    { code: "SIGNATURE_INVALID" },
  ]);
});
