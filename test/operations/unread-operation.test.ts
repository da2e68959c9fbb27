/**
 * An operation that could not be read for a moment, right after its agent had been sent it, ended as failed: the agent did all of it, and
 * nobody read what it said.
 */
import { expect, it } from "vitest";
import { isOrchestratorError, OrchestratorError, systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { StoredDocument } from "../../lib/storage/storage.ts";
import { deferred, settle, settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";
import { emptyResult } from "../support/scripted-agent.ts";

/** Can't read an operation once, the so manieth time. */
class FailingReads extends MemoryStorage {
  left = Infinity;

  override async get<T>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    if (collection === "operations" && (this.left -= 1) === 0) throw new OrchestratorError("UNAVAILABLE");
    return super.get<T>(collection, key);
  }
}

/** Hands out late what it has read of an operation, the so manieth time. */
class LateReads extends MemoryStorage {
  left = Infinity;
  readonly isOver = deferred();

  override async get<T>(collection: string, key: string): Promise<StoredDocument<T> | null> {
    const found = await super.get<T>(collection, key);
    if (collection === "operations" && (this.left -= 1) === 0) await this.isOver.promise;
    return found;
  }
}

it("is answered as its agent says, whichever read of it comes when it has ended", async () => {
  for (let late = 1; ; late += 1) {
    const storage = new LateReads({ clock: new FakeClock() });
    await using scene = await createScene(1, () => ({}), { storage });
    const { agent, nodeId: node_id } = scene.agents[0]!;
    storage.left = late;
    const answer = scene.test.orchestrator.operations.apply(systemCaller, { node_id, modules: ["motd"] });
    await settleAll();
    // Where that read comes before it is sent, nothing goes on without it.
    if (agent.commands.length === 0) storage.isOver.resolve();
    const { operation_id } = await agent.next("apply");
    agent.link.send(emptyResult(operation_id));
    await settleAll();
    storage.isOver.resolve();
    const { status } = await answer;
    expect({ late, status }).toEqual({ late, status: "succeeded" });
    if (storage.left > 0) break;
  }
});

it("ends as its agent says, whichever read of it fails once", async () => {
  for (let failing = 1; ; failing += 1) {
    const storage = new FailingReads({ clock: new FakeClock() });
    await using scene = await createScene(1, () => ({}), { storage });
    const { agent, nodeId: node_id } = scene.agents[0]!;
    const { operations } = scene.test.orchestrator;
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) {
        await scene.clock.advance(1_000);
        for (let turn = 0; turn < 4; turn += 1) await settle();
      }
    };
    storage.left = failing;
    const input = { node_id, modules: ["motd"], wait_seconds: 0 };
    // The call itself may be what can't read it: it was requested all the same.
    await operations.apply(systemCaller, input).catch((error: unknown) => {
      if (!isOrchestratorError(error, "UNAVAILABLE")) throw error;
    });
    await pass(3);
    const { operation_id } = await agent.next("apply");
    for (let tries = 0; tries < 3; tries += 1) {
      agent.link.send(emptyResult(operation_id));
      await pass(3);
    }
    const hasFailed = storage.left <= 0;
    storage.left = Infinity;
    const { status } = await operations.get(systemCaller, { operation_id });
    expect({ failing, status }).toEqual({ failing, status: "succeeded" });
    if (!hasFailed) break;
  }
});
