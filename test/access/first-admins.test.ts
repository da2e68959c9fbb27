/** The keys that the options name as those of Admins, at each start. */
import { expect, it } from "vitest";
import { nodeCrypto, systemCaller, toHex, type OrchestratorOptions } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { Logger } from "../../lib/logger.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

type AdminKeys = OrchestratorOptions["adminPublicKeys"];

function newKey(): { public_key: string; fallback: string } {
  const { publicKey } = nodeCrypto.createSigningKeyPair();
  return {
    public_key: toHex(publicKey),
    fallback: `admin-${toHex(nodeCrypto.sha256(publicKey)).slice(0, 8)}`,
  };
}

/** Starts once with these keys, and tells who is there then. */
async function startWith(data: MemoryData, adminPublicKeys: AdminKeys & object, logger?: Logger) {
  const storage = new MemoryStorage({ data });
  await using test = await createTestOrchestrator({ storage, adminPublicKeys, ...(logger && { logger }) });
  const { items } = await test.orchestrator.operators.list(systemCaller);
  return items.map(({ username, role }) => [username, role]);
}

it("an Admin of the options has the name that they give, or one of their key", async () => {
  const [ada, nameless] = [newKey(), newKey()];
  const listed = await startWith(new MemoryData(), [
    { public_key: ada.public_key, username: "Ada" },
    nameless.public_key,
  ]);
  expect(listed).toEqual([
    ["Ada", "Admin"],
    [nameless.fallback, "Admin"],
  ]);
});

it("an Admin whose name is no name, or another's in whatever case, comes in with a name of their key", async () => {
  const [first, second, third] = [newKey(), newKey(), newKey()];
  const listed = await startWith(new MemoryData(), [
    { public_key: first.public_key, username: "ada" },
    { public_key: second.public_key, username: "ADA" },
    { public_key: third.public_key, username: "" },
  ]);
  const fallbacks = [second.fallback, third.fallback].toSorted();
  expect(listed).toEqual(["ada", ...fallbacks].toSorted().map((username) => [username, "Admin"]));
});

it("who is known at the next start stays as they are, also with a lower role by now", async () => {
  const data = new MemoryData();
  const [ada, eve] = [newKey(), newKey()];
  await startWith(data, [ada.public_key, eve.public_key]);
  {
    await using test = await createTestOrchestrator({ storage: new MemoryStorage({ data }) });
    const { operators } = test.orchestrator;
    const { items } = await operators.list(systemCaller);
    const { operator_id } = items.find(({ username }) => username === eve.fallback)!;
    await operators.setRole(systemCaller, { operator_id, role: "Viewer" });
  }
  const logger = new RecordingLogger();
  const keys = [{ public_key: ada.public_key, username: "ada" }, eve.public_key];
  const listed = await startWith(data, keys, logger);
  expect(Object.fromEntries(listed)).toEqual({ [ada.fallback]: "Admin", [eve.fallback]: "Viewer" });
  const warnings = logger.lines.filter(({ level }) => level === "warn");
  expect(warnings.map(({ fields }) => fields)).toEqual([{ username: eve.fallback, role: "Viewer" }]);
});

it("an Admin whose name another process takes in that moment comes in with a name of their key", async () => {
  const data = new MemoryData();
  const ada = newKey();
  const storage = new RacingStorage(
    (writes) => writes.some((write) => write.kind === "put" && write.key === "ada"),
    { data },
  );
  storage.before = () =>
    storage.commit([{ kind: "put", collection: "operator_names", key: "ada", value: {}, expected: 0 }]);
  const adminPublicKeys = [{ public_key: ada.public_key, username: "Ada" }];
  await using test = await createTestOrchestrator({ storage, adminPublicKeys });
  const { items } = await test.orchestrator.operators.list(systemCaller);
  expect(items.map(({ username, role }) => [username, role])).toEqual([[ada.fallback, "Admin"]]);
});

it("where even the name of their key is taken the start says so", async () => {
  const data = new MemoryData();
  const ada = newKey();
  await startWith(data, [{ public_key: newKey().public_key, username: ada.fallback }]);
  await expect(startWith(data, [ada.public_key])).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
});

it("a key that is none is named by its place, and nobody before it is made Admin", async () => {
  const data = new MemoryData();
  const [ada, eve] = [newKey(), newKey()];
  await expect(startWith(data, [ada.public_key, "zz", { public_key: "0".repeat(64) }])).rejects.toMatchObject(
    {
      code: "KEY_REFUSED",
      issues: [{ path: ["adminPublicKeys", 1], message: "is not 32 bytes in hex or base64" }],
    },
  );
  const given = [{ public_key: "0".repeat(64), username: "Nobody" }, ada.public_key];
  await expect(startWith(data, given)).rejects.toMatchObject({
    issues: [{ path: ["adminPublicKeys", 0], message: "is not a usable Ed25519 key" }],
  });
  expect(await startWith(data, [eve.public_key])).toEqual([[eve.fallback, "Admin"]]);
});
