/** Moments of a run that lie between two of its steps, and bounds of what it does at once. */
import { expect, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../lib/clock.ts";
import { OrchestratorError } from "../../lib/errors.ts";
import { hostError } from "../../lib/host/host-error.ts";
import { resolveResource } from "../../lib/state/definition.ts";
import { defineResourceType, type ResourceType } from "../../lib/state/resource-type.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import type { ChangeGuard } from "../../lib/state/run/state-run.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { settle } from "../support/deferred.ts";
import { createMachine, declare, StateFixture } from "../support/state-fixture.ts";

/** A type that is looked at with programs, and resources of it. */
function asked(
  count: number,
  check: () => Promise<void>,
): { types: Map<string, ResourceType>; desired: ResolvedResource[] } {
  const type = defineResourceType<{ name: string }>({
    type: "asked",
    summary: "A thing that a program is asked about.",
    schema: z.strictObject({ name: z.string() }),
    identity: ({ name }) => name,
    checksWithPrograms: true,
    check: async () => (await check(), []),
    apply() {},
    capture: () => null,
    describe: () => "",
  });
  const types = new Map([["asked", type as ResourceType]]);
  const desired = Array.from({ length: count }, (_, at) => {
    const resolution = resolveResource({ type: "asked", name: `n${at}` }, { module: "m", types });
    if (!resolution.ok) throw new Error(JSON.stringify(resolution.issues));
    return resolution.resource;
  });
  return { types, desired };
}

test.each([1, 7, 8, 9, 30])(
  "of %i programs no more than eight look at once, and as many as may",
  async (count) => {
    let [running, most, looks] = [0, 0, 0];
    const { types, desired } = asked(count, async () => {
      most = Math.max(most, (running += 1));
      looks += 1;
      for (let turn = 0; turn < 5; turn += 1) await settle();
      running -= 1;
    });
    const { status } = await new StateFixture().run("check", desired, { types });
    expect([status, most, looks]).toEqual(["succeeded", Math.min(count, 8), count]);
  },
);

test.each([
  ["nothing", [], 1],
  ["something, once more behind that,", [{ id: "f", type: "file", path: "/conf", content: "x" }], 2],
])("an apply that changes %s looks at what is as it is to be %#", async (_what, before, times) => {
  let looks = 0;
  const { types, desired } = asked(3, async () => void (looks += 1));
  const all = new Map([...resourceTypes, ...types]);
  const { status } = await new StateFixture().run("apply", [...declare(before), ...desired], { types: all });
  expect([status, looks]).toEqual(["succeeded", 3 * times]);
});

test("a resource that an agent did not know is known as soon as it has the type, and not any more without it", async () => {
  const { types, desired } = asked(1, async () => {});
  const state = new StateFixture();
  for (const known of [false, true, false]) {
    const { results } = await state.run("check", desired, { types: known ? types : new Map() });
    expect(results[0]?.outcome).toBe(known ? "unchanged" : "failed");
  }
});

const confOf = (attempts: number) =>
  declare([{ id: "f", type: "file", path: "/conf", content: "x", retry: { attempts, delay_seconds: 0 } }]);

test.each([
  ["that changed nothing", false, 3],
  ["that left something", true, 1],
])(
  "behind a try %s the guard is asked as often as something is about to be begun",
  async (_what, leaves, times) => {
    const state = new StateFixture(createMachine(), systemClock);
    const { files } = state.host;
    const write = files.writeFile.bind(files);
    files.writeFile = (path, _content, attributes) => {
      if (leaves) write(path, Buffer.from("half"), attributes);
      throw leaves ? new Error("It broke behind that.") : hostError(path, "EACCES");
    };
    const asks: string[] = [];
    const guard: ChangeGuard = ({ resource_id }, action) => void asks.push(`${resource_id} ${action}`);
    await state.run("apply", confOf(3), { confirm: () => guard });
    expect(asks).toEqual(Array.from({ length: times }, () => "f create"));
  },
);

test("what the guard refuses at a later try is not made", async () => {
  const state = new StateFixture(createMachine(), systemClock);
  const { files } = state.host;
  const write = files.writeFile.bind(files);
  let tries = 0;
  files.writeFile = (path, content, attributes) => {
    tries += 1;
    if (tries === 1) throw hostError(path, "EACCES");
    write(path, content, attributes);
  };
  const guard: ChangeGuard = () => {
    if (tries > 0) throw new OrchestratorError("TOO_MANY_REMOVALS");
  };
  const { results } = await state.run("apply", confOf(2), { confirm: () => guard });
  expect([results[0]?.outcome, results[0]?.code, tries]).toEqual(["failed", "TOO_MANY_REMOVALS", 1]);
  expect(files.stat("/conf")).toBeNull();
});

test.each([
  ["a program is ended", { id: "s", type: "script", run: ["work"], creates: "/done" }, true],
  ["a file is finished", { id: "f", type: "file", path: "/done", content: "x" }, false],
])("of what is cancelled right before its change %s", async (_what, definition, isEnded) => {
  let seen: AbortSignal | null = null;
  const host = createMachine({
    work: (_command, signal) => {
      seen = signal;
      if (!signal.aborted) state.write("/done", "x");
      return { exitCode: signal.aborted ? null : 0 };
    },
  });
  const state = new StateFixture(host);
  const cancel = new AbortController();
  const { results, status } = await state.run("apply", declare([definition]), {
    signal: cancel.signal,
    onBegun: () => cancel.abort(new OrchestratorError("CANCELLED")),
  });
  // Nothing was left to be done where it was finished.
  expect(status).toBe(isEnded ? "cancelled" : "succeeded");
  expect(results[0]).toMatchObject(
    isEnded ? { outcome: "failed", code: "CANCELLED" } : { outcome: "changed" },
  );
  expect([(seen as AbortSignal | null)?.aborted ?? false, host.files.stat("/done") === null]).toEqual([
    isEnded && seen !== null,
    isEnded,
  ]);
});

test("work that somebody else had done is not undone because following a trigger failed", async () => {
  let [fails, undone] = [true, 0];
  const host = createMachine({
    work: () => ({ exitCode: fails ? 1 : 0 }),
    undo: () => ((undone += 1), {}),
  });
  const state = new StateFixture(host);
  state.write("/done", "by somebody else");
  const conf = { id: "conf", type: "file", path: "/conf", content: "x" };
  const follow = {
    id: "s",
    type: "script",
    run: ["work"],
    creates: "/done",
    undo: ["undo"],
    run_on: ["conf"],
  };
  expect((await state.run("apply", declare([conf, follow]))).status).toBe("partial");
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect([undone, state.read("/done")]).toEqual([0, "by somebody else"]);
  // What it has done itself is.
  fails = false;
  host.files.removeFile("/done");
  const made = createMachine({
    work: () => (there.write("/done", "x"), {}),
    undo: () => ((undone += 1), {}),
  });
  const there = new StateFixture(made);
  await there.run("apply", declare([follow, conf]));
  await there.run("apply", []);
  expect(undone).toBe(1);
});

test.each([
  ["stands still", 0, false],
  ["goes on", 1, true],
])(
  "while time %s a run of many resources gives others their turn: %i ms a look",
  async (_how, stepMs, gives) => {
    let [nowMs, turns, isRunning] = [0, 0, true];
    const clock = new FakeClock();
    clock.monotonic = () => (nowMs += stepMs);
    const count = (): void => {
      turns += 1;
      if (isRunning) setImmediate(count);
    };
    const desired = declare(
      Array.from({ length: 200 }, (_, at) => ({
        id: `f${at}`,
        type: "file",
        path: `/f${at}`,
        ensure: "absent",
      })),
    );
    const running = new StateFixture(createMachine(), clock).run("check", desired);
    setImmediate(count);
    const { status } = await running;
    isRunning = false;
    expect([status, turns > 20]).toEqual(["succeeded", gives]);
    await settle();
    if (!gives) expect(turns).toBeLessThan(3);
  },
);
