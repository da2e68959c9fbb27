import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";

const file = (name: string, content: string, path = "/etc/motd"): string =>
  `name: ${name}\nresources:\n  - { type: file, path: ${path}, content: "${content}" }\n`;

describe("assignments", () => {
  it("keep the selector as the grammar prints it", async () => {
    await using test = await createTestOrchestrator();
    const { modules, assignments } = test.orchestrator;
    await modules.upload(systemCaller, { content: file("motd", "hi") });
    const created = await assignments.create(systemCaller, {
      name: "web",
      selector: "  env = prod ,role in ( web,api )",
      modules: ["motd"],
    });
    const printed = created.selector;
    expect(printed).not.toContain("  ");
    const updated = await assignments.update(systemCaller, { name: "web", selector: printed });
    expect(updated.selector).toBe(printed);
    expect(updated.matches).toBe(0);
  });

  it.each([
    ["an empty selector", { selector: "", modules: ["motd"] }, "VALIDATION_FAILED"],
    ["a selector that can't be read", { selector: "env=prod,,", modules: ["motd"] }, "SELECTOR_INVALID"],
    ["no module", { selector: "*", modules: [] }, "VALIDATION_FAILED"],
    ["an unknown module", { selector: "*", modules: ["nobody"] }, "NOT_FOUND"],
    ["an unknown field", { selector: "*", modules: ["motd"], colour: "red" }, "VALIDATION_FAILED"],
  ])("refuse %s and store nothing", async (_, fields, code) => {
    await using test = await createTestOrchestrator();
    const { modules, assignments } = test.orchestrator;
    await modules.upload(systemCaller, { content: file("motd", "hi") });
    await expect(assignments.create(systemCaller, { name: "x", ...fields })).rejects.toMatchObject({ code });
    expect((await assignments.list(systemCaller)).items).toEqual([]);
  });

  it("refuse modules that describe one thing differently, and take those that agree", async () => {
    await using test = await createTestOrchestrator();
    const { modules, assignments } = test.orchestrator;
    await modules.upload(systemCaller, { content: file("a", "one") });
    await modules.upload(systemCaller, { content: file("b", "two") });
    await modules.upload(systemCaller, { content: file("c", "one") });
    const conflicting = assignments.create(systemCaller, { name: "x", selector: "*", modules: ["a", "b"] });
    await expect(conflicting).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      message: expect.stringContaining("/etc/motd"),
    });
    await assignments.create(systemCaller, { name: "x", selector: "*", modules: ["a", "c"] });
    const again = assignments.create(systemCaller, { name: "x", selector: "*", modules: ["a"] });
    await expect(again).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
  });

  it("say which agents they match only once there are some: an apply of none is refused", async () => {
    await using test = await createTestOrchestrator();
    const { modules, assignments, rollouts } = test.orchestrator;
    await modules.upload(systemCaller, { content: file("motd", "hi") });
    await assignments.create(systemCaller, { name: "x", selector: "*", modules: ["motd"] });
    await expect(rollouts.apply(systemCaller, { name: "x" })).rejects.toMatchObject({ code: "NO_MATCH" });
    await expect(rollouts.plan(systemCaller, { name: "y" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
