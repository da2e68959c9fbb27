/** A list of operations whose filter passes few of very many held up everybody else for as long as it looked. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { turnsOf } from "../support/turns-of.ts";

it("serves others while it looks at operations that a filter does not pass", async () => {
  await using test = await createTestOrchestrator();
  const operation = (n: number): JsonObject => ({
    operation_id: `01b8dac5-b400-7000-8000-${String(n).padStart(12, "0")}`,
    kind: "apply",
    node_id: "a".repeat(32),
    status: "succeeded",
    created_at: "2030-01-01T00:00:00.000Z",
  });
  const all = Array.from({ length: 1_000 }, (_, n) => operation(n));
  await test.storage.commit(
    all.map((value) => ({
      kind: "put",
      collection: "operations",
      key: String(value["operation_id"]),
      value,
    })),
  );
  const { operations } = test.orchestrator;
  for (const filter of [{ kind: "forget" }, { to: "2029-01-01T00:00:00Z" }] as const) {
    const turns = await turnsOf(() => operations.list(systemCaller, filter));
    expect(turns).toBeGreaterThanOrEqual(4);
  }
});
