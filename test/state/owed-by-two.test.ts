/** What a thing owes that two modules describe, where a run is about the one of them that does not watch. */
import { expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import { ServiceMachine } from "../support/machine/services.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

const operationId = "01890000-0000-7000-8000-000000000002";

test.each<[string, () => ReturnType<typeof declare>]>([
  [
    "describes it without watching",
    () => declare([{ id: "d", type: "service", name: "d", running: true }], "a"),
  ],
  ["does not want it any more", () => []],
])("a run about the one that %s leaves what the other owes", async (_what, desiredOfA) => {
  const machine = new ServiceMachine("systemd");
  machine.add("d", { running: true });
  const fixture = new StateFixture(machine.host);
  const a = declare([{ id: "d", type: "service", name: "d", running: true }], "a");
  const b = (content: string): ReturnType<typeof declare> =>
    declare(
      [
        { id: "d", type: "service", name: "d", running: true, reload_on: ["conf"] },
        { id: "conf", type: "file", path: "/work/conf", content },
      ],
      "b",
    );
  await fixture.run("apply", [...a, ...b("one")]);
  machine.acted = (command) => {
    if (command === "reload d") throw new OrchestratorError("HOST_ERROR");
  };
  await fixture.run("apply", [...a, ...b("two")], { operationId });
  machine.acted = () => {};
  const before = fixture.owed;
  expect(before).toMatchObject([{ module: "b", trigger: "reload", operation_id: operationId }]);
  const run = await fixture.run("apply", desiredOfA(), { scope: ["a"] });
  expect(run.results.map(({ message = "" }) => message).join()).not.toContain("dropped");
  expect(fixture.owed).toEqual(before);
  const reloads = (): number => machine.commands.filter((command) => command === "reload d").length;
  const begun = reloads();
  await fixture.run("apply", b("two"), { scope: ["b"] });
  expect([reloads() - begun, fixture.owed]).toEqual([1, []]);
});

test("runs about a module that has let a thing go leave what it owes to the one that still describes it", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("d", { running: true });
  const fixture = new StateFixture(machine.host);
  const service = { id: "d", type: "service", name: "d", running: true };
  const a = (content: string): ReturnType<typeof declare> =>
    declare(
      [
        { ...service, reload_on: ["conf"] },
        { id: "conf", type: "file", path: "/work/conf", content },
      ],
      "a",
    );
  const b = declare([service], "b");
  await fixture.run("apply", [...a("one"), ...b]);
  machine.acted = (command) => {
    if (command === "reload d") throw new OrchestratorError("HOST_ERROR");
  };
  await fixture.run("apply", [...a("two"), ...b], { operationId });
  machine.acted = () => {};
  const before = fixture.owed;
  expect(before).toMatchObject([{ module: "a", trigger: "reload" }]);
  for (const time of ["first", "second"]) {
    const { results } = await fixture.run("apply", [], { scope: ["a"] });
    expect(results.map(({ message = "" }) => message).join(), time).not.toContain("dropped");
    expect(fixture.owed, time).toEqual(before);
  }
});
