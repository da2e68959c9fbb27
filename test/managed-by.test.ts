/** Which folder manages something: told and taken by every feature whose things a folder may have. */
import { describe, expect, it } from "vitest";
import { nodeCrypto, systemCaller, toHex, type ManagedBy, type Orchestrator } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";

const shop: ManagedBy = { label: "shop", name: "one" };
const office: ManagedBy = { label: "office", name: "one" };
const content = "name: web\nresources: []\n";

interface Managed {
  managed_by?: ManagedBy | undefined;
}

/** How one kind is made, changed and removed, by id. */
interface Verbs {
  create(managed_by: ManagedBy): Promise<Managed & { id: string }>;
  /** Without a second value it changes something else. */
  change(id: string, managed_by?: ManagedBy | null): Promise<Managed>;
  remove(id: string): Promise<void>;
}

/** What has no name of its own that only one may have. */
function namelessOf(orchestrator: Orchestrator): Record<string, Verbs> {
  const { maintenanceWindows: windows, channels, thresholds } = orchestrator;
  const schedule = { cron: "0 2 * * *", duration_minutes: 60 };
  const channel = { name: "c", type: "webhook", config: { url: "https://hooks.example.com/x" } };
  const threshold = { name: "t", metric: "load.1", condition: "above", value: 1 } as const;
  return {
    windows: {
      create: (managed_by) =>
        windows.create(systemCaller, { reason: "r", mode: "mute", schedule, managed_by }),
      change: (id, managed_by) => windows.update(systemCaller, { id, reason: "other", managed_by }),
      remove: (id) => windows.remove(systemCaller, { id }),
    },
    channels: {
      create: (managed_by) => channels.create(systemCaller, { ...channel, managed_by }),
      change: (id, managed_by) => channels.update(systemCaller, { id, name: "other", managed_by }),
      remove: (id) => channels.remove(systemCaller, { id }),
    },
    thresholds: {
      create: (managed_by) => thresholds.create(systemCaller, { ...threshold, managed_by }),
      change: (id, managed_by) => thresholds.update(systemCaller, { id, name: "other", managed_by }),
      remove: (id) => thresholds.remove(systemCaller, { id }),
    },
  };
}

