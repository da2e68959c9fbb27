/** Who becomes the first Admin of a server, and where the key of one is said to lie. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemCaller, toHex, nodeCrypto } from "fleetwright";
import type { Orchestrator } from "fleetwright";
import { createKeyFile, readSigner } from "fleetwright/client/node";
import { createTestOrchestrator } from "fleetwright/testing";
import { ensureFirstAdmin } from "../../../adapters/cli/work/first-admin.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

type Role = "Admin" | "Operator" | "Viewer";

async function add(orchestrator: Orchestrator, role: Role, username: string): Promise<void> {
  const public_key = toHex(nodeCrypto.createSigningKeyPair().publicKey);
  await orchestrator.operators.add(systemCaller, { username, public_key, role });
}

/** Names of the Admins, and how many others there are. */
async function listed({ operators }: Orchestrator): Promise<{ admins: string[]; others: number }> {
  const admins: string[] = [];
  let others = 0;
  let cursor: string | null | undefined;
  do {
    const page = await operators.list(systemCaller, { limit: 500, ...(cursor && { cursor }) });
    for (const { role, username } of page.items)
      if (role === "Admin") admins.push(username);
      else others += 1;
    cursor = page.next_cursor;
  } while (cursor !== null);
  return { admins, others };
}

it.each([
  ["nobody", [], false, true],
  ["nobody, beside the key of a start that was cut off", [], true, true],
  ["others alone", ["Operator", "Viewer"], false, true],
  ["others alone, beside the key of a start that was cut off", ["Viewer"], true, true],
  ["an Admin with a key of their own", ["Viewer", "Admin"], false, false],
  ["an Admin whose key lies there", ["Admin"], true, false],
] as const)(
  "a server of %s has an Admin, whose key lies where that is said",
  async (_, roles, hasKey, isNew) => {
    await using test = await createTestOrchestrator();
    const { orchestrator } = test;
    for (const [at, role] of roles.entries()) await add(orchestrator, role, `user-${at}`);
    const folder = temporaryFolder();
    const path = join(folder, "admin-key");
    const before = hasKey ? createKeyFile(path).publicKey : null;

    expect(await ensureFirstAdmin(orchestrator, folder)).toBe(hasKey || isNew ? path : null);
    expect(existsSync(path)).toBe(hasKey || isNew);
    const { items } = await orchestrator.operators.list(systemCaller);
    const made = items.find(({ username }) => username === "admin");
    expect(made === undefined).toBe(!isNew);
    // Whoever has the file can sign in.
    if (made) expect(made).toMatchObject({ role: "Admin", public_key: readSigner(path).publicKey });
    if (before !== null) expect(readSigner(path).publicKey).toBe(before);

    // Each start after it finds that Admin.
    const again = await ensureFirstAdmin(orchestrator, folder);
    expect(again).toBe(hasKey || isNew ? path : null);
    expect(await orchestrator.operators.list(systemCaller)).toEqual({ items, next_cursor: null });
  },
);

it("an Admin who came after five hundred others is found, and no second one is made", async () => {
  await using test = await createTestOrchestrator();
  const { orchestrator } = test;
  for (let at = 0; at < 501; at += 1) await add(orchestrator, "Viewer", `a-viewer-${at}`);
  await add(orchestrator, "Admin", "zoe");
  const folder = temporaryFolder();
  expect(await ensureFirstAdmin(orchestrator, folder)).toBeNull();
  expect(existsSync(join(folder, "admin-key"))).toBe(false);
  expect(await listed(orchestrator)).toEqual({ admins: ["zoe"], others: 501 });
});
