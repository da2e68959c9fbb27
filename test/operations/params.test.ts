import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent, type TestAgent } from "../support/fleet.ts";

const web = `
name: web
params:
  port: { type: integer, default: 80, minimum: 1, maximum: 65535 }
  greeting: { type: string }
resources:
  - id: conf
    type: file
    path: /etc/{{ params.greeting }}.conf
    content: "{{ params.greeting }} {{ params.port }} {{ tags.role }}\\n"
  - { id: only, type: file, path: /etc/only, content: "{{ tags.missing }}", when: "missing" }
`;

async function fleet(content = web): Promise<{ test: TestOrchestrator; agent: TestAgent }> {
  const test = await createTestOrchestrator();
  const agent = await startApprovedAgent(test);
  const { tags } = test.orchestrator.agents;
  await tags.set(systemCaller, { node_id: agent.nodeId, key: "role", value: "front" });
  await test.orchestrator.modules.upload(systemCaller, { content });
  return { test, agent };
}

describe("params and templates", () => {
  it("make each agent's resources: defaults, then assignments, then the call; of each the named module first", async () => {
    const { test, agent } = await fleet();
    await using _test = test;
    await using _agent = agent;
    const { assignments, operations } = test.orchestrator;
    const { nodeId: node_id, root } = agent;
    const conf = (name: string): string => readFileSync(join(root, `etc/${name}.conf`), "utf8");
    const params = { greeting: "hi", "web.greeting": "hello" };
    const made = await assignments.create(systemCaller, {
      name: "web",
      selector: "*",
      modules: ["web"],
      params,
    });
    expect(made.params).toEqual(params);

    const first = await operations.apply(systemCaller, { node_id });
    expect(first).toMatchObject({ status: "succeeded", counts: { changed: 1, skipped: 1 } });
    expect(conf("hello")).toBe("hello 80 front\n");
    const detail = await operations.get(systemCaller, { operation_id: first.operation_id });
    expect(detail.resources.map(({ identity, outcome }) => [identity, outcome])).toEqual([
      ["/etc/hello.conf", "changed"],
      ["/etc/only", "skipped"],
    ]);

    await operations.apply(systemCaller, { node_id, params: { "web.port": 8080, port: 1 } });
    expect(conf("hello")).toBe("hello 8080 front\n");
    await assignments.update(systemCaller, { name: "web", params: { greeting: "hey", port: 81 } });
    const moved = await operations.apply(systemCaller, { node_id });
    expect(moved.counts).toMatchObject({ changed: 2, removed: 1 });
    expect(conf("hey")).toBe("hey 81 front\n");
  });

  it.each([
    ["an unknown param", { prot: 1, greeting: "x" }, "VALIDATION_FAILED", ["params", "prot"]],
    ["a value of another type", { port: "80", greeting: "x" }, "VALIDATION_FAILED", ["params", "port"]],
    ["a missing value", { port: 80 }, "VALIDATION_FAILED", ["params", "greeting"]],
  ])("are refused at the assignment for %s", async (_name, params, code, path) => {
    const { test, agent } = await fleet();
    await using _test = test;
    await using _agent = agent;
    const created = test.orchestrator.assignments.create(systemCaller, {
      name: "web",
      selector: "*",
      modules: ["web"],
      params,
    });
    await expect(created).rejects.toMatchObject({ code, issues: [{ path }] });
  });

  it("are refused at the assignment where they make a resource that is none", async () => {
    const content =
      "name: web\nparams: { mode: { type: string } }\nresources:\n  - { type: file, path: /a, mode: '{{ params.mode }}' }\n";
    const { test, agent } = await fleet(content);
    await using _test = test;
    await using _agent = agent;
    const created = test.orchestrator.assignments.create(systemCaller, {
      name: "web",
      selector: "*",
      modules: ["web"],
      params: { mode: "rw" },
    });
    await expect(created).rejects.toMatchObject({
      code: "TEMPLATE_FAILED",
      issues: [{ path: ["resources", 0, "mode"], line: 4, column: 36 }],
    });
  });

  it("are refused at the apply, with line and column, where the agent lacks what a template names", async () => {
    const { test, agent } = await fleet(
      "name: web\nresources:\n  - { type: file, path: /a, content: 'x {{ tags.nope }}' }\n",
    );
    await using _test = test;
    await using _agent = agent;
    const applied = test.orchestrator.operations.apply(systemCaller, {
      node_id: agent.nodeId,
      modules: ["web"],
    });
    await expect(applied).rejects.toMatchObject({
      code: "TEMPLATE_FAILED",
      message: "Module web can't be used here: tags.nope is not there. (3:44)",
      details: { module: "web" },
    });
  });

  it("are refused at the apply where a later upload changed what they must be", async () => {
    const { test, agent } = await fleet();
    await using _test = test;
    await using _agent = agent;
    const { assignments, operations, modules } = test.orchestrator;
    const node_id = agent.nodeId;
    const params = { greeting: "x" };
    await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"], params });
    await modules.upload(systemCaller, {
      content: "name: web\nparams: { other: { type: string } }\nresources: []\n",
    });
    await expect(operations.plan(systemCaller, { node_id })).rejects.toMatchObject({
      code: "PARAMS_INVALID",
      details: { assignment: "web" },
    });
    await assignments.update(systemCaller, { name: "web", params: { other: "x" } });
    expect(await operations.plan(systemCaller, { node_id })).toMatchObject({ status: "succeeded" });
  });

  it("of two assignments must not differ, unless the call decides", async () => {
    const { test, agent } = await fleet();
    await using _test = test;
    await using _agent = agent;
    const { assignments, operations } = test.orchestrator;
    const node_id = agent.nodeId;
    const { tags } = test.orchestrator.agents;
    // They come to share an agent: nobody is asked about that.
    for (const [name, port, selector] of [
      ["a", 1, "*"],
      ["b", 2, "env=prod"],
    ] as const) {
      const params = { greeting: "same", port };
      await assignments.create(systemCaller, { name, selector, modules: ["web"], params });
    }
    await tags.set(systemCaller, { node_id, key: "env", value: "prod" });
    await expect(operations.plan(systemCaller, { node_id })).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      details: { module: "web", param: "port", assignments: ["a", "b"] },
    });
    const params = { port: 3 };
    expect(await operations.plan(systemCaller, { node_id, params })).toMatchObject({ status: "succeeded" });
  });

  it("decide about conditions, and a skipped resource says which did", async () => {
    const { test, agent } = await fleet(`name: web
params:
  tls: { type: boolean, default: false }
resources:
  - { id: tls, type: file, path: /etc/tls, content: x, when: "param.tls = true, role=front" }
  - { id: plain, type: file, path: /etc/plain, content: x, when: "param.tls = false" }
`);
    await using _test = test;
    await using _agent = agent;
    const { operations } = test.orchestrator;
    const told = async (kind: "plan" | "apply", params: Record<string, boolean>) => {
      const call = { node_id: agent.nodeId, modules: ["web"], params };
      const { operation_id } = await operations[kind](systemCaller, call);
      const { resources } = await operations.get(systemCaller, { operation_id });
      return resources.map(({ resource_id: id, outcome, message }) => [id, outcome, message]);
    };
    expect(await told("plan", {})).toEqual([
      ["tls", "skipped", 'when: "param.tls = true, role=front": param.tls is false'],
      ["plain", "would_change", undefined],
    ]);
    expect(await told("apply", { tls: true })).toEqual([
      ["tls", "changed", undefined],
      ["plain", "skipped", 'when: "param.tls = false": param.tls is true'],
    ]);
    // What was applied under another value goes.
    expect(await told("apply", { tls: false })).toContainEqual(["plain", "changed", undefined]);
  });

  it("are data: what stands in a value never becomes another resource, and is one word of a shell where quoted", async () => {
    const evil = `'; touch pwned; echo '"\n  - { type: file, path: /etc/pwned }\n`;
    const content = [
      "name: web",
      "params: { text: { type: string } }",
      "resources:",
      '  - { id: f, type: file, path: /etc/f, content: "{{ params.text }}" }',
      "  - { id: s, type: script, run: 'printf %s {{ params.text | shell_quote }} > out', run_on: [f] }",
    ].join("\n");
    const { test, agent } = await fleet(content);
    await using _test = test;
    await using _agent = agent;
    mkdirSync(join(agent.root, "tmp"), { recursive: true });
    const applied = await test.orchestrator.operations.apply(systemCaller, {
      node_id: agent.nodeId,
      modules: ["web"],
      params: { text: evil },
    });
    expect(applied).toMatchObject({ status: "succeeded", counts: { total: 2, changed: 2 } });
    expect(readFileSync(join(agent.root, "etc/f"), "utf8")).toBe(evil);
    expect(readFileSync(join(agent.root, "out"), "utf8")).toBe(evil);
  });
});

