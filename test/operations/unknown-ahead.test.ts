/** An apply of which nobody knows how it ended keeps others from beginning only where they would take away what it may have brought. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { systemCaller, type Operation } from "fleetwright";
import { createClockScene, type ClockScene } from "../support/clock-scene.ts";

describe("while nobody knows how an apply ended that a call named a module for", () => {
  let scene: ClockScene;
  let lost: string;
  beforeEach(async () => {
    scene = await createClockScene();
    for (const name of ["web", "base"]) {
      const content = `name: ${name}\nresources:\n  - { id: e, type: file, path: /etc/${name}, content: e }\n`;
      await scene.server.orchestrator.modules.upload(systemCaller, { content });
    }
    scene.isDeaf = true;
    lost = (await apply({ modules: ["web"], timeout_seconds: 1 })).operation_id;
    await scene.pass(40_000);
  });
  afterEach(() => scene[Symbol.asyncDispose]());

  const apply = (input: object): Promise<Operation> =>
    scene.server.orchestrator.operations.apply(systemCaller, {
      node_id: scene.nodeId,
      wait_seconds: 0,
      ...input,
    });
  const statusOf = async (operation_id: string): Promise<string> =>
    (await scene.server.orchestrator.operations.get(systemCaller, { operation_id })).status;
  const assign = (modules: string[]): Promise<unknown> =>
    scene.server.orchestrator.assignments.create(systemCaller, { name: "x", selector: "*", modules });
  const begins = async (input: object): Promise<string> => {
    const { operation_id } = await apply(input);
    await scene.pass(1000);
    expect(await statusOf(lost)).toBe("unknown");
    return statusOf(operation_id);
  };

  test("an apply of everything begins where it brings that module, too", async () => {
    await assign(["base", "web"]);
    expect(await begins({})).toBe("running");
  });

  test("an apply of everything without it ends", async () => {
    await assign(["base"]);
    expect(await begins({})).toBe("cancelled");
  });

  test("an apply of another module begins", async () => {
    expect(await begins({ modules: ["base"] })).toBe("running");
  });
});
