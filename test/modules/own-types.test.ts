/** Types of resources of one's own, from the upload of a module to its removal from a machine. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  isOrchestratorError,
  Orchestrator,
  systemCaller,
  type OperationDetail,
  type OrchestratorOptions,
} from "fleetwright";
import { defineResourceType, describeChange, resourceTypesWith, type ResourceType } from "fleetwright/ports";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import { noteType } from "../package/project/own-type.ts";
import { newFolders, startAgent, startApprovedAgent, type TestAgent } from "../support/fleet.ts";

const notes = 'name: notes\nresources:\n  - { type: note, path: /etc/note, text: "{{ params.text }}" }\n';
const parametrized = `${notes}params: { text: { type: string, default: hello } }\n`;
const motd = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";

/** A thing that is named by its secret. */
const tokenType = defineResourceType<{ value: string }>({
  type: "token",
  summary: "A token.",
  schema: z.strictObject({ value: z.string() }),
  identity: ({ value }) => value,
  identityHoldsValue: () => true,
  check: () => [],
  apply() {},
  capture: () => null,
  describe: describeChange,
});

const known = { ownTypes: [noteType, tokenType] };
const types = resourceTypesWith(known.ownTypes);

/** Starts orchestrators, one after the other, on the same data. */
function beginner(): (options?: Partial<OrchestratorOptions>) => Promise<TestOrchestrator> {
  const clock = new FakeClock();
  const data = new MemoryData();
  return async (options = {}) => {
    const storage = new MemoryStorage({ clock, data });
    const test = await createTestOrchestrator({ clock, storage, driftIntervalSeconds: 0, ...options });
    onTestFinished(() => test[Symbol.asyncDispose]());
    return test;
  };
}

async function connect(
  test: TestOrchestrator,
  options: Parameters<typeof startApprovedAgent>[1],
  start = startApprovedAgent,
): Promise<TestAgent> {
  const agent = await start(test, options);
  onTestFinished(() => agent[Symbol.asyncDispose]());
  return agent;
}

async function run(
  { orchestrator: { operations } }: TestOrchestrator,
  kind: "plan" | "apply",
  input: Parameters<typeof operations.apply>[1],
): Promise<OperationDetail> {
  const { operation_id } = await operations[kind](systemCaller, { wait_seconds: 60, ...input });
  return operations.get(systemCaller, { operation_id });
}

const upload = ({ orchestrator }: TestOrchestrator, content: string): Promise<unknown> =>
  orchestrator.modules.upload(systemCaller, { content });

