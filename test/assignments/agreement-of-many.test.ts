/** Whether assignments agree where there are many of them, or a module says several things of one path under conditions. */
import { describe, expect, it, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { RacingStorage } from "../support/racing-storage.ts";
import { createScene, type Scene } from "../support/rollout-scene.ts";

interface File {
  content: string;
  when?: string;
}

/** A module about `/etc/f`, whatever it says of it. */
const moduleOf = (name: string, ...files: File[]): string =>
  `name: ${name}\nresources:\n${files
    .map(
      ({ content, when }, at) =>
        `  - { id: f${at}, type: file, path: /etc/f, content: "${content}"${when === undefined ? "" : `, when: "${when}"`} }\n`,
    )
    .join("")}`;

const prod: File = { content: "1", when: "env=prod" };
const dev: File = { content: "2", when: "env=dev" };
const conflict = { code: "RESOURCE_CONFLICT" };

/** Agents a1 (env=prod) and a2 (env=dev), both of role web. */
async function scene(...modules: string[]): Promise<Scene> {
  const made = await createScene(2, (at) => ({ env: at === 0 ? "prod" : "dev", role: "web" }));
  for (const content of modules) await made.test.orchestrator.modules.upload(systemCaller, { content });
  return made;
}

const assign = ({ test: { orchestrator } }: Scene, name: string, selector: string, modules: string[]) =>
  orchestrator.assignments.create(systemCaller, { name, selector, modules });

describe("what says one thing of a path on some agents and another on others", () => {
  const ways: [what: string, modules: string[], names: string[]][] = [
    ["one module", [moduleOf("both", prod, dev)], ["both"]],
    ["one module, in the other order", [moduleOf("both", dev, prod)], ["both"]],
    ["two modules", [moduleOf("p", prod), moduleOf("d", dev)], ["p", "d"]],
    ["two modules, in the other order", [moduleOf("p", prod), moduleOf("d", dev)], ["d", "p"]],
  ];
  const places: [where: string, content: string, isRefused: boolean][] = [
    ["env=prod", "1", false],
    ["env=prod", "2", true],
    ["env=dev", "1", true],
    ["env=dev", "2", false],
    ["*", "1", true],
    ["*", "2", true],
  ];

  it.each(ways)("is held to each of them where another says something, as %s", async (_, modules, names) => {
    for (const [selector, content, isRefused] of places)
      for (const isFirst of [true, false]) {
        await using made = await scene(...modules, moduleOf("plain", { content }));
        const pair: [string, string, string[]][] = [
          ["several", "*", names],
          ["plain", selector, ["plain"]],
        ];
        const [first, second] = isFirst ? pair : pair.toReversed();
        await assign(made, ...first!);
        const outcome = assign(made, ...second!).then(
          () => "taken",
          (error: unknown) => (error as { code: string }).code,
        );
        expect([selector, content, await outcome]).toEqual([
          selector,
          content,
          isRefused ? conflict.code : "taken",
        ]);
      }
  });

  it("is refused where it meets itself on an agent by way of another assignment", async () => {
    const other: File = { content: "2", when: "role=web" };
    await using made = await scene(moduleOf("p", prod), moduleOf("w", other));
    // Different conditions may exclude each other.
    await assign(made, "several", "env=stage", ["p", "w"]);
    await made.test.orchestrator.assignments.remove(systemCaller, { name: "several" });
    for (const modules of [
      ["p", "w"],
      ["w", "p"],
    ])
      for (const each of modules)
        for (const isFirst of [true, false]) {
          const pair: [string, string, string[]][] = [
            ["several", "*", modules],
            ["second", "env=prod", [each]],
          ];
          const [first, second] = isFirst ? pair : pair.toReversed();
          await assign(made, ...first!);
          await expect(assign(made, ...second!)).rejects.toMatchObject(conflict);
          await made.test.orchestrator.assignments.remove(systemCaller, { name: first![0] });
        }
  });
});

test("an upload is held to what other assignments say, and to what its own says on each agent only with an apply", async () => {
  const web = (content: string): string => moduleOf("w", { content, when: "role=web" });
  await using made = await scene(moduleOf("p", prod), web("1"));
  const { modules, assignments } = made.test.orchestrator;
  await assign(made, "own", "*", ["p", "w"]);
  // Different conditions may exclude each other.
  await modules.upload(systemCaller, { content: web("2") });
  await modules.upload(systemCaller, { content: web("1") });
  await assignments.update(systemCaller, { name: "own", modules: ["w"] });
  await assign(made, "other", "env=prod", ["p"]);
  await expect(modules.upload(systemCaller, { content: web("2") })).rejects.toMatchObject({
    ...conflict,
    details: { assignments: ["own", "other"] },
  });
});

test("an assignment whose params do not fit its module any more stands in nobody else's way", async () => {
  const before = `name: own\nparams: { m: { type: string, default: "0644" } }\nresources:\n  - { id: f, type: file, path: /etc/f, content: "1" }\n`;
  await using made = await scene(before, moduleOf("plain", { content: "2" }));
  const { assignments, modules } = made.test.orchestrator;
  const params = { m: "nonsense" };
  await assignments.create(systemCaller, { name: "own", selector: "*", modules: ["own"], params });
  await expect(assign(made, "other", "*", ["plain"])).rejects.toMatchObject(conflict);
  await modules.upload(systemCaller, { content: before.replace('"1"', '"1", mode: "{{ params.m }}"') });
  // Nothing can come of it: its next apply is refused.
  await assign(made, "other", "*", ["plain"]);
  await expect(
    assignments.update(systemCaller, { name: "own", params: { m: "0600" } }),
  ).rejects.toMatchObject(conflict);
});

test.each(["is made", "is changed"])(
  "a module that is removed while an assignment that %s begins to use it is missed, and nothing is stored",
  async (how) => {
    const storage = new RacingStorage((writes: readonly Write[]) =>
      writes.some((write) => write.kind === "put" && write.collection === "assignments"),
    );
    await using fleet = await createTestOrchestrator({ storage });
    const { assignments, modules } = fleet.orchestrator;
    for (const name of ["web", "base"])
      await modules.upload(systemCaller, { content: moduleOf(name, { content: "1" }) });
    const given = { name: "site", selector: "*", modules: ["web"] };
    if (how === "is changed") await assignments.create(systemCaller, given);
    const before = await assignments.list(systemCaller);
    storage.before = () => modules.remove(systemCaller, { name: "base" });
    const both = { ...given, modules: ["web", "base"] };
    const written =
      how === "is changed" ? assignments.update(systemCaller, both) : assignments.create(systemCaller, both);
    await expect(written).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "There is no module base.",
    });
    expect(await assignments.list(systemCaller)).toEqual(before);
  },
);

/** Counts what is read of modules. */
class CountingStorage extends MemoryStorage {
  reads = 0;

  override get: MemoryStorage["get"] = (collection, key) => {
    if (collection === "modules") this.reads += 1;
    return super.get(collection, key);
  };
}

test("an upload of what many assignments use looks at the modules of each other one once, not once for each of them", async () => {
  const storage = new CountingStorage();
  await using fleet = await createTestOrchestrator({ storage });
  const { assignments, modules } = fleet.orchestrator;
  const content = (name: string, text: string): string =>
    `name: ${name}\nresources:\n  - { type: file, path: /${name}, content: "${text}" }\n`;
  for (const name of ["web", "base"]) await modules.upload(systemCaller, { content: content(name, "1") });
  for (let at = 0; at < 20; at += 1)
    for (const name of ["web", "base"])
      await assignments.create(systemCaller, { name: `${name}-${at}`, selector: "*", modules: [name] });
  storage.reads = 0;
  await modules.upload(systemCaller, { content: content("web", "2") });
  expect(storage.reads).toBeGreaterThan(0);
  expect(storage.reads).toBeLessThan(100);
});
