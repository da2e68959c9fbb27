/** What is said of modules as they come, change and go, and what a change that is refused leaves as it was. */
import { describe, expect, it } from "vitest";
import { systemCaller, type Module, type Orchestrator } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { itemsOf } from "../support/all-pages.ts";

const fileOf = (name: string, text: string, more = ""): string =>
  `name: ${name}\n${more}resources:\n  - { id: f, type: file, path: /${name}, content: "${text}" }\n`;

/** Modules web and base, two revisions of each; base is required by web and used by an assignment. */
async function scene() {
  const test = await createTestOrchestrator();
  const { modules, assignments } = test.orchestrator;
  for (const text of ["one", "two"])
    for (const [name, more] of [["base"], ["web", "requires: [base]\ndescription: The site.\n"]] as const)
      await modules.upload(systemCaller, { content: fileOf(name, text, more) });
  await assignments.create(systemCaller, { name: "all", selector: "*", modules: ["base"] });
  const everything = async () => ({
    listed: (await modules.list(systemCaller)).items,
    read: await Promise.all(
      ["base", "web"].flatMap((name) =>
        [1, 2].map((revision) => modules.get(systemCaller, { name, revision })),
      ),
    ),
    told: test.events.length,
  });
  return { test, modules, assignments, everything };
}

describe("a change of a module that is refused says why, and leaves all as it was", () => {
  const content = fileOf("web", "three");
  const cases: Record<string, [change: (modules: Orchestrator["modules"]) => Promise<unknown>, why: object]> =
    {
      "a removal while it is used": [
        (modules) => modules.remove(systemCaller, { name: "base" }),
        {
          code: "IN_USE",
          message: "Module base is used by module web, all.",
          details: { used_by: ["module web", "all"] },
        },
      ],
      "a removal of another version": [
        (modules) => modules.remove(systemCaller, { name: "web" }, { ifVersion: [1, 3] }),
        { code: "PRECONDITION_FAILED", details: { version: 2 } },
      ],
      "a removal of what is not there": [
        (modules) => modules.remove(systemCaller, { name: "wbe" }),
        { code: "NOT_FOUND", message: "There is no module wbe." },
      ],
      "an upload over another version": [
        (modules) => modules.upload(systemCaller, { content }, { ifVersion: [1, 3] }),
        { code: "PRECONDITION_FAILED", details: { version: 2 } },
      ],
      "an upload that is to be the first": [
        (modules) => modules.upload(systemCaller, { content }, { ifVersion: [0] }),
        { code: "PRECONDITION_FAILED", details: { version: 2 } },
      ],
      "an upload of what is there already, over another version": [
        (modules) =>
          modules.upload(
            systemCaller,
            { content: fileOf("web", "two", "requires: [base]\ndescription: The site.\n") },
            { ifVersion: [1] },
          ),
        { code: "PRECONDITION_FAILED", details: { version: 2 } },
      ],
      "an upload under another name": [
        (modules) => modules.upload(systemCaller, { content, name: "base" }),
        {
          code: "MODULE_INVALID",
          issues: [{ path: ["name"], message: "the content is named web, not base" }],
        },
      ],
    };

  it.each(Object.entries(cases))("%s", async (_, [change, why]) => {
    const { test, modules, everything } = await scene();
    await using __ = test;
    const before = await everything();
    await expect(change(modules)).rejects.toMatchObject(why);
    expect(await everything()).toEqual(before);
  });
});

it("a change of the version that was seen is made", async () => {
  const { test, modules } = await scene();
  await using _ = test;
  const seen = { ifVersion: [2] };
  expect(await modules.upload(systemCaller, { content: fileOf("web", "three") }, seen)).toMatchObject({
    revision: 3,
  });
  await modules.remove(systemCaller, { name: "web" }, { ifVersion: [3] });
  const first = await modules.upload(systemCaller, { content: fileOf("web", "four") }, { ifVersion: [0] });
  expect(first).toMatchObject({ revision: 1, created: true });
});

it("a module that is removed takes nothing along of the others: not one of their revisions", async () => {
  const { test, modules, assignments } = await scene();
  await using _ = test;
  await modules.upload(systemCaller, { content: fileOf("web-2", "one") });
  await modules.remove(systemCaller, { name: "web" });
  for (const [name, revision, text] of [
    ["base", 1, "one"],
    ["base", 2, "two"],
    ["web-2", 1, "one"],
  ] as const)
    expect(await modules.get(systemCaller, { name, revision })).toMatchObject({
      revision,
      content: fileOf(name, text),
    });
  for (const revision of [1, 2])
    await expect(modules.get(systemCaller, { name: "web", revision })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: `There is no module web in revision ${revision}.`,
    });
  await expect(
    assignments.create(systemCaller, { name: "old", selector: "env=none", modules: ["base@1"] }),
  ).resolves.toMatchObject({ modules: ["base@1"] });
});

it("what is told of modules counts their resources, says who uploaded them and who manages them", async () => {
  await using test = await createTestOrchestrator();
  const { modules } = test.orchestrator;
  const { caller } = await test.signIn("Admin", "ada");
  const shop = { label: "shop", name: "site" };
  const more = "  - { id: g, type: file, path: /g, content: x }\n";
  const uploads: [
    content: string,
    managed: { managed_by?: typeof shop | null },
    expected: Partial<Module>,
  ][] = [
    [fileOf("web", "one", "description: The site.\n"), { managed_by: shop }, { description: "The site." }],
    // What a call says nothing of stays.
    [fileOf("web", "two") + more, {}, { resource_count: 2 }],
    // The same content for another folder is a revision, too.
    [fileOf("web", "two") + more, { managed_by: null }, { resource_count: 2 }],
  ];
  for (const [at, [content, managed, expected]] of uploads.entries()) {
    await test.clock.advance(1_000);
    const uploaded = await modules.upload(caller, { content, ...managed });
    expect(uploaded).toStrictEqual({
      name: "web",
      revision: at + 1,
      content_hash: uploaded.content_hash,
      size: content.length,
      resource_count: 1,
      uploaded_at: new Date(test.clock.now()).toISOString(),
      uploaded_by: "ada",
      ...(at < 2 && { managed_by: shop }),
      used_by: [],
      created: true,
      ...expected,
    });
    const { created: _, ...shown } = uploaded;
    expect((await modules.list(systemCaller)).items).toStrictEqual([shown]);
    expect(await modules.get(systemCaller, { name: "web" })).toMatchObject(shown);
    expect(test.events.at(-1)).toMatchObject({
      event_type: "module.uploaded",
      summary: `Module web was uploaded as revision ${at + 1}`,
      metadata: { revision: at + 1, content_hash: uploaded.content_hash },
    });
  }
  await modules.remove(caller, { name: "web" });
  expect(test.events.at(-1)).toMatchObject({
    event_type: "module.removed",
    target: { type: "module", id: "web", name: "web" },
    summary: "Module web was removed",
  });
});

it.each([1, 2, 3, 4, 5])("pages of %i modules, put together, are the whole list by name", async (limit) => {
  await using test = await createTestOrchestrator();
  const { modules } = test.orchestrator;
  const names = ["a", "a-b", "b", "c"];
  for (const name of names.toReversed()) await modules.upload(systemCaller, { content: fileOf(name, "one") });
  const found = await itemsOf((page) => modules.list(systemCaller, page), limit);
  expect(found.map(({ name }) => name)).toEqual(names);
});