describe("values that two assignments give", () => {
  const listed = [
    "name: web",
    "params:",
    "  options: { type: object }",
    "resources:",
    "  - { id: f, type: file, path: /f, content: '{{ params.options.a }} {{ params.options.of.soft }}' }",
  ].join("\n");
  const first = { a: "x", of: { soft: 1, hard: "2" } };

  it.each([
    ["of the map", { of: { soft: 1, hard: "2" }, a: "x" }],
    ["of a map within it", { a: "x", of: { hard: "2", soft: 1 } }],
  ])("are the same where only the keys %s come in another order", async (_what, options) => {
    const { test, agent } = await fleet(listed);
    await using _test = test;
    await using _agent = agent;
    const { assignments, operations } = test.orchestrator;
    const about = { selector: "*", modules: ["web"] };
    await assignments.create(systemCaller, { name: "one", ...about, params: { options: first } });
    await assignments.create(systemCaller, { name: "two", ...about, params: { options } });
    const applied = await operations.apply(systemCaller, { node_id: agent.nodeId });
    expect(applied).toMatchObject({ status: "succeeded", counts: { changed: 1 } });
    expect(readFileSync(join(agent.root, "f"), "utf8")).toBe("x 1");
  });

  it.each([
    ["of another type", { a: "x", of: { soft: "1", hard: "2" } }],
    ["with a key more", { ...first, c: null }],
  ])("are others %s", async (_what, options) => {
    const { test, agent } = await fleet(listed);
    await using _test = test;
    await using _agent = agent;
    const { assignments } = test.orchestrator;
    const about = { selector: "*", modules: ["web"] };
    await assignments.create(systemCaller, { name: "one", ...about, params: { options: first } });
    await expect(
      assignments.create(systemCaller, { name: "two", ...about, params: { options } }),
    ).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
  });
});

