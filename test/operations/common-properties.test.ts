/** The properties that every resource has, from the text of a module to the machine and back. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemCaller, type ResourceResult } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent, type TestAgent } from "../support/fleet.ts";

interface Scene extends AsyncDisposable {
  test: TestOrchestrator;
  agent: TestAgent;
  node_id: string;
  /** Applies resources of a module, and returns how each fared. */
  apply(...resources: string[]): Promise<ResourceResult[]>;
}

async function scene(): Promise<Scene> {
  const test = await createTestOrchestrator();
  const agent = await startApprovedAgent(test);
  const { modules, operations } = test.orchestrator;
  const node_id = agent.nodeId;
  return {
    test,
    agent,
    node_id,
    async apply(...resources) {
      const content = `name: m\nresources:\n${resources.map((each) => `  - ${each}\n`).join("")}`;
      await modules.upload(systemCaller, { content });
      const { operation_id } = await operations.apply(systemCaller, { node_id, modules: ["m"] });
      return (await operations.get(systemCaller, { operation_id })).resources;
    },
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await test[Symbol.asyncDispose]();
    },
  };
}

const told = (results: ResourceResult[]): string[] =>
  results.map(({ resource_id, outcome, skipped_because }) =>
    [resource_id, outcome, ...(skipped_because ? [skipped_because] : [])].join(" "),
  );
const file = (id: string, more = ""): string =>
  `{ id: ${id}, type: file, path: /etc/${id}, content: "x"${more} }`;
const failing = (id: string, more = ""): string =>
  `{ id: ${id}, type: file, path: /no/folder/${id}, content: "x"${more} }`;

describe("every resource", () => {
  it("with when is for the agents that it matches, by tag and attribute, and holds up nobody", async () => {
    await using each = await scene();
    const { tags } = each.test.orchestrator.agents;
    const resources = [
      file("a", ", when: 'role=web'"),
      file("b", ", when: 'attr.hostname'"),
      file("c", ", requires: [a]"),
    ];
    expect(told(await each.apply(...resources))).toEqual(["a skipped condition", "b changed", "c changed"]);
    await tags.set(systemCaller, { node_id: each.node_id, key: "role", value: "web" });
    expect(told(await each.apply(...resources))).toEqual(["a changed", "b unchanged", "c unchanged"]);
  });

  it("with requires comes after, and is skipped where that failed", async () => {
    await using each = await scene();
    const results = await each.apply(file("a", ", requires: [b]"), failing("b"), file("c"));
    expect(told(results)).toEqual(["b failed", "a skipped dependency", "c skipped dependency"]);
  });

  it("with on_failure: continue ends nothing but what needs it", async () => {
    await using each = await scene();
    const results = await each.apply(
      failing("b", ", on_failure: continue"),
      file("a", ", requires: [b]"),
      file("c"),
    );
    expect(told(results)).toEqual(["b failed", "a skipped dependency", "c changed"]);
  });

  it("with retry is tried again, as often as that says", async () => {
    await using each = await scene();
    const run = "echo x >> tries; test $(wc -l < tries) -ge 3; touch done";
    const script = (attempts: number): string =>
      `{ id: s, type: script, run: "${run}", creates: /done, retry: { attempts: ${attempts}, delay_seconds: 0 } }`;
    expect(await each.apply(script(2))).toMatchObject([{ outcome: "failed", attempts: 2, exit_code: 1 }]);
    expect(await each.apply(script(2))).toMatchObject([{ outcome: "changed", attempts: 1 }]);
    expect(readFileSync(join(each.agent.root, "tries"), "utf8")).toBe("x\nx\nx\n");
  });

  it("with timeout_seconds is ended then", async () => {
    await using each = await scene();
    const script =
      '{ id: s, type: script, run: "while :; do :; done", creates: /never, timeout_seconds: 0.1 }';
    expect(await each.apply(script)).toMatchObject([{ outcome: "failed", code: "RESOURCE_TIMEOUT" }]);
  });

  it("with run_on runs when what it watches changed, and only then", async () => {
    await using each = await scene();
    const script = '{ id: s, type: script, run: "echo x >> runs", run_on: [a] }';
    expect(await each.apply(file("a"), script)).toMatchObject([{}, { action: "run", caused_by: ["a"] }]);
    expect(told(await each.apply(file("a"), script))).toEqual(["a unchanged", "s unchanged"]);
    expect(readFileSync(join(each.agent.root, "runs"), "utf8")).toBe("x\n");
  });

  it("with ignore_drift is not drifted in that, and is put right by the next apply all the same", async () => {
    await using each = await scene();
    const { drift } = each.test.orchestrator;
    await each.apply(file("a", ", ignore_drift: [content]"), file("b"));
    const path = join(each.agent.root, "etc/a");
    writeFileSync(path, "other");
    expect(await drift.check(systemCaller, { node_id: each.node_id })).toMatchObject({ status: "in_sync" });
    writeFileSync(join(each.agent.root, "etc/b"), "other");
    expect(await drift.check(systemCaller, { node_id: each.node_id })).toMatchObject({ status: "drifted" });
    await each.apply(file("a", ", ignore_drift: [content]"), file("b"));
    expect(readFileSync(path, "utf8")).toBe("x");
  });

  it("with sensitive shows its values nowhere: not in results, output, events or logs", async () => {
    await using each = await scene();
    const secret = "hunter2-of-the-fleet";
    const results = await each.apply(
      `{ id: a, type: file, path: /etc/a, content: "${secret}", sensitive: true }`,
      `{ id: s, type: script, run: "echo ${secret}; echo ${secret} >&2; exit 3", run_on: [a], sensitive: true }`,
    );
    expect(told(results)).toEqual(["a changed", "s failed"]);
    expect(results[0]?.changes).toContainEqual(
      expect.objectContaining({ after: "(sensitive)", sensitive: true }),
    );
    const { operations } = each.test.orchestrator;
    const { items } = await operations.list(systemCaller);
    const { operation_id } = items[0]!;
    const output = await operations.output(systemCaller, { node_id: each.node_id, operation_id });
    expect(output.output).toEqual([]);
    const seen = JSON.stringify([results, items, output, each.test.events, each.test.loggedErrors]);
    expect(seen).not.toContain(secret);
  });
});

describe("supports", () => {
  it("refuses an agent that matches none, before anything runs, and in a rollout that agent alone", async () => {
    await using each = await scene();
    await using other = await startApprovedAgent(each.test);
    const { modules, assignments, operations, rollouts, agents } = each.test.orchestrator;
    await modules.upload(systemCaller, {
      content: `name: m\nsupports: ["role=web"]\nresources:\n  - ${file("a")}\n`,
    });
    await assignments.create(systemCaller, { name: "all", selector: "*", modules: ["m"] });
    await agents.tags.set(systemCaller, { node_id: other.nodeId, key: "role", value: "web" });
    await expect(operations.apply(systemCaller, { node_id: each.node_id })).rejects.toMatchObject({
      code: "AGENT_UNSUPPORTED",
      message: "Module m supports only agents that match role=web.",
    });
    const rollout = await rollouts.apply(systemCaller, { name: "all" });
    const byNode = new Map(rollout.operations.map((member) => [member.node_id, member]));
    expect(byNode.get(each.node_id)).toMatchObject({
      status: "failed",
      error: { code: "AGENT_UNSUPPORTED" },
    });
    expect(byNode.get(other.nodeId)).toMatchObject({ status: "succeeded" });
    expect(existsSync(join(each.agent.root, "etc/a"))).toBe(false);
    expect(existsSync(join(other.root, "etc/a"))).toBe(true);
  });
});
