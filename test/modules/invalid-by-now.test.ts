/** A module that was valid when it was uploaded, and is not for the types that the orchestrator was started with since. */
import { expect, it, onTestFinished, test } from "vitest";
import { z } from "zod";
import { checkModule, OrchestratorError, systemCaller, type OrchestratorOptions } from "fleetwright";
import { resourceTypesWith, type ResourceType } from "fleetwright/ports";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { noteType } from "../package/project/own-type.ts";

const notes = `name: notes\nparams: { n: { type: string, default: x } }\nresources:\n  - { type: note, path: /etc/note, text: "hello" }\n`;
const rival = `name: rival\nresources:\n  - { id: f, type: file, path: /etc/note, content: "x" }\n`;

/** The same type in a version that takes less. */
const stricter: ResourceType = {
  ...(noteType as ResourceType),
  schema: z.strictObject({ path: z.string(), text: z.string().max(3, "must be at most 3 characters") }),
};

async function scene() {
  const [clock, data] = [new FakeClock(), new MemoryData()];
  const storage = (): MemoryStorage => new MemoryStorage({ clock, data });
  const start = (options: Partial<OrchestratorOptions>): Promise<TestOrchestrator> =>
    createTestOrchestrator({ clock, storage: storage(), ...options });
  const first = await start({ ownTypes: [noteType as ResourceType] });
  const { modules, assignments } = first.orchestrator;
  for (const content of [notes, rival]) await modules.upload(systemCaller, { content });
  await assignments.create(systemCaller, {
    name: "notes",
    selector: "*",
    modules: ["notes"],
    params: { n: "hunter" },
  });
  const { token } = await first.signIn("Viewer", "joan");
  await first.orchestrator.stop();
  const again = await start({ ownTypes: [stricter] });
  onTestFinished(() => again[Symbol.asyncDispose]());
  const viewer = await again.orchestrator.access.authenticate(token);
  return { ...again.orchestrator, storage: again.storage, viewer };
}

const refusal = {
  code: "MODULE_INVALID",
  issues: [{ path: ["resources", 0, "text"], message: "must be at most 3 characters", line: 4 }],
};

test("it is refused where it is to be used, and stands in nobody else's way", async () => {
  const { modules, assignments } = await scene();
  const create = (name: string, module: string): Promise<unknown> =>
    assignments.create(systemCaller, { name, selector: "*", modules: [module] });
  await expect(create("more", "notes")).rejects.toMatchObject(refusal);
  // Both are about one path: nobody gets the other any more.
  await create("rival", "rival");
  await modules.upload(systemCaller, { content: rival.replace('"x"', '"y"') });
  await assignments.update(systemCaller, { name: "notes", description: "Kept for its notes." });
  const { items } = await assignments.list(systemCaller);
  expect(items.map(({ name }) => name)).toEqual(["notes", "rival"]);
});

test("it is shown as it was when it was uploaded, for as long as that is kept", async () => {
  const { modules, assignments, viewer } = await scene();
  for (const reader of [systemCaller, viewer])
    expect(await modules.get(reader, { name: "notes" })).toMatchObject({
      content: notes,
      resources: [{ id: "note:/etc/note" }],
    });
  expect((await assignments.list(systemCaller)).items).toMatchObject([{ params: { n: "hunter" } }]);
});

test("where that is lost it is shown to those who may write it alone, and its params to nobody", async () => {
  const { modules, assignments, storage, viewer } = await scene();
  const { value } = (await storage.get<JsonObject>("modules", "notes"))!;
  await storage.commit([{ kind: "dropBlob", id: `module-${String(value["view_hash"])}` }]);
  const shown = { params: {}, resources: [] };
  expect(await modules.get(systemCaller, { name: "notes" })).toMatchObject({ content: notes, ...shown });
  const hidden = await modules.get(viewer, { name: "notes" });
  expect(hidden).toMatchObject({
    content: "# This module breaks a limit of this version: upload it anew.\n",
    ...shown,
  });
  expect(hidden.content_hash).not.toBe(value["content_hash"]);
  expect((await modules.list(viewer)).items.map(({ name }) => name)).toEqual(["notes", "rival"]);
  expect((await assignments.list(systemCaller)).items).toMatchObject([{ params: { n: "(sensitive)" } }]);
  const fixed = notes.replace("hello", "hey");
  expect(await modules.upload(systemCaller, { content: fixed })).toMatchObject({ revision: 2 });
  expect(await modules.get(viewer, { name: "notes" })).toMatchObject({ content: fixed });
  expect((await assignments.list(systemCaller)).items).toMatchObject([{ params: { n: "hunter" } }]);
});

it.each([
  ["an error of its own", new TypeError("It went wrong.")],
  ["one of the orchestrator's", new OrchestratorError("UNAVAILABLE")],
])("a check of a text lets through what a type throws, be it %s", (_, thrown) => {
  const throwing: ResourceType = {
    ...stricter,
    schema: z.unknown().superRefine(() => {
      throw thrown;
    }) as unknown as ResourceType["schema"],
  };
  expect(() => checkModule(notes, resourceTypesWith([throwing]))).toThrow(thrown);
  expect(checkModule(rival, resourceTypesWith([throwing]))).toEqual({
    name: "rival",
    resources: 1,
    faults: [],
  });
});
