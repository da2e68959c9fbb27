/** Calls with a key that meet somebody else's write, and are tried again inside. */
import { expect, it } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import { TouchingStorage } from "../support/racing-storage.ts";

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
