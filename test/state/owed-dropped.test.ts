/** When a debt that nobody asks for any more is dropped, and how that is told. */
import { expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import type { OwedTrigger } from "../../lib/state/owed.ts";
import { createMachine, declare, StateFixture } from "../support/state-fixture.ts";

const operation_id = "01890000-0000-7000-8000-000000000001";

/** What a resource that watched `m/conf` owes to a thing. */
function debtOf(thing: string, more: Partial<OwedTrigger> = {}): OwedTrigger {
  const [type = "", identity = ""] = thing.split(":");
  const watcher = { thing, module: "m", resource_id: "gone", type, identity };
  return { ...watcher, trigger: "restart", causes: ["m/conf"], operation_id, ...more };
}

test.each([
  ["in the middle", []],
  ["in the middle, before what has a condition that does not hold", [{ skip: "condition" as const }]],
])("a run that is cancelled %s drops nothing", async (_when, more) => {
  const state = new StateFixture(createMachine());
  state.owed = [debtOf("service:gone")];
  const stop = new AbortController();
  const desired = declare(
    ["a", "b", "c"].map((id) => ({ id, type: "file", path: `/${id}`, content: id })),
  ).map((resource, at) => ({ ...resource, ...(at === 2 && more[0]) }));
  const cancelled = await state.run("apply", desired, {
    signal: stop.signal,
    onResult: () => stop.abort(new OrchestratorError("CANCELLED")),
  });
  expect(cancelled.status).toBe("cancelled");
  expect(cancelled.results.map(({ resource_id }) => resource_id)).toEqual(["a", "b", "c"]);
  expect(state.owed).toEqual([debtOf("service:gone")]);
  const next = await state.run("apply", desired);
  expect(next.results.at(-1)).toMatchObject({ resource_id: "gone", skipped_because: "undesired" });
  expect(state.owed).toEqual([]);
});

test("that it is dropped is told behind however long a message, in as much as one may have", async () => {
  const state = new StateFixture();
  let path = "";
  for (let depth = 0; depth < 16; depth += 1) {
    path += `/${"x".repeat(250)}`;
    state.host.files.makeDirectory(path, { mode: 0o755 });
  }
  state.owed = [debtOf(`path:${path}`)];
  const { results } = await state.run("apply", declare([{ id: "f", type: "file", path, content: "x" }]));
  const { message = "" } = results[0]!;
  const dropped = `Its restart, owed since operation ${operation_id}, is dropped: it is not asked for any more.`;
  expect(message.slice(-dropped.length - 1)).toBe(` ${dropped}`);
  expect(message).toContain(path.slice(0, 200));
  expect(message).toHaveLength(4096);
});

test.each([
  ["m", "conf"],
  ["web", "m/conf"],
])("what a debt of module %s is for is named as that module does: %s", async (module, named) => {
  const state = new StateFixture();
  state.owed = [debtOf("service:gone", { module })];
  const { results } = await state.run("check", []);
  expect(results).toMatchObject([
    { module, outcome: "would_change", action: "restart", caused_by: [named], owed_since: operation_id },
  ]);
});
