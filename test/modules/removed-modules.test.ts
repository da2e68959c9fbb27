/** What is left of a module, or of an earlier revision of it: nothing that names, holds or keeps anything. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { moduleCollections } from "../../lib/modules/documents.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { MemorySecretsKey } from "../support/secrets-key.ts";

const [hourMs, value] = [3_600_000, "hunter22"];

/** A module that requires some and uses some secrets, which makes what is shown of it a content of its own. */
const moduleOf = (name: string, { requires = [], secrets = [] }: Record<string, string[]>): string =>
  `name: ${name}\nrequires: [${requires.join(", ")}]\nresources:\n${secrets
    .map(
      (secret) => `  - { id: ${secret}, type: file, path: /${secret}, content: "{{ secrets.${secret} }}" }\n`,
    )
    .join("")}  - { id: f, type: file, path: /${name}, content: x }\n`;

async function createScene() {
  const clock = new FakeClock();
  const data = new MemoryData();
  const storage = new MemoryStorage({ clock, data });
  const fleet = await createTestOrchestrator({ clock, storage, secretsKey: new MemorySecretsKey() });
  const { modules, secrets } = fleet.orchestrator;
  for (const name of ["db", "key"]) await secrets.create(systemCaller, { name, value });
  const upload = (...module: Parameters<typeof moduleOf>) =>
    modules.upload(systemCaller, { content: moduleOf(...module) });
  const users = async () => {
    const [ofModules, ofSecrets] = [await modules.list(systemCaller), await secrets.list(systemCaller)];
    const all = [...ofModules.items, ...ofSecrets.items];
    return Object.fromEntries(all.map(({ name, used_by }) => [name, used_by]));
  };
  const contents = () => [...data.blobs.keys()].filter((id) => id.startsWith("module-"));
  const stored = async () => {
    const names = Object.keys(moduleCollections);
    const lists = await Promise.all(names.map((name) => storage.list(name)));
    return lists.flatMap(({ items }, at) => items.map(({ key }) => `${names[at]} ${key}`));
  };
  const waitHours = async (hours: number) => {
    for (let hour = 0; hour < hours; hour += 1) await clock.advance(hourMs);
  };
  return { fleet, modules, secrets, upload, users, contents, stored, waitHours };
}

test("a later revision lets go of what only an earlier one used, and holds what it uses itself", async () => {
  const { fleet, modules, secrets, upload, users } = await createScene();
  await using _ = fleet;
  for (const name of ["base", "other"]) await upload(name, {});
  await upload("web", { requires: ["base"], secrets: ["db"] });
  await upload("app", { requires: ["base"], secrets: ["db"] });
  const nobody = { web: [], app: [] };
  const both = ["module app", "module web"];
  expect(await users()).toEqual({ ...nobody, base: both, db: ["app", "web"], other: [], key: [] });
  await upload("web", { requires: ["other"], secrets: ["key"] });
  expect(await users()).toEqual({
    ...nobody,
    base: ["module app"],
    db: ["app"],
    other: ["module web"],
    key: ["web"],
  });
  for (const name of ["db", "key"])
    await expect(secrets.remove(systemCaller, { name })).rejects.toMatchObject({ code: "IN_USE" });
  for (const name of ["base", "other"])
    await expect(modules.remove(systemCaller, { name })).rejects.toMatchObject({ code: "IN_USE" });
});

test("of a module that is removed nothing is left, whatever its revisions required, used and showed", async () => {
  const { fleet, modules, secrets, upload, users, contents, stored, waitHours } = await createScene();
  await using _ = fleet;
  await upload("base", {});
  await upload("web", { requires: ["base"], secrets: ["db"] });
  await upload("web", { requires: ["base"], secrets: ["db", "key"] });
  await waitHours(4);
  // Of each revision what was uploaded and what is shown of it.
  expect(contents()).toHaveLength(6);
  await modules.remove(systemCaller, { name: "web" });
  expect(await users()).toEqual({ base: [], db: [], key: [] });
  await modules.remove(systemCaller, { name: "base" });
  for (const name of ["db", "key"]) await secrets.remove(systemCaller, { name });
  expect(await stored()).toEqual([]);
  expect(contents()).toHaveLength(6);
  await waitHours(4);
  expect(contents()).toEqual([]);
});
