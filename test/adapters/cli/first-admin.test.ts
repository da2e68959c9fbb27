/** Who becomes the first Admin of a server, and where the key of one is said to lie. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { systemCaller, toHex, nodeCrypto } from "fleetwright";
import type { Orchestrator } from "fleetwright";
import { createKeyFile, readSigner } from "fleetwright/client/node";
import { createTestOrchestrator } from "fleetwright/testing";
import { ensureFirstAdmin } from "../../../adapters/cli/work/first-admin.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

type Role = "Admin" | "Operator" | "Viewer";

interface Added {
  role: Role;
  username: string;
  /** The public key. Default: of nobody. */
  key?: string;
}

async function add(
  { operators }: Orchestrator,
  { role, username, key = toHex(nodeCrypto.createSigningKeyPair().publicKey) }: Added,
): Promise<void> {
  await operators.add(systemCaller, { username, public_key: key, role });
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

/** What lies at the path of the key: nothing, a key, that of the Admin who is there, or something else. */
type There = "nothing" | "a key" | "the Admin's key" | "no key";

it.each<[what: string, roles: readonly Role[], there: There, isNew: boolean]>([
  ["nobody", [], "nothing", true],
  ["nobody, beside the key of a start that was cut off", [], "a key", true],
  ["others alone", ["Operator", "Viewer"], "nothing", true],
  ["others alone, beside the key of a start that was cut off", ["Viewer"], "a key", true],
  ["an Admin with a key of their own", ["Viewer", "Admin"], "nothing", false],
  ["an Admin with a key of their own, beside that of one who is gone", ["Viewer", "Admin"], "a key", false],
  ["an Admin with a key of their own, beside what is no key", ["Admin"], "no key", false],
  ["an Admin whose key lies there", ["Admin"], "the Admin's key", false],
])(
  "a server of %s has an Admin, and says where a key lies only if it is one's",
  async (_, roles, there, isNew) => {
    await using test = await createTestOrchestrator();
    const { orchestrator } = test;
    const folder = temporaryFolder();
    const path = join(folder, "admin-key");
    if (there === "no key") writeFileSync(path, "no key");
    const before = there.endsWith("key") && there !== "no key" ? createKeyFile(path).publicKey : null;
    for (const [at, role] of roles.entries()) {
      const isTheirs = role === "Admin" && there === "the Admin's key";
      await add(orchestrator, { role, username: `user-${at}`, ...(isTheirs && { key: before! }) });
    }

    const told = isNew || there === "the Admin's key" ? path : null;
    expect(await ensureFirstAdmin(orchestrator, folder)).toBe(told);
    expect(existsSync(path)).toBe(isNew || there !== "nothing");
    const { items } = await orchestrator.operators.list(systemCaller);
    const made = items.find(({ username }) => username === "admin");
    expect(made === undefined).toBe(!isNew);
    // Whoever has the file can sign in.
    if (made) expect(made).toMatchObject({ role: "Admin", public_key: readSigner(path).publicKey });
    if (before !== null) expect(readSigner(path).publicKey).toBe(before);

    // Each start after it finds that Admin.
    expect(await ensureFirstAdmin(orchestrator, folder)).toBe(told);
    expect(await orchestrator.operators.list(systemCaller)).toEqual({ items, next_cursor: null });
  },
);

it("an Admin who came after five hundred others is found, and no second one is made", async () => {
  await using test = await createTestOrchestrator();
  const { orchestrator } = test;
  for (let at = 0; at < 501; at += 1) await add(orchestrator, { role: "Viewer", username: `a-viewer-${at}` });
  await add(orchestrator, { role: "Admin", username: "zoe" });
  const folder = temporaryFolder();
  expect(await ensureFirstAdmin(orchestrator, folder)).toBeNull();
  expect(existsSync(join(folder, "admin-key"))).toBe(false);
  expect(await listed(orchestrator)).toEqual({ admins: ["zoe"], others: 501 });
});