describe("a contradiction between modules", () => {
  const file = (name: string, content: string, when = ""): string =>
    `name: ${name}\nresources:\n  - { id: f, type: file, path: /etc/f, content: "${content}"${when} }\n`;

  it("is found at the upload, against every assignment that uses the module", async () => {
    const { test, agent } = await fleet();
    await using _test = test;
    await using _agent = agent;
    const { assignments, modules } = test.orchestrator;
    await modules.upload(systemCaller, { content: file("a", "same") });
    await modules.upload(systemCaller, { content: file("b", "same") });
    await assignments.create(systemCaller, { name: "both", selector: "*", modules: ["a", "b"] });
    const upload = modules.upload(systemCaller, { content: file("b", "other") });
    await expect(upload).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      message: "In assignment both: a/f and b/f describe path:/etc/f differently.",
    });
    expect((await modules.get(systemCaller, { name: "b" })).revision).toBe(1);
  });

  it("is none between resources whose conditions may exclude each other, until both hold", async () => {
    const { test, agent } = await fleet();
    await using _test = test;
    await using _agent = agent;
    const { assignments, modules, operations } = test.orchestrator;
    await modules.upload(systemCaller, { content: file("a", "one", ", when: 'role=front'") });
    await modules.upload(systemCaller, { content: file("b", "two", ", when: 'role=back'") });
    await modules.upload(systemCaller, { content: file("c", "three", ", when: 'role'") });
    await assignments.create(systemCaller, { name: "both", selector: "*", modules: ["a", "b"] });
    const node_id = agent.nodeId;
    expect(await operations.plan(systemCaller, { node_id })).toMatchObject({ status: "succeeded" });
    await expect(operations.plan(systemCaller, { node_id, modules: ["c"] })).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      message: "a/f and c/f describe path:/etc/f differently.",
    });
  });
});
