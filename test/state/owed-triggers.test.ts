/**
 * A trigger is owed from before the change that causes it until it has succeeded: whatever fails, is cancelled or is killed in
 * between, the next apply catches up on it, a plan tells of it and a drift check finds it.
 */
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { OrchestratorError } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Watching } from "../../lib/state/owed.ts";
import { planText } from "../../lib/state/plan-text.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import type { StateRunResult } from "../../lib/state/run/engine.ts";
import { ServiceMachine } from "../support/machine/services.ts";
import { foretold, told } from "../support/plan-and-apply.ts";
import { createMachine, declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const first = "01890000-0000-7000-8000-000000000001";
const second = "01890000-0000-7000-8000-000000000002";
const third = "01890000-0000-7000-8000-000000000003";

/** A daemon that reads its configuration when it is told to, and sometimes does not. */
class Daemon {
  loaded = "";
  loads = 0;
  isBroken = false;
  readonly state: StateFixture;

  constructor() {
    const host = createMachine({
      load: () => {
        if (this.isBroken) return { exitCode: 1 };
        this.loads += 1;
        this.loaded = this.state.read("/conf");
        return {};
      },
      break: () => ({ exitCode: 1 }),
      meddle: () => {
        this.state.write("/conf", "by somebody else");
        this.state.write("/meddled", "");
        return {};
      },
    });
    this.state = new StateFixture(host);
  }
}

const conf = (content: string): JsonObject => ({ id: "conf", type: "file", path: "/conf", content });
/** Changes what was in sync when the run began. */
const meddle = { id: "meddle", type: "script", run: ["meddle"], creates: "/meddled" };
const load = { id: "load", type: "script", run: ["load"], run_on: ["conf"] };

let daemon: Daemon;
let state: StateFixture;
beforeEach(async () => {
  daemon = new Daemon();
  state = daemon.state;
  await state.run("apply", declare([conf("one"), load]), { operationId: first });
});

const resultOf = (run: StateRunResult, id: string): ResourceResult =>
  run.results.find(({ resource_id }) => resource_id === id)!;

/** The next apply catches up, once, and says since when it was owed. */
async function expectCaughtUp(content = "two"): Promise<void> {
  const loads = daemon.loads;
  daemon.isBroken = false;
  const desired = declare([conf(content), load]);
  const drift = await state.run("check", desired);
  expect(resultOf(drift, "load")).toMatchObject({
    outcome: "would_change",
    action: "run",
    owed_since: second,
  });
  const plan = await state.run("plan", desired, { operationId: third });
  expect(resultOf(plan, "load")).toMatchObject({
    outcome: "would_change",
    action: "run",
    caused_by: ["conf"],
    owed_since: second,
  });
  const confirm = (seen: readonly ResourceResult[]): void =>
    expect(planText(seen)).toBe(planText(plan.results));
  const paid = await state.run("apply", desired, { operationId: third, confirm });
  expect(told(paid)).toEqual(foretold(plan, paid));
  expect(daemon.loaded).toBe(content);
  expect(daemon.loads).toBe(loads + 1);
  expect(state.owed).toEqual([]);
  expect(outcomes(await state.run("apply", desired))).toEqual(["conf unchanged", "load unchanged"]);
  expect(outcomes(await state.run("check", desired))).toEqual(["conf unchanged", "load unchanged"]);
}

describe("what a trigger owes is caught up on", () => {
  test("after it failed, as often as it fails", async () => {
    daemon.isBroken = true;
    const desired = declare([conf("two"), load]);
    const failed = await state.run("apply", desired, { operationId: second });
    expect(outcomes(failed)).toEqual(["conf changed", "load failed"]);
    expect(resultOf(failed, "load").owed_since).toBeUndefined();
    const again = await state.run("apply", desired, { operationId: third });
    expect(again.status).toBe("failed");
    expect(resultOf(again, "load")).toMatchObject({ outcome: "failed", action: "run", owed_since: second });
    await expectCaughtUp();
  });

  test("after the run was cancelled behind the change", async () => {
    const stop = new AbortController();
    const onResult = (): void => stop.abort(new OrchestratorError("CANCELLED"));
    const cut = await state.run("apply", declare([conf("two"), load]), {
      operationId: second,
      signal: stop.signal,
      onResult,
    });
    expect(outcomes(cut)).toEqual(["conf changed", "load skipped"]);
    await expectCaughtUp();
  });

  test("after something between the two failed", async () => {
    const between = { id: "between", type: "script", run: ["break"], run_on: ["conf"] };
    const desired = declare([conf("two"), between, { ...load, requires: ["between"] }]);
    const failed = await state.run("apply", desired, { operationId: second });
    expect(outcomes(failed)).toEqual(["conf changed", "between failed", "load skipped"]);
    // Of `between` nobody asks any more, and that is told.
    const told = await state.run("plan", declare([conf("two"), load]));
    expect(resultOf(told, "between").message).toContain("Its run, owed since");
    state.owed = state.owed.filter(({ resource_id }) => resource_id === "load");
    await expectCaughtUp();
  });

  test.each<[string, ReturnType<typeof declare>]>([
    ["after its cause was changed and failed all the same", []],
    ["after that failed where another module says the same", declare([conf("two")], "first")],
  ])("%s", async (_when, others) => {
    const file = resourceTypes.get("file")!;
    const apply: typeof file.apply = async (spec, changes, host, signal) => {
      await file.apply(spec, changes, host, signal);
      throw new OrchestratorError("HOST_ERROR", { message: "The disk went away." });
    };
    const types = new Map([...resourceTypes, ["file", { ...file, apply }]]);
    const desired = [...others, ...declare([conf("two"), load])];
    const failed = await state.run("apply", desired, { operationId: second, types });
    expect(outcomes(failed)).toEqual([...others.map(() => "conf failed"), "conf failed", "load skipped"]);
    await expectCaughtUp();
  });

  test("where it is called something else by then", async () => {
    daemon.isBroken = true;
    const service = (id: string): JsonObject => ({ ...load, id });
    await state.run("apply", declare([conf("two"), service("load")]), { operationId: second });
    daemon.isBroken = false;
    // A script has no name but its id: under another it is another, and what the old one owed is dropped.
    const renamed = await state.run("apply", declare([conf("two"), service("renamed")]));
    expect(resultOf(renamed, "load").message).toContain("is dropped");
    expect(state.owed).toEqual([]);
  });

  test("by a chain of those that follow each other", async () => {
    const then = { id: "then", type: "script", run: ["load"], run_on: ["load"] };
    daemon.isBroken = true;
    const desired = declare([conf("two"), load, then]);
    expect(outcomes(await state.run("apply", desired, { operationId: second }))).toEqual([
      "conf changed",
      "load failed",
      "then skipped",
    ]);
    daemon.isBroken = false;
    const paid = await state.run("apply", desired, { operationId: third });
    expect(outcomes(paid)).toEqual(["conf unchanged", "load changed", "then changed"]);
    expect(resultOf(paid, "load").owed_since).toBe(second);
    // Nobody knows how far a script came that failed.
    expect(resultOf(paid, "then").owed_since).toBe(second);
    expect(state.owed).toEqual([]);
  });

  test("in a plan and a drift check nothing is settled", async () => {
    daemon.isBroken = true;
    const desired = declare([conf("two"), load]);
    await state.run("apply", desired, { operationId: second });
    const owed = state.owed;
    expect(owed).toHaveLength(1);
    await state.run("plan", desired);
    await state.run("check", desired);
    await state.run("plan", []);
    expect(state.owed).toEqual(owed);
  });
});

describe("a debt that nobody asks for any more is dropped, and told", () => {
  beforeEach(async () => {
    daemon.isBroken = true;
    await state.run("apply", declare([conf("two"), load]), { operationId: second });
    daemon.isBroken = false;
  });

  test.each<[string, JsonObject[], string]>([
    ["the resource is gone", [conf("two")], "unchanged"],
    ["it watches nothing any more", [conf("two"), { ...load, run_on: [], creates: "/conf" }], "unchanged"],
  ])("where %s", async (_name, definitions, outcome) => {
    const desired = declare(definitions);
    const plan = await state.run("plan", desired, { operationId: third });
    const loads = daemon.loads;
    const apply = await state.run("apply", desired, { operationId: third });
    expect(told(apply)).toEqual(foretold(plan, apply));
    expect(resultOf(apply, "load").outcome).toBe(outcome);
    expect(resultOf(apply, "load").message).toMatch(/Its run.* is dropped: /);
    expect([daemon.loads, state.owed]).toEqual([loads, []]);
    await state.run("apply", declare([conf("two"), load]));
    expect(daemon.loads).toBe(loads);
  });

  test("but not where its condition does not hold for once", async () => {
    const [file, script] = declare([conf("two"), load]);
    const skipping = [file!, { ...script!, skip: "condition" as const }];
    const run = await state.run("apply", skipping);
    expect(outcomes(run)).toEqual(["conf unchanged", "load skipped"]);
    expect(resultOf(run, "load").message).toBeUndefined();
    await expectCaughtUp();
  });

  test("but not by a run that takes nothing away", async () => {
    const run = await state.run("apply", declare([conf("two")]), { holdRemovals: true });
    expect(resultOf(run, "load")).toMatchObject({ outcome: "skipped", skipped_because: "unattended" });
    await expectCaughtUp();
  });

  test("and is drift until then, with what caused it and since when it is owed", async () => {
    const { results } = await state.run("check", declare([conf("two")]));
    const owed = { outcome: "would_change", action: "run", caused_by: ["conf"], owed_since: second };
    expect(results).toMatchObject([{ outcome: "unchanged" }, { resource_id: "load", ...owed }]);
  });

  test("but not where it watches something else: what it watched until then is told last", async () => {
    const other = { id: "other", type: "file", path: "/other", content: "x" };
    const desired = declare([conf("two"), other, { ...load, run_on: ["other"] }]);
    const run = await state.run("apply", desired, { operationId: third });
    expect(resultOf(run, "load")).toMatchObject({ outcome: "changed", caused_by: ["other", "conf"] });
  });

  test("but not by a run that was cancelled before it came to it", async () => {
    const signal = AbortSignal.abort(new OrchestratorError("CANCELLED"));
    await state.run("apply", declare([conf("two")]), { signal });
    await expectCaughtUp();
  });
});

describe("two modules that describe one daemon", () => {
  test("each have it follow what they watch, also where the first of them watches nothing", async () => {
    const machine = new ServiceMachine("systemd");
    machine.add("d", { running: true });
    const fixture = new StateFixture(machine.host);
    const service = { id: "d", type: "service", name: "d", running: true };
    const run = await fixture.run("apply", [
      ...declare([service], "a"),
      ...declare(
        [
          { ...service, reload_on: ["conf"] },
          { ...conf("x"), path: "/work/conf" },
        ],
        "b",
      ),
    ]);
    expect(outcomes(run)).toContain("conf changed");
    expect(run.results.filter(({ action }) => action === "reload")).toMatchObject([
      { module: "b", caused_by: ["conf"], outcome: "changed" },
    ]);
  });
});

test("a thing that two modules describe is captured once, and is ours although the second only follows", async () => {
  const machine = new ServiceMachine("systemd");
  machine.add("d", { running: false });
  const fixture = new StateFixture(machine.host);
  const service = { id: "d", type: "service", name: "d", running: true };
  const file = { ...conf("x"), path: "/work/conf" };
  const desired = [...declare([service], "a"), ...declare([{ ...service, reload_on: ["conf"] }, file], "b")];
  const noted: string[] = [];
  await fixture.run("apply", desired, {
    beforeChanges: async (captured) => void noted.push(...captured.map(({ identity }) => identity)),
    onUntouched: (identity) => void noted.push(`untouched ${identity}`),
  });
  expect(noted.toSorted()).toEqual(["path:/work/conf", "service:d"]);
  expect(machine.services.get("d")).toMatchObject({ running: true });
  await fixture.run("apply", []);
  expect(machine.services.get("d")).toMatchObject({ running: false });
});

test("what is skipped by its condition causes nothing, although another module changed the same thing", async () => {
  const [fb, loads] = declare(
    [
      { ...conf("1"), id: "fb", path: "/x" },
      { ...load, run_on: ["fb"] },
    ],
    "b",
  );
  const desired = [
    ...declare([{ ...conf("1"), path: "/x" }], "a"),
    { ...fb!, skip: "condition" as const },
    loads!,
  ];
  const fixture = new Daemon().state;
  const told: unknown[] = [];
  const beforeChanges = async (_captured: unknown, watching: unknown[]) => void told.push(...watching);
  const plan = await fixture.run("plan", desired);
  const run = await fixture.run("apply", desired, { beforeChanges: beforeChanges as never });
  expect(outcomes(run)).toEqual(["conf changed", "fb skipped", "load unchanged"]);
  expect(outcomes(plan)).toEqual(["conf would_change", "fb skipped", "load unchanged"]);
  expect([told, fixture.owed]).toEqual([[], []]);
});

describe("who watches is told before anything is changed", () => {
  const keysOf = (watching: readonly Watching[]): string[] =>
    watching.flatMap(({ resource_id, watched }) => watched.map(({ key }) => `${resource_id} watches ${key}`));

  test("once, together with what is captured", async () => {
    const told: string[] = [];
    const fresh = new Daemon().state;
    const then = { ...load, id: "then", run_on: ["conf", "load"] };
    await fresh.run("apply", declare([conf("two"), load, then]), {
      beforeChanges: async (captured, watching) => void told.push(...keysOf(watching), `${captured.length}`),
      onBegun: ({ identity }) => void told.push(identity),
    });
    const all = ["load watches m/conf", "then watches m/conf", "then watches m/load"];
    expect(told.slice(0, 5)).toEqual([...all, "1", "path:/conf"]);
    expect(told.filter((each) => each.includes("watches"))).toHaveLength(3);
  });

  test("also of what turns out to differ only at its turn", async () => {
    const told: string[] = [];
    const run = await state.run("apply", declare([meddle, conf("one"), load]), {
      beforeChanges: async (_captured, watching) => void told.push(...keysOf(watching)),
      onBegun: ({ identity }) => void told.push(identity),
    });
    expect(outcomes(run)).toContain("conf changed");
    expect(told.indexOf("load watches m/conf")).toBeGreaterThanOrEqual(0);
    expect(told.indexOf("load watches m/conf")).toBeLessThan(told.indexOf("path:/conf"));
    expect(told.filter((each) => each === "load watches m/conf")).toHaveLength(1);
  });

  test("and where that can't be written down nothing is changed, and it is told again at the next try", async () => {
    let tries = 0;
    const retried = { ...conf("one"), retry: { attempts: 2, delay_seconds: 0 } };
    const changed: string[] = [];
    const run = await state.run("apply", declare([meddle, retried, load]), {
      clock: systemClock,
      beforeChanges: async (_captured, watching) => {
        if (watching.length > 0 && tries++ === 0)
          throw new OrchestratorError("STORAGE_FULL", { message: "No space." });
      },
      onBegun: ({ identity }) => void changed.push(`${identity} after ${tries}`),
    });
    expect(resultOf(run, "conf")).toMatchObject({ outcome: "changed", attempts: 2 });
    expect(changed).toContain("path:/conf after 2");
    expect(changed).not.toContain("path:/conf after 1");
  });
});

test("whatever fails or is cancelled on the way, an apply that succeeds leaves the daemon with what stands", async () => {
  const step = fc.record({
    content: fc.constantFrom("a", "b", "c"),
    isBroken: fc.boolean(),
    cancelAfter: fc.option(fc.integer({ min: 0, max: 2 }), { nil: null }),
    watches: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const each = new Daemon();
      let isPending = false;
      for (const { content, isBroken, cancelAfter, watches } of steps) {
        each.isBroken = isBroken;
        const desired = declare([conf(content), ...(watches ? [load] : [])]);
        const plan = await each.state.run("plan", desired);
        const stop = new AbortController();
        let left = cancelAfter;
        if (left === 0) stop.abort(new OrchestratorError("CANCELLED"));
        const loads = each.loads;
        const before = each.state.host.files.stat("/conf") && each.state.read("/conf");
        const run = await each.state.run("apply", desired, {
          signal: stop.signal,
          onResult: () =>
            void (left !== null && --left === 0 && stop.abort(new OrchestratorError("CANCELLED"))),
        });
        const isChanged = before !== (each.state.host.files.stat("/conf") && each.state.read("/conf"));
        isPending = watches && (isPending || isChanged);
        if (each.loads > loads) isPending = false;
        if (run.status !== "succeeded") continue;
        expect(told(run)).toEqual(foretold(plan, run));
        expect(isPending).toBe(false);
        // Never more often than a plan says.
        expect(each.loads - loads).toBe(
          plan.results.filter(({ action, outcome }) => action === "run" && outcome === "would_change").length,
        );
        expect(each.state.owed).toEqual([]);
      }
    }),
    { numRuns: 300 },
  );
});
