/**
 * The restart of the service that the agent itself runs in comes last, in a plan as in an apply, and is left to the caller; its stop
 * is refused.
 */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import type { HostCommand } from "../../lib/host/host.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import type { StateRunResult } from "../../lib/state/run/engine.ts";
import { ServiceMachine } from "../support/machine/services.ts";
import { foretold, told } from "../support/plan-and-apply.ts";
import { declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const inits = ["systemd", "sysvinit", "openrc"] as const;
const operationId = "01890000-0000-7000-8000-000000000001";

const conf = (content: string, more: JsonObject = {}): JsonObject => {
  return { id: "conf", type: "file", path: "/work/conf", content, ...more };
};
const agent = { id: "agent", type: "service", name: "agent", running: true, restart_on: ["conf"] };
const after = { id: "after", type: "file", path: "/work/after", content: "x", requires: ["agent"] };
const last = { id: "last", type: "file", path: "/work/last", content: "x" };

/** A machine with the agent as one of its services, which has read its configuration. */
async function begin(
  init: (typeof inits)[number] = "systemd",
  first: JsonObject[] = [conf("1"), agent],
): Promise<{ machine: ServiceMachine; state: StateFixture }> {
  const machine = new ServiceMachine(init);
  machine.add("agent", { running: true, enabled: true });
  machine.add("web", { running: true });
  machine.enter("agent");
  const state = new StateFixture(machine.host);
  // By hand: nothing owes a restart for what was there before.
  const { lastAct } = await state.run("apply", declare(first), { operationId });
  if (lastAct) state.owed = [...lastAct.owedAfter];
  machine.commands.length = 0;
  return { machine, state };
}

const resultOf = ({ results }: StateRunResult, id: string): ResourceResult | undefined =>
  results.find(({ resource_id }) => resource_id === id);

describe.each(inits)("the restart of the agent's own service, with %s", (init) => {
  test("is the last act, in the plan too, and is left to the caller", async () => {
    const { machine, state } = await begin(init);
    const desired = declare([conf("2"), agent, after, last]);
    const plan = await state.run("plan", desired);
    const order = ["conf", "after", "last", "agent"];
    expect(plan.results.map(({ resource_id }) => resource_id)).toEqual(order);
    expect(plan.results.at(-1)).toMatchObject({
      outcome: "would_change",
      action: "restart",
      caused_by: ["conf"],
      message: "It restarts the agent itself, when all else is done.",
    });
    expect(plan.lastAct).toBeUndefined();

    const heard: string[] = [];
    const onResult = ({ resource_id }: ResourceResult): void => void heard.push(resource_id);
    const apply = await state.run("apply", desired, { operationId, onResult });
    expect(apply.status).toBe("succeeded");
    expect(told(apply)).toEqual(foretold(plan, apply));
    // Nobody is told of it as long as it is not done, and it stays owed.
    expect(heard).toEqual(["conf", "after", "last"]);
    expect(machine.commands).toEqual([]);
    expect(apply.owed).toMatchObject([{ resource_id: "agent", trigger: "restart", causes: ["m/conf"] }]);
    expect(apply.lastAct).toMatchObject({ resource: { resource_id: "agent" }, owedAfter: [] });
    expect(apply.lastAct?.result).toBe(apply.results.at(-1));
    expect(apply.lastAct?.failedFor(new Error("x"))).toMatchObject({
      resource_id: "agent",
      outcome: "failed",
      action: "restart",
      caused_by: ["conf"],
    });

    // What nobody did is found, planned and done by the next.
    const check = await state.run("check", desired);
    expect(resultOf(check, "agent")).toMatchObject({ outcome: "would_change", owed_since: operationId });
    // It restarts nothing, now or later, and tells each resource in its place.
    expect(resultOf(check, "agent")).not.toHaveProperty("message");
    expect(check.results.map(({ resource_id }) => resource_id)).toEqual(["conf", "agent", "after", "last"]);
    const { lastAct } = await state.run("apply", desired);
    const still = { action: "restart", caused_by: ["conf"], owed_since: operationId };
    expect([lastAct?.result, lastAct?.failedFor(new Error("x"))]).toMatchObject([
      { ...still, outcome: "changed" },
      { ...still, outcome: "failed" },
    ]);
  });

  test("is ordered without waiting for it", async () => {
    const { machine, state } = await begin(init);
    const { lastAct } = await state.run("apply", declare([conf("2"), agent]));
    const { ending, schema } = (await import("../../lib/state/resources/service.ts")).serviceResourceType;
    const { signal } = new AbortController();
    const spec = schema.parse(lastAct?.resource.spec);
    expect(await ending?.ownRun(spec, machine.host, signal)).toBe(lastAct?.ownRun);
    const programs: (readonly string[])[] = [];
    const run = machine.host.run.bind(machine.host);
    machine.host.run = (command, stop) => (programs.push(command.argv), run(command, stop));
    await ending?.order(spec, machine.host, signal);
    expect(machine.commands).toEqual(["restart agent"]);
    expect(programs.at(-1)).toEqual(
      init === "systemd"
        ? ["systemctl", "restart", "--no-block", "--", "agent.service"]
        : expect.arrayContaining(["/bin/sh", 'nohup "$@" </dev/null >/dev/null 2>&1 &', "agent", "restart"]),
    );
    machine.enter("agent");
    const now = await ending?.ownRun(spec, machine.host, signal);
    expect(typeof now).toBe("string");
    expect(now).not.toBe(lastAct?.ownRun);
  });

  test("is not that of another service, nor a reload", async () => {
    const { machine, state } = await begin(init);
    const web = { ...agent, id: "web", name: "web" };
    const reload = { ...agent, restart_on: [], reload_on: ["conf"] };
    const apply = await state.run("apply", declare([conf("2"), web, reload, last]));
    expect(outcomes(apply)).toEqual(["conf changed", "web changed", "agent changed", "last changed"]);
    expect(apply.lastAct).toBeUndefined();
    expect(machine.commands).toEqual(["restart web", "reload agent"]);
  });

  test("is not asked for where nothing changed", async () => {
    const { machine, state } = await begin(init);
    const desired = declare([conf("1"), agent, last]);
    const plan = await state.run("plan", desired);
    const apply = await state.run("apply", desired);
    expect(outcomes(apply)).toEqual(["conf unchanged", "agent unchanged", "last changed"]);
    expect(told(apply)).toEqual(foretold(plan, apply));
    expect([apply.lastAct, apply.owed, machine.commands]).toEqual([undefined, [], []]);
  });

  test("is no stop: that is refused, in the plan too, and nothing else is", async () => {
    const declared = { id: "agent", type: "service", name: "agent", running: true, enabled: true };
    const { machine, state } = await begin(init, [declared]);
    const stop = declare([
      { id: "agent", type: "service", name: "agent", running: false, enabled: false },
      last,
    ]);
    const failed = {
      outcome: "failed",
      code: "OWN_SERVICE",
      message: 'The agent itself runs in "agent": it is not stopped, since nobody would start it again.',
    };
    const plan = await state.run("plan", stop);
    const apply = await state.run("apply", stop);
    for (const { results } of [plan, apply]) expect(results[0]).toMatchObject(failed);
    expect(machine.commands).toEqual([]);
    expect(machine.services.get("agent")).toMatchObject({ running: true, enabled: true });
    const disable = declare([{ ...declared, enabled: false }]);
    expect((await state.run("apply", disable)).status).toBe("succeeded");
    expect(machine.commands).toEqual(["disable agent"]);
  });

  test("does not come by the removal of what started it, either", async () => {
    const { machine, state } = await begin(init, []);
    machine.services.get("agent")!.running = false;
    machine.own.cgroups = [];
    const start = declare([{ id: "agent", type: "service", name: "agent", running: true }]);
    await state.run("apply", start);
    machine.enter("agent");
    const removal = await state.run("apply", []);
    expect(removal.results).toMatchObject([{ outcome: "failed", action: "remove", code: "OWN_SERVICE" }]);
    expect(machine.services.get("agent")?.running).toBe(true);
  });
});

describe("the agent's own service", () => {
  const ownRunOf = async (unit: { group: string; cgroups: string[] }): Promise<string | null | undefined> => {
    const { machine } = await begin();
    const { ending } = (await import("../../lib/state/resources/service.ts")).serviceResourceType;
    machine.own.cgroups = unit.cgroups;
    machine.host.run = async () => ({
      exitCode: 0,
      signal: null,
      timedOut: false,
      stdout: `ControlGroup=${unit.group}\nInvocationID=abc\nActiveEnterTimestampMonotonic=5\n`,
      stderr: "",
      truncated: { stdout: false, stderr: false },
    });
    return ending?.ownRun({ name: "x" }, machine.host, new AbortController().signal);
  };

  test.each([
    ["its own group", "/system.slice/a.service", ["/system.slice/a.service"], "abc"],
    ["a group below it", "/system.slice/a.service", ["/system.slice/a.service/b/c"], "abc"],
    [
      "an instance",
      "/system.slice/system-a.slice/a@1.service",
      ["/system.slice/system-a.slice/a@1.service"],
      "abc",
    ],
    ["another instance", "/system.slice/a@1.service", ["/system.slice/a@10.service"], null],
    ["the slice that it is in", "/system.slice", ["/system.slice/a.service"], "abc"],
    ["one of several groups", "/system.slice/a.service", ["/other", "/system.slice/a.service"], "abc"],
    ["a service that does not run", "", ["/system.slice/a.service"], null],
    ["no group at all", "/system.slice/a.service", [], null],
  ])("is known by its control group: %s", async (_name, group, cgroups, run) => {
    expect(await ownRunOf({ group, cgroups })).toBe(run);
  });

  test("is not stopped where the plan has changed its unit before, either", async () => {
    const { machine, state } = await begin("systemd", []);
    const unit = {
      id: "unit",
      type: "file",
      path: "/etc/systemd/system/agent.service",
      content: "[Service]\n",
    };
    const stop = { id: "agent", type: "service", name: "agent.service", running: false, requires: ["unit"] };
    const plan = await state.run("plan", declare([unit, stop]));
    const apply = await state.run("apply", declare([unit, stop]));
    expect(told(apply)).toEqual(foretold(plan, apply));
    expect(resultOf(apply, "agent")).toMatchObject({ outcome: "failed", code: "OWN_SERVICE" });
    expect(machine.commands).toEqual([]);
  });

  test("makes its other changes before, and fails for them without a restart", async () => {
    const { machine, state } = await begin();
    machine.services.get("agent")!.enabled = false;
    const enabled = { ...agent, enabled: true };
    const apply = await state.run("apply", declare([conf("2"), enabled, last]));
    expect(machine.commands).toEqual(["enable agent"]);
    expect(apply.lastAct?.result).toMatchObject({ action: "restart", changes: [{ property: "enabled" }] });
    Object.assign(machine.services.get("agent")!, { enabled: false, masked: true });
    const failed = await state.run("apply", declare([conf("3"), enabled, last]));
    expect(outcomes(failed)).toEqual(["conf changed", "last unchanged", "agent failed"]);
    expect([failed.lastAct, failed.status]).toEqual([undefined, "partial"]);
    expect(failed.owed).toHaveLength(1);
  });

  test("waits for what comes behind it in its module: a failure there keeps it back", async () => {
    const { machine, state } = await begin();
    const broken = { id: "broken", type: "file", path: "/none/x", content: "x" };
    const desired = declare([conf("2"), agent, broken]);
    const plan = await state.run("plan", desired);
    const apply = await state.run("apply", desired);
    expect(told(apply)).toEqual(foretold(plan, apply));
    expect(outcomes(apply)).toEqual(["conf changed", "broken failed", "agent skipped"]);
    expect(apply.lastAct).toBeUndefined();
    expect(apply.owed).toHaveLength(1);
    // Of another module it keeps nothing back.
    const other = [...declare([conf("3"), agent]), ...declare([broken], "other")];
    const partial = await state.run("apply", other);
    expect([partial.status, partial.lastAct?.resource.resource_id]).toEqual(["partial", "agent"]);
    expect(machine.commands).toEqual([]);
  });

  test("is not restarted by an apply that was cancelled before", async () => {
    const { state } = await begin();
    const stop = new AbortController();
    const onResult = ({ resource_id }: ResourceResult): void => void (resource_id === "last" && stop.abort());
    const apply = await state.run("apply", declare([conf("2"), agent, last]), {
      signal: stop.signal,
      onResult,
    });
    expect(outcomes(apply)).toEqual(["conf changed", "last changed", "agent skipped"]);
    expect([apply.status, apply.lastAct, apply.owed.length]).toEqual(["cancelled", undefined, 1]);
  });

  test("is followed with the next apply by what watches it", async () => {
    const { machine, state } = await begin();
    const web = { ...agent, id: "web", name: "web", restart_on: ["agent"] };
    const desired = declare([conf("2"), agent, web]);
    const plan = await state.run("plan", desired);
    const apply = await state.run("apply", desired, { operationId });
    expect(outcomes(apply)).toEqual(["conf changed", "web unchanged", "agent changed"]);
    expect(told(apply)).toEqual(foretold(plan, apply));
    expect(apply.lastAct?.owedAfter).toMatchObject([{ resource_id: "web", causes: ["m/agent"] }]);
    state.owed = [...(apply.lastAct?.owedAfter ?? [])];
    expect(outcomes(await state.run("apply", desired))).toEqual([
      "conf unchanged",
      "agent unchanged",
      "web changed",
    ]);
    expect(machine.commands).toEqual(["restart web"]);
  });

  test("is restarted once where two modules ask for it, and by one name at a time", async () => {
    const { machine, state } = await begin();
    machine.services.get("agent")!.alias = "alias";
    const twice = [...declare([conf("2"), agent]), ...declare([agent, conf("2")], "two")];
    const plan = await state.run("plan", twice);
    const apply = await state.run("apply", twice);
    expect(told(apply)).toEqual(foretold(plan, apply));
    expect(outcomes(apply)).toEqual(["conf changed", "conf changed", "agent changed", "agent changed"]);
    expect(apply.lastAct?.owedAfter).toEqual([]);
    state.owed = [];
    const alias = { ...agent, id: "alias", name: "alias" };
    const both = declare([conf("3"), alias, agent]);
    const named = await state.run("apply", both);
    expect(outcomes(named)).toEqual(["conf changed", "alias changed", "agent skipped"]);
    expect(named.results.at(-1)).toMatchObject({
      message: "It waits for the next apply: m/alias restarts the agent in this one.",
    });
    expect(named.lastAct?.owedAfter).toMatchObject([{ resource_id: "agent" }]);
  });

  test("stands in every apply where its plan has it", async () => {
    const content = fc.constantFrom("1", "2", "3");
    const file = fc.record({ at: fc.nat({ max: 2 }), content, broken: fc.boolean() });
    const draft = fc.record({
      files: fc.array(file, { maxLength: 4 }),
      place: fc.nat({ max: 4 }),
      content,
      cancelled: fc.boolean(),
      modules: fc.subarray(["one", "two"], { minLength: 1 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(draft, { minLength: 1, maxLength: 4 }), async (drafts) => {
        const { state } = await begin();
        let ordered = 0;
        for (const { files, place, content: text, modules } of drafts) {
          const desired = modules.flatMap((module): ResolvedResource[] => {
            const others = new Map(
              files.map(({ at, broken, ...rest }) => {
                const path = broken ? `/none/${module}${at}` : `/work/${module}${at}`;
                return [at, { id: `f${at}`, type: "file", path, ...rest }] as const;
              }),
            );
            const all: JsonObject[] = [...others.values()];
            all.splice(place, 0, conf(text), agent);
            return declare(all, module);
          });
          const plan = await state.run("plan", desired);
          const apply = await state.run("apply", desired);
          expect(told(apply)).toEqual(foretold(plan, apply));
          const restart = apply.results.findIndex((each) => each === apply.lastAct?.result);
          const isBehind = ({ resource_id }: ResourceResult): boolean => resource_id === "agent";
          if (apply.lastAct) expect(apply.results.slice(restart).every(isBehind)).toBe(true);
          if (apply.lastAct && (ordered += 1)) state.owed = [...apply.lastAct.owedAfter];
        }
        return ordered >= 0;
      }),
      { numRuns: 60, seed: 7 },
    );
  });

  test("is not tried in the middle where nobody can tell whose service it is, and stays owed", async () => {
    const { machine, state } = await begin();
    const run = machine.host.run.bind(machine.host);
    const refuse = ({ argv }: HostCommand): boolean => argv.some((word) => word.includes("ControlGroup"));
    machine.host.run = async (command, signal) => {
      if (refuse(command)) throw new OrchestratorError("HOST_ERROR", { message: "No bus." });
      return run(command, signal);
    };
    const desired = declare([conf("2"), { ...agent, on_failure: "continue" }, last]);
    const plan = await state.run("plan", desired);
    const apply = await state.run("apply", desired);
    expect(outcomes(plan)).toEqual(["conf would_change", "agent failed", "last would_change"]);
    expect(outcomes(apply)).toEqual(["conf changed", "agent failed", "last changed"]);
    expect(resultOf(apply, "agent")).toMatchObject({
      action: "restart",
      code: "HOST_ERROR",
      message: "No bus.",
      caused_by: ["conf"],
    });
    expect(machine.commands).toEqual([]);
    expect(apply.owed).toMatchObject([{ resource_id: "agent", trigger: "restart" }]);
    machine.host.run = run;
    expect((await state.run("apply", desired)).lastAct).toBeDefined();
  });

  test("is only foreseen by the plan that a limit asks for", async () => {
    const { state } = await begin();
    const seen: string[] = [];
    const confirm = (results: readonly ResourceResult[]): void =>
      void seen.push(...results.map(({ resource_id }) => resource_id));
    const apply = await state.run("apply", declare([conf("2"), agent, last]), { confirm });
    expect(seen).toEqual(["conf", "last", "agent"]);
    expect(apply.lastAct).toBeDefined();
    expect(resultOf(apply, "agent")?.outcome).toBe("changed");
  });
});
