/**
 * What an operation brings to its agent, or a secret in it, could not be read for a moment, just when it was to be sent: it ended as failed,
 * and a rollout counted that as a failure of the agent.
 */
import { expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { settle } from "../support/deferred.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { createScene } from "../support/rollout-scene.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";

const begins = (write: Write): boolean =>
  write.kind === "put" &&
  write.collection === "operations" &&
  (write.value as { status?: unknown }).status === "running";

/** Can't read anything once: the so manieth read from the moment on in which an operation begins. */
class FailingReads extends MemoryStorage {
  left = Infinity;
  failed = "";
  #hasBegun = false;

  override async commit(...args: Parameters<MemoryStorage["commit"]>): ReturnType<MemoryStorage["commit"]> {
    if (args[0].some(begins)) this.#hasBegun = true;
    return super.commit(...args);
  }

  override async get<T>(...args: Parameters<MemoryStorage["get"]>) {
    this.#count(args[0]);
    return super.get<T>(...args);
  }

  override async getMany<T>(...args: Parameters<MemoryStorage["getMany"]>) {
    this.#count(args[0]);
    return super.getMany<T>(...args);
  }

  override async readBlob(...args: Parameters<MemoryStorage["readBlob"]>) {
    this.#count("blob");
    return super.readBlob(...args);
  }

  #count(what: string): void {
    if (!this.#hasBegun || (this.left -= 1) !== 0) return;
    this.failed = what;
    throw new OrchestratorError("UNAVAILABLE");
  }
}

it("an operation is sent, and ends as its agent says, whichever read on the way fails once", async () => {
  const secretsKey = new Uint8Array(32).fill(1);
  const failed: string[] = [];
  for (let failing = 1; ; failing += 1) {
    const [clock, data] = [new FakeClock(), new MemoryData()];
    const scene = await createScene(1, () => ({}), {
      clock,
      storage: new MemoryStorage({ clock, data }),
      secretsKey,
    });
    const { keys, nodeId: node_id } = scene.agents[0]!;
    const { secrets, modules, operations } = scene.test.orchestrator;
    await secrets.create(systemCaller, { name: "db", value: "hush-hush" });
    const content =
      'name: db\nresources:\n  - { type: file, path: /etc/db, sensitive: true, content: "{{ secrets.db }}" }\n';
    await modules.upload(systemCaller, { content });
    await scene.agents[0]!.agent.link.stop();
    await settle();
    const queued = { node_id, modules: ["db"], when_offline: "queue" as const, wait_seconds: 0 };
    const { operation_id } = await operations.apply(systemCaller, queued);
    // The next process has nothing of it in memory.
    await scene[Symbol.asyncDispose]();

    const storage = new FailingReads({ clock, data });
    await using test = await createTestOrchestrator({ clock, storage, secretsKey });
    storage.left = failing;
    await using agent = await connectScriptedAgent(test, keys, clock);
    for (let second = 0; second < 5; second += 1) {
      await clock.advance(1_000);
      for (let turn = 0; turn < 6; turn += 1) await settle();
    }
    const hasFailed = storage.left <= 0;
    storage.left = Infinity;
    expect(agent.commands, `${failing}: ${storage.failed}`).toMatchObject([{ type: "apply", operation_id }]);
    agent.link.send(emptyResult(operation_id));
    await agent.next("ack");
    const { status } = await test.orchestrator.operations.get(systemCaller, { operation_id });
    expect(status).toBe("succeeded");
    if (!hasFailed) break;
    failed.push(storage.failed);
  }
  expect(failed).toEqual(expect.arrayContaining(["blob", "secret_values"]));
});

it.each(["PAYLOAD_TOO_LARGE", "UNAVAILABLE"] as const)(
  "an operation that could not be sent for a moment, and then is %s, ends as one that could not be sent at first",
  async (code) => {
    await using scene = await createScene(1);
    const { clock, test } = scene;
    const { agent, nodeId: node_id } = scene.agents[0]!;
    const send = test.transport.send.bind(test.transport);
    let tries = 0;
    test.transport.send = (to, message) => {
      if (message.type !== "apply") return send(to, message);
      tries += 1;
      if (tries > 3) return send(to, message);
      return Promise.reject(new OrchestratorError(tries === 1 ? "UNAVAILABLE" : code));
    };
    const { operation_id } = await test.orchestrator.operations.apply(systemCaller, {
      node_id,
      wait_seconds: 0,
    });
    for (let second = 0; second < 10; second += 1) {
      await clock.advance(1_000);
      await settle();
    }
    const read = () => test.orchestrator.operations.get(systemCaller, { operation_id });
    if (code === "UNAVAILABLE") {
      expect([tries, (await read()).status]).toEqual([4, "running"]);
      agent.link.send(emptyResult(operation_id));
      await agent.next("ack");
      expect((await read()).status).toBe("succeeded");
      return;
    }
    expect(await read()).toMatchObject({ status: "failed", error: { code } });
    expect(tries).toBe(2);
    // The next one is not kept waiting.
    test.transport.send = send;
    await test.orchestrator.operations.apply(systemCaller, { node_id, wait_seconds: 0 });
    await scene.finish(scene.agents[0]);
  },
);

it("what finds its agent gone is no fault: the log says at its lowest level whom it was for, and it is sent later", async () => {
  const logger = new RecordingLogger();
  await using scene = await createScene(1, () => ({}), { logger });
  const { test, agents } = scene;
  const { nodeId: node_id } = agents[0]!;
  const send = test.transport.send.bind(test.transport);
  test.transport.send = () => Promise.reject(new OrchestratorError("AGENT_OFFLINE"));
  const { operation_id } = await test.orchestrator.operations.apply(systemCaller, {
    node_id,
    wait_seconds: 0,
  });
  await settle();
  test.transport.send = send;
  const about = logger.lines.filter(({ message }) => message === "A message could not be sent.");
  expect(about).toEqual([
    { level: "debug", message: "A message could not be sent.", fields: { node_id, type: "apply" } },
  ]);
  expect([...logger.of("warn"), ...logger.of("error")]).toEqual([]);
  await agents[0]!.agent.link.stop();
  const again = await connectScriptedAgent(test, agents[0]!.keys, scene.clock);
  expect(await again.next("apply")).toMatchObject({ operation_id });
  await again.link.stop();
});
