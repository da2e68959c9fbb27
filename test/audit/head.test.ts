import { describe, expect, it } from "vitest";
import { MemoryStorage, nodeCrypto, readAuditHead, systemCaller, toHex, toTimestamp } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryData } from "../../lib/storage/memory-storage.ts";

type Test = Awaited<ReturnType<typeof createTestOrchestrator>>;

const keyOf = ({ orchestrator }: Test): string => toHex(orchestrator.publicKey);
const asKnown = ({ sequence, hash }: { sequence: number; hash: string }) => {
  return { known_sequence: sequence, known_hash: hash };
};

async function change({ orchestrator, clock }: Test, times: number): Promise<void> {
  for (let days = 1; days <= times; days += 1) {
    await orchestrator.audit.setRetention(systemCaller, { retention_days: days });
    await clock.advance(1000);
  }
}

describe("the head of the audit log", () => {
  it("is the newest event, signed, and found again when more has happened", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    await change(test, 3);
    const head = await audit.head(systemCaller);
    const { items } = await audit.list(systemCaller, { limit: 1 });
    expect(head).toMatchObject({ sequence: 3, hash: items[0]?.hash, recorded_at: items[0]?.recorded_at });
    expect(readAuditHead(JSON.stringify(head), keyOf(test))).toEqual(head);
    await change(test, 4);
    const found = await audit.verify(systemCaller, asKnown(head));
    expect(found).toMatchObject({ valid: true, to_sequence: 7, known_head: "present" });
    expect(await audit.verify(systemCaller)).not.toHaveProperty("known_head");
  });

  it("is nothing at the beginning of the log, and found there", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    const head = await audit.head(systemCaller);
    expect(head).toMatchObject({ sequence: 0, hash: "0".repeat(64), recorded_at: null });
    expect(readAuditHead(JSON.stringify(head), keyOf(test))).toEqual(head);
    expect(await audit.verify(systemCaller, asKnown(head))).toMatchObject({ known_head: "present" });
  });

  it("shows that the log is another, or that its end is missing, although each of them is whole", async () => {
    const storage = new MemoryStorage({ data: new MemoryData() });
    await using test = await createTestOrchestrator({ storage });
    await change(test, 5);
    const data = storage.restoredCopy();
    await change(test, 2);
    const head = await test.orchestrator.audit.head(systemCaller);
    // Whoever can write the folder has the key as well: what they make is signed and chained as it must be.
    await using other = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
    const { audit } = other.orchestrator;
    expect(keyOf(other)).toBe(keyOf(test));
    expect(await audit.verify(systemCaller, asKnown(head))).toMatchObject({
      valid: true,
      known_head: "missing",
    });
    await change(other, 4);
    expect(await audit.verify(systemCaller, asKnown(head))).toMatchObject({
      valid: true,
      known_head: "different",
    });
  });

  it("is told from one whose place was pruned", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    const heads = [];
    for (let at = 0; at < 3; at += 1) {
      await change(test, 1);
      heads.push(await audit.head(systemCaller));
    }
    const before = toTimestamp(test.clock.now() - 1500);
    expect(await audit.prune(systemCaller, { before })).toEqual({ deleted: 2 });
    const found = [];
    for (const head of heads) found.push((await audit.verify(systemCaller, asKnown(head))).known_head);
    // What the rest is chained to is vouched for by the anchor.
    expect(found).toEqual(["pruned", "present", "present"]);
  });

  it("says nothing of a log that is not whole", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    await change(test, 3);
    const head = await audit.head(systemCaller);
    await test.storage.trimLog("audit", 2);
    const found = await audit.verify(systemCaller, asKnown(head));
    expect(found).toMatchObject({ valid: false, first_bad_sequence: 1 });
    expect(found).not.toHaveProperty("known_head");
  });

  it("is refused where it was changed, or another key signed it", async () => {
    await using test = await createTestOrchestrator();
    await change(test, 2);
    const head = await test.orchestrator.audit.head(systemCaller);
    const otherKey = toHex(nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey).publicKey);
    const read =
      (changed: object, key = keyOf(test)) =>
      () =>
        readAuditHead(JSON.stringify({ ...head, ...changed }), key);
    const refused = (code: string): unknown => expect.objectContaining({ code });
    expect(read({ sequence: 1 })).toThrow(refused("SIGNATURE_INVALID"));
    expect(read({ hash: "ab".repeat(32) })).toThrow(refused("SIGNATURE_INVALID"));
    expect(read({ recorded_at: null })).toThrow(refused("SIGNATURE_INVALID"));
    expect(read({}, otherKey)).toThrow(refused("SIGNATURE_INVALID"));
    expect(read({}, "no key")).toThrow(refused("KEY_REFUSED"));
    expect(read({ signature: "" })).toThrow(refused("VALIDATION_FAILED"));
    expect(read({ hash: 5 })).toThrow(refused("VALIDATION_FAILED"));
    const isNoJson = [{ path: [], message: "is not JSON" }];
    expect(() => readAuditHead("{", keyOf(test))).toThrow(expect.objectContaining({ issues: isNoJson }));
    for (const text of ["", "[]", "null", "{", "7"])
      expect(() => readAuditHead(text, keyOf(test))).toThrow(refused("VALIDATION_FAILED"));
  });

  it("is asked about with both of its fields", async () => {
    await using test = await createTestOrchestrator();
    const { audit } = test.orchestrator;
    const message = "must be given with the other field of the head";
    await expect(audit.verify(systemCaller, { known_sequence: 1 })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["known_hash"], message }],
    });
    await expect(audit.verify(systemCaller, { known_hash: "00".repeat(32) })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["known_sequence"], message }],
    });
  });
});