describe.each(["windows", "channels", "thresholds"])("of %s", (kind) => {
  it("one label and name is that of one, until it is given up or the thing is gone", async () => {
    await using test = await createTestOrchestrator();
    const { create, change, remove } = namelessOf(test.orchestrator)[kind]!;
    const taken = { code: "ALREADY_EXISTS" };
    const first = await create(shop);
    expect(first.managed_by).toEqual(shop);
    await expect(create(shop)).rejects.toMatchObject(taken);
    const second = await create(office);
    await expect(change(second.id, shop)).rejects.toMatchObject(taken);
    expect((await change(first.id)).managed_by).toEqual(shop);
    expect(await change(first.id, null)).not.toHaveProperty("managed_by");
    expect((await change(second.id, shop)).managed_by).toEqual(shop);
    await remove(second.id);
    expect((await change(first.id, shop)).managed_by).toEqual(shop);
    expect((await create(office)).managed_by).toEqual(office);
  });

  it("of two that are made at once, one is made", async () => {
    await using test = await createTestOrchestrator();
    const { create } = namelessOf(test.orchestrator)[kind]!;
    const made = await Promise.allSettled([create(shop), create(shop), create(shop)]);
    expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("of changes at once that leave the folder as it is, each is made and none is taken for another's name", async () => {
    await using test = await createTestOrchestrator();
    const { create, change } = namelessOf(test.orchestrator)[kind]!;
    const { id } = await create(shop);
    const changed = await Promise.all([change(id), change(id), change(id)]);
    expect(changed.map(({ managed_by }) => managed_by)).toEqual([shop, shop, shop]);
  });
});

describe.each([
  ["another label", { ...shop, label: "office" }],
  ["another name", { ...shop, name: "two" }],
])("%s in its folder", (_, moved) => {
  it("is kept of a module, as a revision", async () => {
    await using test = await createTestOrchestrator();
    const { modules } = test.orchestrator;
    await modules.upload(systemCaller, { content, managed_by: shop });
    const { revision } = await modules.upload(systemCaller, { content, managed_by: moved });
    const read = await modules.get(systemCaller, { name: "web" });
    expect([revision, read.managed_by]).toEqual([2, moved]);
  });

  it("is kept of an operator whose role stays", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const { operator_id } = await test.signIn("Viewer", "ada");
    for (const managed_by of [shop, moved])
      await operators.setRole(systemCaller, { operator_id, role: "Viewer", managed_by });
    expect((await operators.get(systemCaller, { operator_id })).managed_by).toEqual(moved);
  });
});

describe("of modules", () => {
  it("another folder is a revision, and the same one none; absent it stays", async () => {
    await using test = await createTestOrchestrator();
    const { modules } = test.orchestrator;
    const upload = async (input: { content: string; managed_by?: ManagedBy | null }) => {
      const { revision, created, managed_by } = await modules.upload(systemCaller, input);
      return [revision, created, managed_by?.label];
    };
    expect(await upload({ content })).toEqual([1, true, undefined]);
    expect(await upload({ content, managed_by: shop })).toEqual([2, true, "shop"]);
    expect(await upload({ content, managed_by: shop })).toEqual([2, false, "shop"]);
    expect(await upload({ content })).toEqual([2, false, "shop"]);
    expect(await upload({ content: `${content}# changed\n` })).toEqual([3, true, "shop"]);
    expect(await upload({ content: `${content}# changed\n`, managed_by: null })).toEqual([
      4,
      true,
      undefined,
    ]);
    const read = await modules.get(systemCaller, { name: "web", revision: 3 });
    expect(read.managed_by).toEqual(shop);
    await modules.remove(systemCaller, { name: "web" });
    expect(await upload({ content })).toEqual([1, true, undefined]);
  });

  it("an upload may be for the newest revision that was seen, or for none", async () => {
    await using test = await createTestOrchestrator();
    const { modules } = test.orchestrator;
    const upload = (text: string, ifVersion: number) =>
      modules.upload(systemCaller, { content: text }, { ifVersion: [ifVersion] });
    const failed = { code: "PRECONDITION_FAILED" };
    await expect(upload(content, 1)).rejects.toMatchObject(failed);
    await upload(content, 0);
    await expect(upload(content, 0)).rejects.toMatchObject(failed);
    await expect(upload(`${content}# changed\n`, 2)).rejects.toMatchObject(failed);
    expect(await upload(`${content}# changed\n`, 1)).toMatchObject({ revision: 2 });
  });
});

it("of assignments it is set, stays, moves on and goes", async () => {
  await using test = await createTestOrchestrator();
  const { modules, assignments } = test.orchestrator;
  await modules.upload(systemCaller, { content });
  const made = { name: "web", selector: "*", modules: ["web"] };
  const created = await assignments.create(systemCaller, { ...made, managed_by: shop });
  expect(created.managed_by).toEqual(shop);
  const change = (managed_by?: ManagedBy | null) =>
    assignments.update(systemCaller, { name: "web", enforce: true, managed_by });
  expect((await change()).managed_by).toEqual(shop);
  expect((await change(office)).managed_by).toEqual(office);
  expect(await change(null)).not.toHaveProperty("managed_by");
});

it("of operators it changes without an end of their sessions, and is told", async () => {
  await using test = await createTestOrchestrator();
  const { operators } = test.orchestrator;
  const { token, operator_id } = await test.signIn("Viewer", "ada");
  const events: unknown[] = [];
  test.orchestrator.listen(({ event_type, metadata }) => events.push([event_type, metadata]));
  const set = (role: "Viewer" | "Operator", managed_by?: ManagedBy | null) =>
    operators.setRole(systemCaller, { operator_id, role, managed_by });
  expect((await set("Viewer", shop)).managed_by).toEqual(shop);
  await set("Viewer", shop);
  await set("Viewer");
  const isSignedIn = () => test.orchestrator.access.authenticate(token).then(() => true);
  expect(await isSignedIn()).toBe(true);
  expect(await set("Viewer", null)).not.toHaveProperty("managed_by");
  expect(events).toEqual([
    ["operator.managed", { label: "shop" }],
    ["operator.managed", { label: null }],
  ]);
  expect((await set("Operator", office)).managed_by).toEqual(office);
  await expect(isSignedIn()).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  const public_key = toHex(nodeCrypto.createSigningKeyPair().publicKey);
  const added = await operators.add(systemCaller, { username: "bob", public_key, managed_by: shop });
  expect(added.managed_by).toEqual(shop);
});
