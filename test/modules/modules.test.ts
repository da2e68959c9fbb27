import { describe, expect, it } from "vitest";
import { isOrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";

const motd = (content: string): string =>
  `name: motd\nresources:\n  - { id: motd, type: file, path: /etc/motd, content: "${content}" }\n`;

describe("modules", () => {
  it("get a new revision with each upload of other content, and none with the same", async () => {
    await using test = await createTestOrchestrator();
    const { modules } = test.orchestrator;
    const first = await modules.upload(systemCaller, { content: motd("one") });
    const second = await modules.upload(systemCaller, { content: motd("two") });
    const again = await modules.upload(systemCaller, { content: motd("two") });
    expect([first, second, again].map(({ created, revision }) => [created, revision])).toEqual([
      [true, 1],
      [true, 2],
      [false, 2],
    ]);
    expect((await modules.get(systemCaller, { name: "motd" })).content).toBe(motd("two"));
    const old = await modules.get(systemCaller, { name: "motd", revision: 1 });
    expect(old).toMatchObject({
      content: motd("one"),
      resources: [{ id: "motd", type: "file", identity: "/etc/motd" }],
    });
  });

  it("keep every revision when many are uploaded at the same time", async () => {
    await using test = await createTestOrchestrator();
    const { modules } = test.orchestrator;
    const uploads = Array.from({ length: 20 }, (_, i) =>
      modules.upload(systemCaller, { content: motd(String(i)) }),
    );
    const revisions = (await Promise.all(uploads)).map((module) => module.revision);
    expect(revisions.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  });

  it("stay where an assignment begins to use them in the moment in which they are removed", async () => {
    for (let round = 0; round < 20; round += 1) {
      await using test = await createTestOrchestrator();
      const { modules, assignments } = test.orchestrator;
      await modules.upload(systemCaller, { content: motd("one") });
      const turns = Array.from({ length: round }, () => 0);
      const removed = (async () => {
        for (const _ of turns) await Promise.resolve();
        await modules.remove(systemCaller, { name: "motd" });
      })();
      const assigned = assignments.create(systemCaller, { name: "web", selector: "*", modules: ["motd"] });
      const [removal, assignment] = await Promise.allSettled([removed, assigned]);
      expect([removal.status, assignment.status].toSorted(), `round ${round}`).toEqual([
        "fulfilled",
        "rejected",
      ]);
      const isThere = (await modules.list(systemCaller)).items.length === 1;
      expect(isThere).toBe(assignment.status === "fulfilled");
    }
  });

  it("name who uses each of them, in a list, too", async () => {
    await using test = await createTestOrchestrator();
    const { modules, assignments } = test.orchestrator;
    for (const name of ["a", "b", "c"])
      await modules.upload(systemCaller, { content: `name: ${name}\nresources: []\n` });
    for (const [name, used] of [
      ["one", ["a", "b"]],
      ["two", ["b"]],
    ] as const)
      await assignments.create(systemCaller, { name, selector: "*", modules: [...used] });
    const { items } = await modules.list(systemCaller);
    expect(items.map(({ name, used_by }) => [name, used_by])).toEqual([
      ["a", ["one"]],
      ["b", ["one", "two"]],
      ["c", []],
    ]);
  });

  it("are refused with line and column of every fault, and nothing is stored", async () => {
    await using test = await createTestOrchestrator();
    const content = [
      "name: Web",
      "resources:",
      "  - { id: a, type: file, path: relative, content: x }",
      "  - { id: b, type: nonsense }",
      "  - { id: c, type: file, path: /c, content: x, colour: red, requires: [z] }",
    ].join("\n");
    const error: unknown = await test.orchestrator.modules
      .upload(systemCaller, { content })
      .catch((e: unknown) => e);
    if (!isOrchestratorError(error, "MODULE_INVALID")) throw error;
    expect(error.issues.map(({ line }) => line)).toEqual([1, 3, 4, 5, 5]);
    expect(error.issues.every(({ column }) => (column ?? 0) > 0)).toBe(true);
    expect((await test.orchestrator.modules.list(systemCaller)).items).toEqual([]);
    expect((await test.orchestrator.audit.list(systemCaller)).items).toEqual([]);
  });

  it("are refused where the name of the call is not the name in the content", async () => {
    await using test = await createTestOrchestrator();
    const upload = test.orchestrator.modules.upload(systemCaller, { content: motd("x"), name: "other" });
    await expect(upload).rejects.toMatchObject({ code: "MODULE_INVALID" });
  });

  it("can't be removed while an assignment uses them, which the refusal names", async () => {
    await using test = await createTestOrchestrator();
    const { modules, assignments } = test.orchestrator;
    await modules.upload(systemCaller, { content: motd("x") });
    await assignments.create(systemCaller, { name: "everywhere", selector: "*", modules: ["motd"] });
    expect((await modules.list(systemCaller)).items).toMatchObject([
      { name: "motd", used_by: ["everywhere"] },
    ]);
    const removal = modules.remove(systemCaller, { name: "motd" });
    await expect(removal).rejects.toMatchObject({ code: "IN_USE", details: { used_by: ["everywhere"] } });
    await assignments.remove(systemCaller, { name: "everywhere" });
    await modules.remove(systemCaller, { name: "motd" });
    await expect(modules.get(systemCaller, { name: "motd" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    const begun = await modules.upload(systemCaller, { content: motd("y") });
    expect(begun.revision).toBe(1);
  });
});
