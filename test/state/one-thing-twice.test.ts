/** What was applied by two paths, which lead to one thing by now: whose prior comes back, and where. */
import { expect, test } from "vitest";
import { wholeMachine } from "../support/machine/whole-machine.ts";
import { declare, outcomes, StateFixture } from "../support/state-fixture.ts";

/** A machine with two folders, a file in each that one module changed, in this order. */
async function machine(order: readonly ("a" | "b")[]): Promise<StateFixture> {
  const state = new StateFixture(wholeMachine());
  for (const name of ["a", "b"]) {
    state.host.files.makeDirectory(`/w-${name}`, { mode: 0o755 });
    state.write(`/w-${name}/f`, `stood in ${name}`);
  }
  const set = order.map((name) => ({ id: name, type: "file", path: `/w-${name}/f`, content: "ours" }));
  expect(outcomes(await state.run("apply", declare(set)))).toEqual(order.map((name) => `${name} changed`));
  return state;
}

/** Somebody moves what the second folder holds into the first, and leads its path there. */
function joined({ host: { files } }: StateFixture): void {
  files.removeFile("/w-b/f");
  files.removeDirectory("/w-b");
  files.makeSymlink("/w-b", "/w-a");
}

test.each([[["a", "b"]], [["b", "a"]]] as const)(
  "%j: what stood before the first comes back, once, and nothing else",
  async (order) => {
    const state = await machine(order);
    joined(state);
    expect(outcomes(await state.run("apply", []))).toHaveLength(1);
    expect(state.read("/w-a/f")).toBe(`stood in ${order[0]}`);
    expect(outcomes(await state.run("apply", []))).toEqual([]);
  },
);

test.each(["a", "b"])("one that still wants it by %s keeps it, and what stood is known", async (kept) => {
  const state = await machine(["a", "b"]);
  joined(state);
  const [still] = declare([{ id: kept, type: "file", path: `/w-${kept}/f`, content: "ours" }]);
  expect(outcomes(await state.run("apply", [still!]))).toEqual([`${kept} unchanged`]);
  expect(state.read("/w-a/f")).toBe("ours");
  await state.run("apply", []);
  expect(state.read("/w-a/f")).toBe("stood in a");
});
