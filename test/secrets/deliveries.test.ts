/** Secrets on their way to agents, and what an agent tells that does not take them out. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemCaller, nodeCrypto } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { openSecrets, type SealedSecrets } from "../../lib/secret-format/sealed-secrets.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";
import { waitFor } from "../support/wait-for.ts";

const value = "c4nary-told-by-an-agent";

let test: TestOrchestrator;
let agent: Awaited<ReturnType<typeof connectScriptedAgent>>;

beforeEach(async () => {
  test = await createTestOrchestrator({ secretsKey: new Uint8Array(32).fill(1) });
  agent = await connectScriptedAgent(test);
  await test.orchestrator.agents.setStatus(systemCaller, { node_id: agent.nodeId, status: "approved" });
  await test.orchestrator.secrets.create(systemCaller, { name: "db", value });
  const content = `name: web\nresources:\n  - { id: conf, type: file, path: /conf, content: "{{ secrets.db }}" }\n`;
  await test.orchestrator.modules.upload(systemCaller, { content });
});
afterEach(async () => {
  await agent[Symbol.asyncDispose]();
  await test[Symbol.asyncDispose]();
});

const apply = (more: object = {}) => {
  const input = { node_id: agent.nodeId, modules: ["web"], wait_seconds: 0, ...more };
  return test.orchestrator.operations.apply(systemCaller, input);
};

function valueIn(
  { operation_id, secrets }: { operation_id: string; secrets?: SealedSecrets | undefined },
  { nodeId, own }: { nodeId: string; own: typeof agent.keys.box } = {
    nodeId: agent.nodeId,
    own: agent.keys.box,
  },
): string {
  const opened = openSecrets(secrets!, { crypto: nodeCrypto, own, nodeId, operationId: operation_id });
  return Buffer.from(opened.values[0]!).toString();
}

describe("what an agent is sent", () => {
  it("holds the secret sealed to it, for one operation, and to nobody else", async () => {
    await apply();
    const command = await agent.next("apply");
    expect(JSON.stringify(command)).not.toContain(value);
    expect(JSON.stringify(command.resources)).toContain("$secret$db@1$text$");
    expect(valueIn(command)).toBe(value);
    const other = nodeCrypto.createExchangeKeyPair();
    for (const [what, open] of [
      ["another key", () => valueIn(command, { nodeId: agent.nodeId, own: other })],
      ["another agent", () => valueIn(command, { nodeId: "0".repeat(32), own: agent.keys.box })],
      ["another operation", () => valueIn({ ...command, operation_id: crypto.randomUUID() })],
      ["a changed box", () => valueIn({ ...command, secrets: { ...command.secrets!, box: "AAAA" } })],
    ] as const)
      expect(open, what).toThrow(expect.objectContaining({ code: "SECRET_UNAVAILABLE" }));
  });

  it("is sealed anew each time, and the same value where the secret changed while it was under way", async () => {
    await Promise.all([
      apply(),
      test.orchestrator.secrets.update(systemCaller, { name: "db", value: "second-value" }),
    ]);
    const first = await agent.next("apply");
    const version = Number(/secret\$db@(\d)/.exec(JSON.stringify(first.resources))![1]);
    expect(valueIn(first)).toBe(version === 1 ? value : "second-value");
    agent.link.send(emptyResult(first.operation_id));
    await apply();
    const second = await agent.next("apply");
    expect(valueIn(second)).toBe("second-value");
    expect(second.secrets!.ephemeral_key).not.toBe(first.secrets!.ephemeral_key);
  });

  it("in a race of changes and applies always has the value of the version that it names", async () => {
    for (let round = 0; round < 20; round += 1) {
      const update = test.orchestrator.secrets.update(systemCaller, { name: "db", value: `value ${round}` });
      await Promise.all(round % 2 === 0 ? [update, apply()] : [apply(), update]);
      const command = await agent.next("apply");
      const version = Number(/secret\$db@(\d+)/.exec(JSON.stringify(command.resources))![1]);
      expect(valueIn(command)).toBe(version === 1 ? value : `value ${version - 2}`);
      agent.link.send(emptyResult(command.operation_id));
    }
  });
});

/** What whoever watches an operation is told so far; `watching` resolves at its end. */
function watch(operation_id: string): { watched: unknown[]; watching: Promise<void> } {
  const watched: unknown[] = [];
  const watching = (async () => {
    for await (const step of test.orchestrator.operations.watch(systemCaller, { operation_id }))
      watched.push(step);
  })();
  return { watched, watching };
}

