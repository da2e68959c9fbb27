/** What a try did before it failed counts, whatever the next one finds. */
import { expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { OrchestratorError } from "../../lib/errors.ts";
import { hostError } from "../../lib/host/host-error.ts";
import type { MemoryProgram } from "../../lib/host/memory-host.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { settleAll } from "../support/deferred.ts";
import { createMachine, declare, StateFixture } from "../support/state-fixture.ts";

/** A machine with a program that does its work and fails the first time. */
function machine(): StateFixture {
  let runs = 0;
  const work: MemoryProgram = () => {
    state.write("/done", "x");
    runs += 1;
    return { exitCode: runs === 1 ? 1 : 0 };
  };
  const state = new StateFixture(createMachine({ work }), systemClock);
  return state;
}

const retry = { attempts: 3, delay_seconds: 0 };
const script = { id: "s", type: "script", run: ["work"], creates: "/done" };

test("a script that fails when its work is done has changed something, though the next try finds nothing to do", async () => {
  const state = machine();
  const { results } = await state.run("apply", declare([{ ...script, retry }]));
  expect(results[0]).toMatchObject({
    outcome: "changed",
    action: "run",
    attempts: 2,
    changes: [{ property: "run", before: "not done", after: "done" }],
  });
});

test("a removal that fails when it is done has taken something away", async () => {
  let fails = false;
  const state: StateFixture = new StateFixture(
    createMachine({
      work: () => (state.write("/done", "x"), {}),
      undo: () => (state.host.files.removeFile("/done"), { exitCode: fails ? 1 : 0 }),
    }),
    systemClock,
  );
  await state.run("apply", declare([{ ...script, undo: ["undo"], retry }]));
  fails = true;
  const { results } = await state.run("apply", []);
  expect(results[0]).toMatchObject({ outcome: "changed", action: "remove", attempts: 2 });
  expect(state.applied).toEqual([]);
});

test("a change that took several tries is told as the first that did something found it", async () => {
  const state = new StateFixture(createMachine(), systemClock);
  const write = state.host.files.writeFile.bind(state.host.files);
  let tries = 0;
  // The first leaves half of it, the second fails behind its work.
  state.host.files.writeFile = (path, content, attributes) => {
    tries += 1;
    write(path, tries === 1 ? Buffer.from("half") : content, attributes);
    throw new Error("It broke behind that.");
  };
  const conf = { id: "f", type: "file", path: "/conf", content: "whole", retry };
  const { results } = await state.run("apply", declare([conf]));
  expect(results[0]).toMatchObject({ outcome: "changed", action: "create", attempts: 3 });
  expect(results[0]?.changes.map(({ property, before }) => [property, before])).toContainEqual([
    "ensure",
    "absent",
  ]);
});

test.each([1, 2, 3])("what somebody makes behind %i tries that were refused stays his", async (refused) => {
  const state = new StateFixture(createMachine(), systemClock);
  const { files } = state.host;
  const write = files.writeFile.bind(files);
  let tries = 0;
  files.writeFile = (path, content, attributes) => {
    tries += 1;
    if (tries === refused) write(path, content, attributes);
    throw hostError(path, "EACCES");
  };
  const conf = { id: "f", type: "file", path: "/conf", content: "x", retry: { ...retry, attempts: 4 } };
  const { results, status } = await state.run("apply", declare([conf]));
  expect(status).toBe("succeeded");
  expect(results[0]).toMatchObject({ outcome: "unchanged", action: "none", changes: [] });
  files.writeFile = write;
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("x");
});

test.each(["while it is tried", "while it waits for its next try"])(
  "a run that is cancelled %s waits for no other try",
  async (when) => {
    const stop = new AbortController();
    const cancel = (): void => stop.abort(new OrchestratorError("CANCELLED"));
    let tries = 0;
    const work: MemoryProgram = () => {
      tries += 1;
      if (when === "while it is tried") cancel();
      return { exitCode: 1 };
    };
    const state = new StateFixture(createMachine({ work }), new FakeClock());
    const slow = { ...script, retry: { attempts: 3, delay_seconds: 3_600 } };
    let ended: unknown = null;
    void state.run("apply", declare([slow]), { signal: stop.signal }).then((run) => (ended = run));
    await settleAll();
    if (when !== "while it is tried") {
      expect(ended).toBeNull();
      cancel();
      await settleAll();
    }
    expect(ended).toMatchObject({ results: [{ outcome: "failed" }] });
    expect(tries).toBe(1);
  },
);
