import { describe, expect, it } from "vitest";
import { nodeCrypto, systemCaller, toHex } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { itemsOf } from "../support/all-pages.ts";

const newPublicKey = (): string => toHex(nodeCrypto.createSigningKeyPair().publicKey);

describe("operators", () => {
  it("have an id that follows from their key, however the key is written", async () => {
    await using test = await createTestOrchestrator();
    const publicKey = newPublicKey();
    const base64 = Buffer.from(publicKey, "hex").toString("base64");
    const added = await test.orchestrator.operators.add(systemCaller, {
      username: "ada",
      public_key: base64,
    });
    expect(added.public_key).toBe(publicKey);
    expect(added.operator_id).toBe(toHex(nodeCrypto.sha256(Buffer.from(publicKey, "hex"))).slice(0, 32));
    expect(added.role).toBe("Operator");
  });

  it("are refused where the key or the username is taken, and nothing of them is stored", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const publicKey = newPublicKey();
    await operators.add(systemCaller, { username: "Ada", public_key: publicKey });
    const sameName = operators.add(systemCaller, { username: "ada", public_key: newPublicKey() });
    const taken = (what: string) => ({
      code: "ALREADY_EXISTS",
      message: `An operator with this ${what} exists.`,
    });
    await expect(sameName).rejects.toMatchObject(taken("username"));
    const sameKey = operators.add(systemCaller, { username: "bob", public_key: publicKey });
    await expect(sameKey).rejects.toMatchObject(taken("public key"));
    expect((await operators.list(systemCaller)).items.map((item) => item.username)).toEqual(["Ada"]);
  });

  it("keep at least one Admin, also when two are removed at once", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const first = await test.signIn("Admin", "first");
    const second = await test.signIn("Admin", "second");
    const removals = await Promise.allSettled([
      operators.remove(systemCaller, { operator_id: first.operator_id }),
      operators.remove(systemCaller, { operator_id: second.operator_id }),
    ]);
    expect(removals.map((removal) => removal.status).sort()).toEqual(["fulfilled", "rejected"]);
    const left = (await operators.list(systemCaller)).items;
    expect(left).toHaveLength(1);
    const { operator_id } = left[0]!;
    await expect(operators.remove(systemCaller, { operator_id })).rejects.toMatchObject({
      code: "LAST_ADMIN",
    });
    const demotion = operators.setRole(systemCaller, { operator_id, role: "Viewer" });
    await expect(demotion).rejects.toMatchObject({ code: "LAST_ADMIN" });
  });

  it("become Admin in any number at once, and are all counted as such", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const names = ["ada", "bob", "cyd", "dan"];
    const added = await Promise.all(
      names.map((username) =>
        operators.add(systemCaller, { username, public_key: newPublicKey(), role: "Admin" }),
      ),
    );
    const ids = added.map(({ operator_id }) => operator_id);
    await Promise.all(ids.slice(1).map((operator_id) => operators.remove(systemCaller, { operator_id })));
    const last = { operator_id: ids[0]! };
    await expect(operators.remove(systemCaller, last)).rejects.toMatchObject({ code: "LAST_ADMIN" });
    await operators.setRole(systemCaller, { ...last, role: "Admin" });
    await expect(operators.remove(systemCaller, last)).rejects.toMatchObject({ code: "LAST_ADMIN" });
  });

  it("are answered as they are read afterwards, by each verb", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const public_key = newPublicKey();
    const added = await operators.add(systemCaller, { username: "ada", public_key });
    const { operator_id } = added;
    const read = () => operators.get(systemCaller, { operator_id });
    expect(await read()).toEqual(added);
    const managed_by = { label: "shop", name: "ada" };
    expect(await operators.setRole(systemCaller, { operator_id, role: "Operator", managed_by })).toEqual(
      await read(),
    );
    expect(await operators.setRole(systemCaller, { operator_id, role: "Viewer" })).toEqual(await read());
    expect(await read()).toMatchObject({ role: "Viewer", managed_by, version: added.version + 2 });
  });

  it("are named in what is told of them", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const added = await operators.add(systemCaller, { username: "ada", public_key: newPublicKey() });
    const { operator_id } = added;
    const managed_by = { label: "shop", name: "ada" };
    await operators.setRole(systemCaller, { operator_id, role: "Operator", managed_by });
    await operators.setRole(systemCaller, { operator_id, role: "Operator", managed_by: null });
    await operators.setRole(systemCaller, { operator_id, role: "Viewer" });
    await operators.remove(systemCaller, { operator_id });
    const target = { type: "operator", id: operator_id, name: "ada" };
    expect(test.events.map((event) => [event.summary, event.target])).toEqual([
      ["Operator ada was added as Operator", target],
      ["Operator ada is managed by the folder shop", target],
      ["Operator ada is managed by no folder", target],
      ["Operator ada is now Viewer", target],
      ["Operator ada was removed", target],
    ]);
  });

  it("that there are not are refused by name", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const operator_id = "ab".repeat(16);
    const unknown = { code: "NOT_FOUND", message: `There is no operator ${operator_id}.` };
    await expect(operators.get(systemCaller, { operator_id })).rejects.toMatchObject(unknown);
    await expect(operators.remove(systemCaller, { operator_id })).rejects.toMatchObject(unknown);
    const set = operators.setRole(systemCaller, { operator_id, role: "Viewer" });
    await expect(set).rejects.toMatchObject(unknown);
  });

  it.each(["ada", "Ada", "ADA"])("leave the name %s to others when they are removed", async (username) => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const add = (name: string) =>
      operators.add(systemCaller, { username: name, public_key: newPublicKey(), role: "Viewer" });
    const { operator_id } = await add(username);
    await expect(add("aDa")).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
    await operators.remove(systemCaller, { operator_id });
    expect(await add("aDa")).toMatchObject({ username: "aDa" });
  });

  it("become Admin at the start where the options name their key, once", async () => {
    const publicKey = newPublicKey();
    await using test = await createTestOrchestrator({ adminPublicKeys: [publicKey] });
    const { items } = await test.orchestrator.operators.list(systemCaller);
    expect(items).toMatchObject([{ public_key: publicKey, role: "Admin", added_by: "system" }]);
  });

  it("are listed page by page, without one lost or twice", async () => {
    await using test = await createTestOrchestrator();
    const { operators } = test.orchestrator;
    const names = ["eve", "ada", "dan", "bob", "cyd"];
    for (const username of names) await operators.add(systemCaller, { username, public_key: newPublicKey() });
    const seen = await itemsOf((page) => operators.list(systemCaller, page), 2);
    expect(seen.map(({ username }) => username)).toEqual(names.sort());
  });
});

