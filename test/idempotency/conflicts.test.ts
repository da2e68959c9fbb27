/** Calls with a key that meet somebody else's write, and are tried again inside. */
import { expect, it } from "vitest";
import type { Caller, KeyedCall } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { deferred } from "../support/deferred.ts";
import { TouchingStorage } from "../support/racing-storage.ts";
import { twoProcesses } from "../support/two-processes.ts";

/** Keeps which collections its commits wrote, without those of somebody else. */
class RecordingStorage extends TouchingStorage {
  readonly written: (readonly string[])[] = [];

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const result = await super.commit(writes, options);
    this.written.push(writes.flatMap((write) => ("collection" in write ? [write.collection] : [])));
    return result;
  }
}

it("a call that is tried again after a conflict is noted in the commit that makes it", async () => {
  const storage = new RecordingStorage();
  await using test = await createTestOrchestrator({ storage });
  const { caller } = await test.signIn("Admin");
  const { assignments, modules, idempotency } = test.orchestrator;
  await modules.upload(caller, { content: "name: web\nresources: []\n" });
  await assignments.create(caller, { name: "all", selector: "*", modules: ["web"] });
  const input = { name: "all", description: "Changed" };
  const made = () =>
    idempotency.once(caller, { key: "k1", permission: "assignments.update", input }, (claiming) =>
      assignments.update(claiming, input),
    );
  storage.counts.clear();
  storage.written.length = 0;
  const first = await made();
  expect(storage.counts.get("assignments")).toBe(1);
  const changing = storage.written.filter((collections) => collections.includes("assignments"));
  expect(changing).toEqual([expect.arrayContaining(["assignments", "idempotent_calls"])]);
  expect(await made()).toEqual(first);
});

it("of two processes with one key the slower one leaves the answer of the faster one alone", async () => {
  await using processes = await twoProcesses();
  const { first, second } = processes;
  const { caller } = await first.signIn("Operator");
  const call: KeyedCall = { key: "k", permission: "modules.upload", input: {} };
  const change = ({ orchestrator }: TestOrchestrator, claiming: Caller) =>
    servicesOf(orchestrator).operations.store.create(claiming, [], {
      writes: [{ kind: "put", collection: "settings", key: "changed", value: {} }],
    });
  const [bothBegan, changed, slowerIsOver] = [deferred<void>(), deferred<void>(), deferred<void>()];
  const faster = first.orchestrator.idempotency.once(caller, call, async (claiming) => {
    await bothBegan.promise;
    await change(first, claiming);
    changed.resolve();
    await slowerIsOver.promise;
    return "made";
  });
  const slower = second.orchestrator.idempotency.once(caller, call, async (claiming) => {
    bothBegan.resolve();
    await changed.promise;
    await change(second, claiming);
    return "made twice";
  });
  await expect(slower).rejects.toMatchObject({ code: "IDEMPOTENCY_ANSWER_UNKNOWN" });
  slowerIsOver.resolve();
  expect(await faster).toBe("made");
  for (const { orchestrator } of [first, second])
    expect(await orchestrator.idempotency.once(caller, call, async () => "again")).toBe("made");
});