describe("a type of one's own", () => {
  it("is uploaded, planned, applied, checked for drift and removed as any other", async () => {
    const test = await beginner()(known);
    const agent = await connect(test, { ...newFolders(), types });
    const { nodeId: node_id } = agent;
    const file = join(agent.root, "etc/note");
    await upload(test, parametrized);
    const { resources } = await test.orchestrator.modules.get(systemCaller, { name: "notes" });
    expect(resources).toEqual([{ id: "note:/etc/note", type: "note", identity: "/etc/note" }]);

    const plan = await run(test, "plan", { node_id, modules: ["notes"] });
    expect(plan.resources).toMatchObject([
      { type: "note", outcome: "would_change", action: "create", changes: [{ after: "hello" }] },
    ]);
    expect(existsSync(file)).toBe(false);
    const applied = await run(test, "apply", { node_id, plan_id: plan.operation_id });
    expect(applied).toMatchObject({ status: "succeeded", resources: [{ outcome: "changed" }] });
    expect(readFileSync(file, "utf8")).toBe("hello");

    writeFileSync(file, "theirs");
    const drift = await test.orchestrator.drift.check(systemCaller, { node_id, wait_seconds: 60 });
    expect(drift).toMatchObject({
      status: "drifted",
      resources: [{ type: "note", changes: [{ property: "text", before: "theirs", after: "hello" }] }],
    });
    const removed = await run(test, "apply", { node_id, remove_modules: ["notes"] });
    expect(removed.resources).toMatchObject([{ type: "note", action: "remove", outcome: "changed" }]);
    expect(existsSync(file)).toBe(false);
    expect(test.loggedErrors).toEqual([]);
  });

  it("follows a trigger that it knows, and none that it does not", async () => {
    const test = await beginner()(known);
    const { nodeId: node_id } = await connect(test, { ...newFolders(), types });
    const watching = (property: string): string =>
      `${motd}  - { type: note, path: /etc/note, text: a, ${property}: ["file:/etc/motd"] }\n`;
    await expect(upload(test, watching("restart_on"))).rejects.toMatchObject({
      issues: [{ message: "A note can't be made to restart by a trigger." }],
    });
    await upload(test, watching("run_on"));
    const { resources } = await run(test, "apply", { node_id, modules: ["motd"] });
    expect(resources).toMatchObject([{ type: "file" }, { type: "note", action: "run", outcome: "changed" }]);
  });

  it("is held by its schema and its namespace when modules are taken in and assigned", async () => {
    const test = await beginner()(known);
    await expect(
      upload(test, "name: bad\nresources:\n  - { type: note, path: /n, txt: a }\n"),
    ).rejects.toMatchObject({
      code: "MODULE_INVALID",
      issues: [{ message: '"text" is missing.' }, { message: '"txt" is not known here, did you mean text?' }],
    });
    await upload(test, parametrized);
    await upload(test, "name: other\nresources:\n  - { type: file, path: /etc/note, content: hi }\n");
    const conflict = { code: "RESOURCE_CONFLICT", details: { identity: "path:/etc/note" } };
    const { assignments } = test.orchestrator;
    const both = { name: "both", selector: "*", modules: ["notes", "other"] };
    await expect(assignments.create(systemCaller, both)).rejects.toMatchObject(conflict);
    const { nodeId: node_id } = await connect(test, { ...newFolders(), types });
    await assignments.create(systemCaller, { ...both, modules: ["other"] });
    const second = { ...both, name: "second", modules: ["notes"] };
    await expect(assignments.create(systemCaller, second)).rejects.toMatchObject(conflict);
    await expect(run(test, "plan", { node_id, modules: ["notes"] })).rejects.toMatchObject(conflict);
  });

  it("goes by its id for Viewers where its identity is a secret", async () => {
    const test = await beginner()(known);
    await upload(
      test,
      "name: m\nresources:\n  - { type: token, id: t, value: tellnobody, sensitive: true }\n",
    );
    const { caller } = await test.signIn("Viewer");
    const shown = await test.orchestrator.modules.get(caller, { name: "m" });
    expect(shown.resources).toEqual([{ id: "t", type: "token", identity: "m/t" }]);
    expect(JSON.stringify(shown)).not.toContain("tellnobody");
  });

  it.each<[name: string, types: ResourceType[], faults: string[]]>([
    ["that of a type that ships", [named("file")], ['"file" is the name of a type that ships']],
    ["there twice", [named("note"), named("note")], ['"note" is there twice']],
    [
      "no name in snake_case",
      [named("Note"), named("a__b"), named("1a"), named("a.b"), named(""), named("a".repeat(65))],
      Array.from({ length: 6 }, () => "is no name in snake_case"),
    ],
  ])("is refused at construction where its name is %s", (_name, ownTypes, faults) => {
    const storage = new MemoryStorage();
    const refused = expect.objectContaining({
      code: "OPTIONS_INVALID",
      issues: faults.map((fault) => ({
        path: ["ownTypes", expect.any(Number), "type"],
        message: expect.stringContaining(fault) as string,
      })),
    }) as Error;
    expect(() => new Orchestrator({ storage, transport: new MemoryTransport(), ownTypes })).toThrow(refused);
  });

  it("is refused at construction where a part of it is missing, each named", () => {
    const bare = { type: "bare", triggering: {} } as unknown as ResourceType;
    const paths = (own: ResourceType[]): string[] => {
      try {
        resourceTypesWith(own);
        return [];
      } catch (error) {
        return isOrchestratorError(error, "OPTIONS_INVALID")
          ? error.issues.map(({ path }) => path.join("."))
          : [String(error)];
      }
    };
    expect(paths([named("whole"), bare])).toEqual([
      "1.summary",
      "1.schema",
      "1.identity",
      "1.check",
      "1.apply",
      "1.capture",
      "1.describe",
      "1.triggering.triggers",
      "1.triggering.fire",
    ]);
  });
});