describe("what an agent tells with the secret in it", () => {
  const base64 = Buffer.from(`x${value}`).toString("base64");
  const output = (text: string) => [
    { module: "web", resource_id: "conf", stream: "stdout" as const, text, truncated: false },
  ];
  const result = {
    resource_id: "conf",
    module: "web",
    type: "file",
    identity: "/conf",
    outcome: "failed" as const,
    action: "update" as const,
    changes: [{ property: "content", before: { deep: [value] }, after: base64, diff: `+${value}` }],
    caused_by: [],
    code: "HOST_ERROR",
    message: `It says ${value}.`,
    attempts: 1,
    duration_ms: 1,
  };

  it("is cleaned while it runs, also where it comes in pieces, and when it has ended", async () => {
    const { operation_id } = await apply();
    await agent.next("apply");
    const { watched, watching } = watch(operation_id);
    agent.link.send({ type: "progress", operation_id, results: [result] });
    for (const piece of [`one ${value.slice(0, 9)}`, value.slice(9, 15), `${value.slice(15)} two`])
      agent.link.send({ type: "output", operation_id, output: output(piece) });
    agent.link.send({
      ...emptyResult(operation_id),
      status: "failed",
      results: [result],
      output: output(`${value} and ${base64}`),
      error: { code: "HOST_ERROR", message: value, details: { said: value } },
    });
    await watching;
    const { node_id } = await test.orchestrator.operations.get(systemCaller, { operation_id });
    const told = [
      watched,
      await test.orchestrator.operations.get(systemCaller, { operation_id }),
      await test.orchestrator.operations.output(systemCaller, { node_id, operation_id }),
      test.events,
      (await test.storage.readLog("operation_results")).entries,
    ];
    expect(JSON.stringify(told)).toContain("(sensitive) two");
    expect(JSON.stringify(told)).not.toMatch(/c4nary|told-by|an-agent/);
    expect(JSON.stringify(told)).not.toContain(base64.slice(4, 20));
  });

  it("is cleaned in each stream and of each resource by itself, however their pieces come", async () => {
    const { operation_id } = await apply();
    await agent.next("apply");
    const { watched, watching } = watch(operation_id);
    const [half, rest] = [value.slice(0, 9), value.slice(9)];
    for (const [resource_id, stream, text] of [
      ["conf", "stdout", `one ${half}`],
      ["conf", "stderr", "meanwhile "],
      ["other", "stdout", "elsewhere "],
      ["conf", "stdout", `${rest} two`],
    ] as const)
      agent.link.send({
        type: "output",
        operation_id,
        output: [{ module: "web", resource_id, stream, text, truncated: false }],
      });
    await waitFor(() => expect(JSON.stringify(watched)).toContain("(sensitive) two"));
    agent.link.send({ ...emptyResult(operation_id), status: "failed", output: output("over") });
    await watching;
    expect(JSON.stringify(watched)).toContain('"meanwhile "');
    expect(JSON.stringify(watched)).toContain('"elsewhere "');
    expect(JSON.stringify(watched)).not.toMatch(/c4nary|told-by|an-agent/);
  });

  it("is cleaned of the value of its own version, also when that has been changed", async () => {
    const { operation_id } = await apply();
    await agent.next("apply");
    await test.orchestrator.secrets.update(systemCaller, { name: "db", value: "second-value" });
    agent.link.send({ ...emptyResult(operation_id), status: "failed", results: [result] });
    const ended = await test.orchestrator.operations.get(systemCaller, {
      operation_id: await expect
        .poll(async () => (await test.orchestrator.operations.get(systemCaller, { operation_id })).status)
        .toBe("failed")
        .then(() => operation_id),
    });
    expect(JSON.stringify(ended)).not.toContain("c4nary");
  });
});

it("an operation that is sent again when its secret is restricted to others is only asked about", async () => {
  const { operation_id } = await apply();
  await agent.next("apply");
  await agent[Symbol.asyncDispose]();
  const restriction = { selector: "env=prod" };
  await test.orchestrator.secrets.update(systemCaller, { name: "db", restriction });
  agent = await connectScriptedAgent(test, agent.keys);
  const asked = await agent.nextQuestion("apply");
  expect(asked).toMatchObject({ operation_id, resources: [], not_after: "1970-01-01T00:00:00.000Z" });
  expect(asked).not.toHaveProperty("secrets");
});
