import { describe, expect, it } from "vitest";
import { systemCaller, type Caller, type OperationWatchItem, type Orchestrator } from "fleetwright";
import { startApprovedAgent } from "../support/fleet.ts";
import { watchWays } from "../support/watch-ways.ts";

const content = `
name: talk
resources:
  - { id: folder, type: directory, path: /talk }
  - { id: first, type: script, run: "echo one; echo two >&2; touch /talk/first", creates: /talk/first }
  - { id: second, type: script, run: "echo three", run_on: [first] }
`.replaceAll("touch /talk", "touch talk");

async function watchAll(
  orchestrator: Orchestrator,
  operation_id: string,
  caller: Caller = systemCaller,
): Promise<OperationWatchItem[]> {
  const items: OperationWatchItem[] = [];
  for await (const { item } of orchestrator.operations.watch(caller, { operation_id })) items.push(item);
  return items;
}

const toldResources = (items: OperationWatchItem[]): string[] =>
  items.flatMap((item) => (item.type === "resources" ? item.resources.map((each) => each.resource_id) : []));

const toldOutput = (items: OperationWatchItem[]): Record<string, string> => {
  const texts: Record<string, string> = {};
  for (const item of items) {
    if (item.type !== "output") continue;
    for (const { resource_id, stream, text } of item.output) {
      const key = `${resource_id} ${stream}`;
      texts[key] = item.replaces ? text : (texts[key] ?? "") + text;
    }
  }
  return texts;
};

describe.each(watchWays)("watching an operation %s", (_, create) => {
  it("tells each resource once and all output while it runs, and ends with how it ended", async () => {
    await using scene = await create();
    const { test } = scene;
    await using agent = await startApprovedAgent(test);
    await test.orchestrator.modules.upload(systemCaller, { content });
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, {
      node_id: agent.nodeId,
      modules: ["talk"],
      wait_seconds: 0,
    });
    const items = await watchAll(test.orchestrator, operation_id);
    expect(items[0]).toMatchObject({ type: "operation", operation: { operation_id } });
    expect(items.at(-1)).toMatchObject({ type: "ended", operation: { status: "succeeded" } });
    expect(toldResources(items)).toEqual(["folder", "first", "second"]);
    expect(toldOutput(items)).toEqual({
      "first stdout": "one\n",
      "first stderr": "two\n",
      "second stdout": "three\n",
    });
  });

  it("ends at once when it is left while the next item is waited for", async () => {
    await using scene = await create();
    const { test } = scene;
    await using agent = await startApprovedAgent(test);
    await agent.agent.stop();
    await test.orchestrator.modules.upload(systemCaller, { content });
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, {
      node_id: agent.nodeId,
      modules: ["talk"],
      when_offline: "queue",
      wait_seconds: 0,
    });
    const stream = test.orchestrator.operations.watch(systemCaller, { operation_id });
    expect((await stream.next()).value).toMatchObject({ item: { type: "operation" } });
    const waiting = stream.next();
    expect((await stream.return()).done).toBe(true);
    expect((await waiting).done).toBe(true);
  });

  it("tells all of it to whoever comes after the end", async () => {
    await using scene = await create();
    const { test } = scene;
    await using agent = await startApprovedAgent(test);
    await test.orchestrator.modules.upload(systemCaller, { content });
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, {
      node_id: agent.nodeId,
      modules: ["talk"],
    });
    const items = await watchAll(test.orchestrator, operation_id);
    expect(items.map(({ type }) => type)).toEqual(["operation", "output", "resources", "ended"]);
    expect(toldResources(items)).toEqual(["folder", "first", "second"]);
    expect(Object.keys(toldOutput(items))).toHaveLength(3);
  });

  it("keeps what scripts print from a viewer", async () => {
    await using scene = await create();
    const { test } = scene;
    await using agent = await startApprovedAgent(test);
    await test.orchestrator.modules.upload(systemCaller, { content });
    const { caller } = await test.signIn("Viewer");
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, {
      node_id: agent.nodeId,
      modules: ["talk"],
      wait_seconds: 0,
    });
    const items = await watchAll(test.orchestrator, operation_id, caller);
    expect(toldResources(items)).toEqual(["folder", "first", "second"]);
    expect(toldOutput(items)).toEqual({});
  });

  it("is of an operation that there is", async () => {
    await using scene = await create();
    const { test } = scene;
    const operation_id = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";
    await expect(watchAll(test.orchestrator, operation_id)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});
