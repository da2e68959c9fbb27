/**
 * What an agent tells of an operation that began before the server was restarted.
 *
 * Symptom: the secrets of the operation were shown to whoever watched it, where the agent didn't take them out itself. Cause: what
 * takes them out was made when the operation was sent. After a start it was missing until the operation had been sent again, and for good
 * where that could not be, because the secret was restricted to others by then.
 */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { deferred, settle, settleAll } from "../support/deferred.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

const value = "c4nary-told-by-an-agent";
const output = (text: string) => [
  { module: "web", resource_id: "conf", stream: "stdout" as const, text, truncated: false },
];
const content = `name: web\nresources:\n  - { id: conf, type: file, path: /conf, content: "{{ secrets.db }}" }\n`;

const start = (data: MemoryData): Promise<TestOrchestrator> =>
  createTestOrchestrator({ secretsKey: new Uint8Array(32).fill(1), storage: new MemoryStorage({ data }) });

/** A server that was restarted while an agent ran an operation with a secret. */
async function restarted() {
  const data = new MemoryData();
  const first = await start(data);
  const agent = await connectScriptedAgent(first);
  const node_id = agent.nodeId;
  const { agents, secrets, modules, operations } = first.orchestrator;
  await agents.setStatus(systemCaller, { node_id, status: "approved" });
  await secrets.create(systemCaller, { name: "db", value });
  await modules.upload(systemCaller, { content });
  const input = { node_id, modules: ["web"], wait_seconds: 0 };
  const { operation_id } = await operations.apply(systemCaller, input);
  await agent.next("apply");
  await agent.link.stop();
  await first.orchestrator.stop();
  return { test: await start(data), keys: agent.keys, operation_id };
}

/** All that somebody who watches an operation is shown until it ends. */
async function watch({ orchestrator }: TestOrchestrator, operation_id: string): Promise<string> {
  const steps: unknown[] = [];
  for await (const step of orchestrator.operations.watch(systemCaller, { operation_id })) steps.push(step);
  return JSON.stringify(steps);
}

it("what an agent tells before the operation is sent to it again shows no secret", async () => {
  const { test, keys, operation_id } = await restarted();
  await using _test = test;
  const watching = watch(test, operation_id);
  await settle();
  await using agent = await connectScriptedAgent(test, keys);
  agent.link.send({ type: "output", operation_id, output: output(`at once ${value} `) });
  await agent.next("apply");
  agent.link.send({ type: "output", operation_id, output: output(`then ${value} and more`) });
  await settle();
  agent.link.send(emptyResult(operation_id));
  const shown = await watching;
  expect(shown).not.toContain(value);
  expect(shown).toContain("then (sensitive) and more");
});

it("what an agent tells of an operation that it is only asked about shows no secret", async () => {
  const { test, keys, operation_id } = await restarted();
  await using _test = test;
  const restriction = { selector: "env=prod" };
  await test.orchestrator.secrets.update(systemCaller, { name: "db", restriction });
  const watching = watch(test, operation_id);
  await settle();
  await using agent = await connectScriptedAgent(test, keys);
  await agent.nextQuestion("apply");
  agent.link.send({ type: "output", operation_id, output: output(`it says ${value} and more`) });
  await settle();
  agent.link.send(emptyResult(operation_id));
  const shown = await watching;
  expect(shown).not.toContain(value);
  expect(shown).toContain("it says (sensitive) and more");
});

it("a secret that an agent tells in two pieces is not shown where its connection was lost in between", async () => {
  const { test, keys, operation_id } = await restarted();
  await using _test = test;
  const watching = watch(test, operation_id);
  await settle();
  const before = await connectScriptedAgent(test, keys);
  await before.next("apply");
  before.link.send({ type: "output", operation_id, output: output(`one ${value.slice(0, 9)}`) });
  await settle();
  await before.link.stop();
  await settle();
  await using agent = await connectScriptedAgent(test, keys);
  await agent.next("apply");
  agent.link.send({ type: "output", operation_id, output: output(`${value.slice(9)} two`) });
  await settle();
  agent.link.send(emptyResult(operation_id));
  const shown = await watching;
  expect(shown).not.toContain(value.slice(9));
  expect(shown).toContain("(sensitive) two");
});

it("a secret that an agent tells in two pieces is not shown where the agent came back while the secret was read", async () => {
  const { test, keys, operation_id } = await restarted();
  await using _test = test;
  const watching = watch(test, operation_id);
  await settle();
  const { storage } = test;
  const get = storage.get.bind(storage);
  const [first, second] = [deferred(), deferred()];
  const held = [first, second];
  storage.get = async (collection, key) => {
    if (collection === "secret_values") await held.shift()?.promise;
    return get(collection, key);
  };
  const before = await connectScriptedAgent(test, keys);
  await before.link.stop();
  await using agent = await connectScriptedAgent(test, keys);
  await settleAll();
  expect(held).toEqual([]);
  first.resolve();
  await agent.next("apply");
  agent.link.send({ type: "output", operation_id, output: output(`one ${value.slice(0, 9)}`) });
  await settleAll();
  second.resolve();
  await settleAll();
  agent.link.send({ type: "output", operation_id, output: output(`${value.slice(9)} two`) });
  await settle();
  agent.link.send(emptyResult(operation_id));
  const shown = await watching;
  expect(shown).not.toContain(value.slice(9));
  expect(shown).toContain("(sensitive) two");
});