describe("permissions", () => {
  it("refuse a Viewer what an Operator may do, and write the refusal down", async () => {
    await using test = await createTestOrchestrator();
    const { caller } = await test.signIn("Viewer", "ada");
    const upload = test.orchestrator.modules.upload(caller, { content: "name: x\nresources: []\n" });
    await expect(upload).rejects.toMatchObject({ code: "FORBIDDEN" });
    const { items } = await test.orchestrator.audit.list(systemCaller, { event_type: "access.denied" });
    expect(items).toMatchObject([{ actor: { name: "ada" }, metadata: { permission: "modules.upload" } }]);
  });

  it("refuse an anonymous caller everything that needs a session", async () => {
    await using test = await createTestOrchestrator();
    const anonymous = { kind: "anonymous" } as const;
    await expect(test.orchestrator.agents.list(anonymous)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(test.orchestrator.status.get(anonymous)).resolves.not.toHaveProperty("checks");
  });
});

it.each(["setRole", "remove"] as const)(
  "%s ends the sessions of that operator, and nobody else's",
  async (verb) => {
    await using test = await createTestOrchestrator();
    const changed = await test.signIn("Operator", "one");
    const other = await test.signIn("Operator", "two");
    const { operators, access } = test.orchestrator;
    const { operator_id } = changed;
    if (verb === "remove") await operators.remove(systemCaller, { operator_id });
    else await operators.setRole(systemCaller, { operator_id, role: "Viewer" });
    await expect(access.authenticate(changed.token)).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    await expect(access.authenticate(other.token)).resolves.toMatchObject({ username: "two" });
  },
);
