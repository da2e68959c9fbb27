import { describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { OrchestratorError } from "../../lib/errors.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { createMachine, declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const file = (id: string, more = {}) => ({ id, type: "file", path: `/${id}`, content: `${id}\n`, ...more });

describe("order", () => {
  test("what is needed comes first, the rest stays as written", async () => {
    const state = new StateFixture();
    const desired = declare([file("a", { requires: ["c"] }), file("b"), file("c")]);
    expect(outcomes(await state.run("apply", desired))).toEqual(["c changed", "a changed", "b changed"]);
  });

  test("a circle is refused before anything is looked at", async () => {
    const desired = declare([file("a", { requires: ["b"] }), file("b", { requires: ["a"] })]);
    await expect(new StateFixture().run("plan", desired)).rejects.toMatchObject({ code: "MODULE_INVALID" });
  });
});

describe("failure", () => {
  const broken = (more = {}) => ({
    id: "broken",
    type: "script",
    run: "nonsense",
    check: "test -e x",
    ...more,
  });

  test("ends the run for what comes after, and says so", async () => {
    const run = await new StateFixture().run("apply", declare([file("a"), broken(), file("b")]));
    expect(outcomes(run)).toEqual(["a changed", "broken failed", "b skipped"]);
    expect(run.results[1]).toMatchObject({ code: "COMMAND_FAILED", exit_code: 127, attempts: 1 });
    expect(run.results[2]).toMatchObject({
      skipped_because: "dependency",
      message: expect.stringContaining("m/broken"),
    });
    expect(run.status).toBe("partial");
  });

  test("with on_failure continue skips only what needs it, to any depth", async () => {
    const run = await new StateFixture().run(
      "apply",
      declare([
        broken({ on_failure: "continue" }),
        file("needs", { requires: ["broken"] }),
        { id: "fired", type: "script", run: "touch x", run_on: ["needs"] },
        file("free"),
      ]),
    );
    expect(outcomes(run)).toEqual(["broken failed", "needs skipped", "fired skipped", "free changed"]);
  });

  test("before anything was changed makes the run failed, not partial", async () => {
    expect((await new StateFixture().run("apply", declare([broken()]))).status).toBe("failed");
  });

  test("is tried again as often and as late as told", async () => {
    let runs = 0;
    const clock = new FakeClock();
    const host = createMachine({
      flaky: () => ({ exitCode: ++runs < 3 ? 1 : 0 }),
      ready: () => ({ exitCode: runs < 3 ? 1 : 0 }),
    });
    const definition = {
      id: "f",
      type: "script",
      run: ["flaky"],
      check: ["ready"],
      retry: { attempts: 5, delay_seconds: 10 },
    };
    const running = new StateFixture(host, clock).run("apply", declare([definition]));
    await clock.advance(0);
    await clock.advance(9_999);
    expect(runs).toBe(1);
    await clock.advance(10_001);
    expect((await running).results[0]).toMatchObject({ outcome: "changed", attempts: 3 });
  });

  test("of a resource that still differs after it was applied is NOT_CONVERGED", async () => {
    const run = await new StateFixture().run(
      "apply",
      declare([{ id: "s", type: "script", run: "touch y", creates: "/x" }]),
    );
    expect(run.results[0]).toMatchObject({ outcome: "failed", code: "NOT_CONVERGED", action: "run" });
  });

  test("of a type that the agent does not know is a result", async () => {
    const [resource] = declare([file("a")]);
    const run = await new StateFixture().run("apply", [{ ...resource!, type: "teapot" }]);
    expect(run.results[0]).toMatchObject({ outcome: "failed", code: "UNKNOWN_RESOURCE_TYPE" });
    expect(run.results[0]!.message).toBe('This agent knows no resource type "teapot".');
  });

  test("of properties that the agent can't read is a result", async () => {
    const [resource] = declare([file("a")]);
    const run = await new StateFixture().run("apply", [{ ...resource!, spec: { path: "/a", mode: 7 } }]);
    expect(run.results[0]).toMatchObject({ outcome: "failed", code: "VALIDATION_FAILED" });
    expect(run.results[0]!.message).toBe("The properties can't be read by this agent.");
  });

  test("of the last barrier is told with the results", async () => {
    const host = createMachine();
    let barriers = 0;
    host.barrier = async () => {
      if (++barriers === 2) throw new OrchestratorError("HOST_ERROR");
    };
    const run = await new StateFixture(host).run("apply", declare([file("a")]));
    expect(run).toMatchObject({
      status: "partial",
      error: { code: "HOST_ERROR" },
      results: [{ outcome: "changed" }],
    });
  });

  test.each([
    ["stop_all", ["a failed", "b skipped", "c skipped"], "Not begun: the run ended with the failure of m/a."],
    ["stop", ["a failed", "b skipped", "c changed"], "Not begun: its module ended with the failure of m/a."],
    ["continue", ["a failed", "b changed", "c changed"], undefined],
  ])("ends as much as its resource says: %s", async (on_failure, expected, message) => {
    const failing = { id: "a", type: "script", run: "false", creates: "/never", on_failure };
    const desired = [...declare([failing, file("b")]), ...declare([file("c")], "other")];
    const run = await new StateFixture().run("apply", desired);
    expect(outcomes(run)).toEqual(expected);
    expect(run.results[1]!.message).toBe(message);
  });
});

describe("triggers", () => {
  const chain = [
    file("conf"),
    { id: "first", type: "script", run: "touch first", run_on: ["conf"] },
    { id: "second", type: "script", run: "touch second", run_on: ["first", "other"] },
    file("other"),
  ];

  test("fire through any depth, once, with their causes; a plan says the same", async () => {
    const state = new StateFixture();
    state.write("/other", "other\n");
    const plan = await state.run("plan", declare(chain));
    const apply = await state.run("apply", declare(chain));
    for (const run of [plan, apply]) {
      expect(run.results.map(({ resource_id, caused_by }) => [resource_id, caused_by])).toEqual([
        ["conf", []],
        ["first", ["conf"]],
        ["other", []],
        ["second", ["first"]],
      ]);
    }
    expect(outcomes(plan)).toEqual([
      "conf would_change",
      "first would_change",
      "other unchanged",
      "second would_change",
    ]);
    expect(apply.results.map(({ action }) => action)).toEqual(["create", "run", "none", "run"]);
  });

  test("do not fire when nothing changed, nor in a drift check", async () => {
    const state = new StateFixture();
    await state.run("apply", declare(chain));
    expect(outcomes(await state.run("apply", declare(chain)))).toContain("first unchanged");
    state.write("/conf", "other");
    expect(outcomes(await state.run("check", declare(chain)))).toEqual([
      "conf would_change",
      "first unchanged",
      "other unchanged",
      "second unchanged",
    ]);
  });
});

describe("conditions", () => {
  test("skip a resource without a look, and hold up nobody who needs it", async () => {
    const [a, b] = declare([file("a"), file("b", { requires: ["a"] })]);
    const state = new StateFixture();
    const run = await state.run("apply", [{ ...a!, skip: "condition" }, b!]);
    expect(outcomes(run)).toEqual(["a skipped", "b changed"]);
    expect(state.host.files.stat("/a")).toBeNull();
  });

  test("that hold no longer do not remove what was applied", async () => {
    const state = new StateFixture();
    const [a] = declare([file("a")]);
    await state.run("apply", [a!]);
    const run = await state.run("apply", [{ ...a!, skip: "condition" }]);
    expect(outcomes(run)).toEqual(["a skipped"]);
    expect(state.applied).toHaveLength(1);
  });
});

describe("cancelling", () => {
  test("finishes the change in progress and skips the rest", async () => {
    const controller = new AbortController();
    const host = createMachine({ slow: () => (controller.abort(), {}) });
    const slow = { id: "slow", type: "script", run: ["slow"], run_on: ["a"] };
    const state = new StateFixture(host);
    const run = await state.run("apply", declare([file("a"), slow, file("b")]), {
      signal: controller.signal,
    });
    expect(outcomes(run)).toEqual(["a changed", "slow changed", "b skipped"]);
    expect(run.results[2]?.skipped_because).toBe("cancelled");
    expect(run.status).toBe("cancelled");
  });

  test("in a later try keeps it told as failed: a try before has changed something", async () => {
    const controller = new AbortController();
    let looks = 0;
    const host = createMachine({
      probe: () => {
        looks += 1;
        if (looks < 3) return { exitCode: 1 };
        controller.abort();
        throw new Error("the probe is gone");
      },
      half: () => ({ exitCode: 1 }),
    });
    const half = {
      id: "half",
      type: "script",
      run: ["half"],
      check: ["probe"],
      retry: { attempts: 3, delay_seconds: 0 },
    };
    const state = new StateFixture(host, systemClock);
    const { results } = await state.run("apply", declare([half]), { signal: controller.signal });
    expect(results).toMatchObject([{ outcome: "failed", attempts: 2 }]);
    expect(results[0]).not.toHaveProperty("skipped_because");
  });

  test("before the start changes nothing", async () => {
    const state = new StateFixture();
    const run = await state.run("apply", declare([file("a")]), { signal: AbortSignal.abort() });
    expect([run.status, state.host.writes]).toEqual(["cancelled", []]);
  });
});

describe("time", () => {
  const endless = () =>
    createMachine({
      endless: (_command, signal) =>
        new Promise((resolve) =>
          signal.addEventListener("abort", () => resolve({ exitCode: null, signal: "SIGTERM" })),
        ),
    });
  const definitions = [
    file("a"),
    {
      id: "endless",
      type: "script",
      run: ["endless"],
      run_on: ["a"],
      timeout_seconds: 5,
      on_failure: "continue",
    },
    file("b"),
  ];

  test("of one resource is limited, and the rest goes on", async () => {
    const clock = new FakeClock();
    const running = new StateFixture(endless(), clock).run("apply", declare(definitions));
    await clock.advance(0);
    await clock.advance(5_000);
    const run = await running;
    expect(outcomes(run)).toEqual(["a changed", "endless failed", "b changed"]);
    expect(run.results[1]).toMatchObject({ code: "RESOURCE_TIMEOUT", duration_ms: 5_000 });
    expect(clock.pendingTimers).toBe(0);
  });

  test("of the whole run is limited, and the rest is skipped", async () => {
    const clock = new FakeClock();
    const running = new StateFixture(endless(), clock).run("apply", declare(definitions), {
      timeoutMs: 1_000,
    });
    await clock.advance(0);
    await clock.advance(1_000);
    const run = await running;
    expect(run.status).toBe("timed_out");
    expect(outcomes(run)).toEqual(["a changed", "endless failed", "b skipped"]);
    expect(run.results[1]).toMatchObject({
      code: "RESOURCE_TIMEOUT",
      message: "The run took longer than it may: SIGTERM ended it.",
    });
  });
});

describe("what two modules say", () => {
  test("is done once where they agree, and both results say so", async () => {
    const state = new StateFixture();
    const run = await state.run("apply", [...declare([file("a")], "one"), ...declare([file("a")], "two")]);
    expect(outcomes(run)).toEqual(["a changed", "a changed"]);
    expect(run.results[1]?.message).toBe("one/a says the same; it was done there.");
    expect(state.host.writes.filter(({ call }) => call === "writeFile")).toHaveLength(1);
    expect(state.applied).toHaveLength(1);
  });

  test("is refused where they differ", async () => {
    const desired = [...declare([file("a")], "one"), ...declare([file("a", { content: "b" })], "two")];
    await expect(new StateFixture().run("plan", desired)).rejects.toMatchObject({
      code: "RESOURCE_CONFLICT",
      message: "one/a and two/a describe path:/a differently.",
    });
  });
});

describe("what is told on the way", () => {
  test("what stood before is handed over before the first change, once for all", async () => {
    const state = new StateFixture();
    state.write("/b", "old");
    const handed: unknown[] = [];
    await state.run("apply", declare([file("a"), file("b")]), {
      beforeChanges: async (captured) => {
        handed.push(captured.map(({ prior }) => prior?.spec["ensure"]));
        expect(state.host.files.stat("/a")).toBeNull();
      },
    });
    expect(handed).toEqual([["absent", "present"]]);
  });

  test("a caller that can't keep it stops the run before anything is changed", async () => {
    const state = new StateFixture();
    const beforeChanges = () => Promise.reject(new Error("disk full"));
    await expect(state.run("apply", declare([file("a")]), { beforeChanges })).rejects.toThrow("disk full");
    expect(state.host.files.stat("/a")).toBeNull();
  });

  test("results come one by one, output piece by piece, but never of a sensitive resource", async () => {
    const host = createMachine({ talk: () => ({ stdout: "hello" }) });
    const talk = (id: string, sensitive: boolean) => ({
      id,
      type: "script",
      run: ["talk"],
      run_on: ["a"],
      sensitive,
    });
    const seen: string[] = [];
    await new StateFixture(host).run(
      "apply",
      declare([file("a"), talk("open", false), talk("secret", true)]),
      {
        onResult: ({ resource_id }) => seen.push(resource_id),
        onOutput: ({ resource_id, stream, bytes }) =>
          seen.push(`${resource_id} ${stream} ${Buffer.from(bytes)}`),
      },
    );
    expect(seen).toEqual(["a", "open stdout hello", "open", "secret"]);
  });

  test("what programs are asked is no output, and their exit code is not that of the resource", async () => {
    let text = "";
    const host = createMachine({
      crontab: ({ argv, stdin = "" }) => {
        if (argv.at(-1) !== "-l") return ((text = stdin), { stdout: "installed\n" });
        return text === "" ? { exitCode: 1, stderr: "no crontab for root\n" } : { stdout: text };
      },
    });
    const seen: string[] = [];
    const job = { id: "job", type: "cron", name: "job", hour: 3, command: "/bin/true" };
    const { results } = await new StateFixture(host).run("apply", declare([job]), {
      onOutput: ({ resource_id, bytes }) => seen.push(`${resource_id} ${Buffer.from(bytes)}`),
    });
    expect(seen).toEqual(["job installed\n"]);
    expect(results[0]).toMatchObject({ outcome: "changed", exit_code: 0 });
  });

  test("the one barrier comes after the last change, and none when nothing changed", async () => {
    const state = new StateFixture();
    await state.run("apply", declare([file("a"), file("b")]));
    // One for what was captured, one for what was changed.
    expect(state.host.barriers).toBe(2);
    await state.run("apply", declare([file("a"), file("b")]));
    expect(state.host.barriers).toBe(2);
  });
});

test("a drift check leaves out ignored properties and judges each resource by itself", async () => {
  const state = new StateFixture();
  const desired = declare([
    file("a", { mode: "0600", ignore_drift: ["mode"] }),
    { id: "dir", type: "directory", path: "/dir" },
    file("b", { requires: ["dir"] }),
  ]);
  await state.run("apply", desired);
  state.host.files.setAttributes("/a", { mode: 0o666 });
  state.host.files.removeFile("/b");
  state.host.files.removeDirectory("/dir");
  state.write("/dir", "in the way");
  const run = await state.run("check", desired);
  expect(outcomes(run)).toEqual(["a unchanged", "dir failed", "b would_change"]);
});