describe("an orchestrator that was started again without a type", () => {
  it("shows what it has of it, refuses to use it, and stands in nobody else's way", async () => {
    const begin = beginner();
    const first = await begin(known);
    const agent = await connect(first, { ...newFolders(), types });
    const { nodeId: node_id, root, stateDir } = agent;
    await upload(first, parametrized);
    await upload(first, motd);
    const { assignments } = first.orchestrator;
    await assignments.create(systemCaller, { name: "notes", selector: "*", modules: ["notes"] });
    await run(first, "apply", { node_id });
    const plan = await run(first, "plan", { node_id });
    await agent[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();

    const test = await begin();
    const { modules, operations, rollouts, drift } = test.orchestrator;
    await connect(test, { root, stateDir, types }, startAgent);
    const { caller } = await test.signIn("Viewer");
    for (const reader of [systemCaller, caller]) {
      expect((await modules.list(reader)).items.map(({ name }) => name)).toEqual(["motd", "notes"]);
      const { resources, content } = await modules.get(reader, { name: "notes" });
      expect([resources.map(({ type }) => type), content]).toEqual([["note"], parametrized]);
    }
    const refusal = {
      code: "UNKNOWN_RESOURCE_TYPE",
      message: 'Module notes can\'t be used: There is no resource type "note".',
      details: { module: "notes" },
      issues: [{ path: ["resources", 0, "type"], line: 3 }],
    };
    await expect(operations.plan(systemCaller, { node_id })).rejects.toMatchObject(refusal);
    await expect(operations.apply(systemCaller, { node_id })).rejects.toMatchObject(refusal);
    await expect(
      operations.apply(systemCaller, { node_id, plan_id: plan.operation_id }),
    ).rejects.toMatchObject({ code: "PLAN_STALE" });
    await expect(rollouts.apply(systemCaller, { name: "notes" })).rejects.toMatchObject(refusal);
    const other = { name: "other", selector: "*", modules: ["notes"] };
    await expect(test.orchestrator.assignments.create(systemCaller, other)).rejects.toMatchObject(refusal);
    await expect(upload(test, parametrized.replace("hello", "bye"))).rejects.toMatchObject({
      code: "MODULE_INVALID",
    });

    const assignment = { name: "notes", description: "Kept for its notes." };
    await test.orchestrator.assignments.update(systemCaller, assignment);
    expect((await test.orchestrator.assignments.list(caller)).items).toMatchObject([assignment]);

    // What was applied is known as it went to the agent.
    expect(await drift.check(systemCaller, { node_id, wait_seconds: 60 })).toMatchObject({
      status: "in_sync",
    });
    await test.orchestrator.assignments.create(systemCaller, { ...other, modules: ["motd"] });
    await upload(test, motd.replace("hi", "hello"));
    await test.orchestrator.assignments.remove(systemCaller, { name: "notes" });
    await modules.remove(systemCaller, { name: "notes" });
    const applied = await run(test, "apply", { node_id });
    expect(applied.resources).toMatchObject([
      { type: "note", action: "remove", outcome: "changed" },
      { type: "file", outcome: "changed" },
    ]);
    expect(existsSync(join(root, "etc/note"))).toBe(false);
    expect(test.loggedErrors).toEqual([]);
  });
});

describe("an agent without a type", () => {
  it("says so of each resource, before and after it had the type, and makes the others", async () => {
    const test = await beginner()(known);
    await upload(test, parametrized);
    await upload(test, motd);
    const folders = newFolders();
    const without = await connect(test, folders);
    const { nodeId: node_id } = without;
    const refused = {
      type: "note",
      outcome: "failed",
      code: "UNKNOWN_RESOURCE_TYPE",
      message: 'This agent knows no resource type "note".',
    };
    const input = { node_id, modules: ["motd", "notes"] };
    expect(await run(test, "plan", input)).toMatchObject({
      status: "failed",
      resources: [{ type: "file", outcome: "would_change" }, refused],
    });
    expect(await run(test, "apply", input)).toMatchObject({
      status: "partial",
      resources: [{ type: "file", outcome: "changed" }, refused],
    });
    await without[Symbol.asyncDispose]();

    const withType = await connect(test, { ...folders, types }, startAgent);
    expect(await run(test, "apply", input)).toMatchObject({ status: "succeeded" });
    await withType[Symbol.asyncDispose]();
    const again = await connect(test, folders, startAgent);
    expect(await run(test, "plan", input)).toMatchObject({ resources: [{ type: "file" }, refused] });
    const removal = await run(test, "apply", { node_id, modules: ["motd"], remove_modules: ["notes"] });
    expect(removal).toMatchObject({ resources: [refused, { type: "file", outcome: "unchanged" }] });
    expect(existsSync(join(folders.root, "etc/note"))).toBe(true);
    await again[Symbol.asyncDispose]();

    // Nothing of it was forgotten.
    await connect(test, { ...folders, types }, startAgent);
    const retried = { node_id, remove_modules: ["notes"] };
    expect(await run(test, "apply", retried)).toMatchObject({ status: "succeeded" });
    expect(existsSync(join(folders.root, "etc/note"))).toBe(false);
  });
});

function named(type: string): ResourceType {
  return { ...(noteType as ResourceType), type };
}
