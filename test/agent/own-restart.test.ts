/** An operation that restarts the agent's own service: what is noted before, and what the next start makes of it. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import type { OperationResult } from "../../lib/agent/operation-journal.ts";
import type { EngineCommand } from "../../lib/agent/run-context.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { apply, plan, resource, uuid } from "../support/agent-commands.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { type Life, OwnRestartScene } from "../support/own-restart-scene.ts";

const conf = (content: string): ReturnType<typeof resource> =>
  resource({ id: "conf", type: "file", path: "/work/conf", content });
const service = resource({
  id: "agent",
  type: "service",
  name: "agent",
  running: true,
  restart_on: ["conf"],
});
const later = resource({ id: "later", type: "file", path: "/work/later", content: "x", requires: ["agent"] });
const broken = {
  ...resource({ id: "broken", type: "file", path: "/none/x", content: "x" }),
  module: "other",
};

const first = apply(1, { resources: [conf("1"), service] });
const second = apply(2, { resources: [conf("2"), service, later] });
const third = apply(3, { resources: [conf("2"), service, later] });

/** A scene whose agent runs with the first configuration. */
async function begin(
  init?: "systemd" | "sysvinit" | "openrc",
): Promise<{ scene: OwnRestartScene; life: Life }> {
  const scene = new OwnRestartScene(init);
  const life = await scene.restartedBy(await scene.live(), first);
  expect(resultIn(life, 1)).toMatchObject({ status: "succeeded" });
  life.journal.acknowledge(uuid(1));
  scene.machine.commands.length = 0;
  return { scene, life };
}

const resultIn = ({ journal }: Life, number: number): OperationResult | null =>
  journal.resultOf(uuid(number));
const restartOf = (result: OperationResult | null): OperationResult["results"][number] | undefined =>
  result?.results.find(({ resource_id }) => resource_id === "agent");
const owedIn = ({ applied }: Life): string[] =>
  applied.owed.map(({ resource_id, trigger }) => `${resource_id} ${trigger}`);

describe.each(["systemd", "sysvinit", "openrc"] as const)("with %s", (init) => {
  it("ends as it would have, after the agent came back", async () => {
    const { scene, life } = await begin(init);
    const noted: unknown[] = [];
    const ordered = deferred();
    scene.machine.acted = (verb) => {
      // All that was done is on the disk before the agent's end is asked for.
      const { resources, owed } = new AppliedSet(scene.stateDir);
      noted.push(verb, resources.map(({ resource: { resource_id } }) => resource_id).toSorted(), owed.length);
      noted.push(scene.records(2).at(-1)?.record);
      ordered.resolve();
    };
    life.runner.submit(second);
    await ordered.promise;
    await scene.clock.advance(1500);
    await life.runner.stop();
    expect(noted).toEqual(["restart agent", ["agent", "conf", "later"], 1, "restarting"]);
    expect(life.hasEnded(2)).toBe(false);

    scene.machine.enter("agent");
    await scene.clock.advance(500);
    const next = await scene.live();
    const result = resultIn(next, 2);
    expect(result).toMatchObject({ status: "succeeded", duration_ms: 2000 });
    expect(result?.error).toBeUndefined();
    expect(result?.results.map(({ resource_id, outcome }) => [resource_id, outcome])).toEqual([
      ["conf", "changed"],
      ["later", "changed"],
      ["agent", "changed"],
    ]);
    expect(restartOf(result)).toMatchObject({ action: "restart", caused_by: ["conf"] });
    expect([owedIn(next), next.journal.finished()]).toEqual([[], [uuid(2)]]);
    // What is settled is settled, also for the life after.
    expect(owedIn(await scene.live())).toEqual([]);
    const again = await next.run(third);
    expect(again.results.map(({ outcome }) => outcome)).toEqual(["unchanged", "unchanged", "unchanged"]);
    expect(scene.machine.commands).toEqual(["restart agent"]);
  });

  it("is interrupted where the agent came back without a restart, and owes it", async () => {
    const { scene, life } = await begin(init);
    const record = await cutAtOrder(scene, life);
    expect(record).toBe("restarting");
    const next = await scene.live();
    const result = resultIn(next, 2);
    expect(result).toMatchObject({
      status: "interrupted",
      error: {
        message: "The agent ended before the restart that it was about to order. The restart is still owed.",
      },
    });
    expect(result?.results.map(({ resource_id }) => resource_id)).toEqual(["conf", "later"]);
    expect(owedIn(next)).toEqual(["agent restart"]);
    const last = await scene.restartedBy(next, third);
    expect(resultIn(last, 3)).toMatchObject({ status: "succeeded" });
    expect(restartOf(resultIn(last, 3))).toMatchObject({ action: "restart", owed_since: uuid(2) });
    expect(owedIn(last)).toEqual([]);
  });
});

/** Takes the agent's process away in the moment in which it would order its restart. */
async function cutAtOrder(
  scene: OwnRestartScene,
  life: Life,
  command: EngineCommand = second,
): Promise<string | undefined> {
  const reached = deferred();
  const { host } = scene.machine;
  const run = host.run.bind(host);
  host.run = (program, signal) => {
    if (program.asks === true || !program.argv.includes("restart")) return run(program, signal);
    reached.resolve();
    return new Promise(() => {});
  };
  life.runner.submit(command);
  await reached.promise;
  host.run = run;
  return scene.records(2).at(-1)?.record;
}

describe("the end of an operation that restarts the agent", () => {
  it("is partial where it would have been", async () => {
    const { scene, life } = await begin();
    const next = await scene.restartedBy(life, apply(2, { resources: [conf("2"), service, broken] }));
    expect(resultIn(next, 2)).toMatchObject({ status: "partial" });
    expect(restartOf(resultIn(next, 2))?.outcome).toBe("changed");
    expect(owedIn(next)).toEqual([]);
  });

  it("is told in the words of systemctl where that refuses", async () => {
    const { scene, life } = await begin();
    refuse(scene, { exitCode: 1, stderr: "Failed to restart agent.service: Access denied\n" });
    const result = await life.run(second);
    expect(result.status).toBe("partial");
    expect(restartOf(result)).toMatchObject({
      outcome: "failed",
      action: "restart",
      caused_by: ["conf"],
      code: "COMMAND_FAILED",
      message: "systemctl exited with 1: Failed to restart agent.service: Access denied",
      exit_code: 1,
    });
    // It is over, whatever comes.
    scene.machine.enter("agent");
    const next = await scene.live();
    expect([resultIn(next, 2)?.status, owedIn(next)]).toEqual(["partial", ["agent restart"]]);
  });

  it("is a failure where nothing comes of the restart in a minute", async () => {
    const { scene, life } = await begin();
    refuse(scene, {});
    const running = life.run(second);
    await settleAll();
    await scene.clock.advance(59_999);
    expect(life.hasEnded(2)).toBe(false);
    await scene.clock.advance(1);
    expect(restartOf(await running)).toMatchObject({
      outcome: "failed",
      code: "NOT_CONVERGED",
      message: "It was told to restart and did not within 60 s.",
    });
    expect(owedIn(life)).toEqual(["agent restart"]);
  });

  it("is a failure, and still owed, where nobody can tell whether it came", async () => {
    const { scene, life } = await begin();
    refuse(scene, {});
    const running = life.run(second);
    await settleAll();
    scene.machine.host.run = () => Promise.reject(new Error("systemctl is gone"));
    await scene.clock.advance(60_000);
    expect(restartOf(await running)).toMatchObject({ outcome: "failed", code: "NOT_CONVERGED" });
    expect(owedIn(life)).toEqual(["agent restart"]);
  });

  it("is known to an agent that the restart left alone", async () => {
    const { scene, life } = await begin();
    const running = life.run(second);
    await settleAll();
    scene.machine.enter("agent");
    await scene.clock.advance(60_000);
    expect(await running).toMatchObject({ status: "succeeded", duration_ms: 60_000 });
    expect(owedIn(life)).toEqual([]);
    expect(new AppliedSet(scene.stateDir).owed).toEqual([]);
  });

  it("waits for the next start where the stop ends systemctl as well", async () => {
    const { scene, life } = await begin();
    const ordered = deferred();
    refuse(scene, () => (ordered.resolve(), { exitCode: null, signal: "SIGTERM" }));
    life.runner.submit(second);
    await ordered.promise;
    await settleAll();
    expect(life.hasEnded(2)).toBe(false);
    await life.runner.stop();
    expect(scene.clock.pendingTimers).toBe(0);
    restart(scene.machine);
    expect(resultIn(await scene.live(), 2)?.status).toBe("succeeded");
  });

  it("comes without a restart where the agent is told to stop just before", async () => {
    const { scene, life } = await begin();
    const replace = life.applied.replace.bind(life.applied);
    let stopped: Promise<void> | undefined;
    life.applied.replace = (...given) => (replace(...given), void (stopped ??= life.runner.stop()));
    const result = await life.run(second);
    await stopped;
    expect(result.status).toBe("interrupted");
    expect(restartOf(result)).toMatchObject({ outcome: "failed", code: "UNAVAILABLE" });
    expect([scene.machine.commands, owedIn(life)]).toEqual([[], ["agent restart"]]);
  });

  it("comes without a restart where what was applied can't be noted", async () => {
    const { scene, life } = await begin();
    rmSync(join(scene.stateDir, "applied.json"));
    // A folder in the place of the file: the file can't be replaced.
    mkdirSync(join(scene.stateDir, "applied.json"));
    const result = await life.run(second);
    expect(result).toMatchObject({ status: "partial", error: { code: "STORAGE_FAILED" } });
    expect(restartOf(result)).toMatchObject({ outcome: "failed", code: "UNAVAILABLE" });
    expect([scene.machine.commands, owedIn(life)]).toEqual([[], ["agent restart"]]);
  });

  it("comes without a restart where that can't be written down", async () => {
    const { scene, life } = await begin();
    const path = join(scene.stateDir, "operations", `${uuid(2)}.jsonl`);
    const replace = life.applied.replace.bind(life.applied);
    life.applied.replace = (...given) => {
      replace(...given);
      renameSync(path, `${path}.away`);
      mkdirSync(path);
    };
    const result = await life.run(second);
    expect(restartOf(result)).toMatchObject({ outcome: "failed", code: "STORAGE_FAILED" });
    expect([scene.machine.commands, owedIn(life)]).toEqual([[], ["agent restart"]]);
  });

  it("is not changed by a cancel that comes too late", async () => {
    const { scene, life } = await begin();
    scene.machine.acted = () => life.runner.cancel(uuid(2));
    life.runner.submit(second);
    await settleAll();
    expect(scene.machine.commands).toEqual(["restart agent"]);
    await life.runner.stop();
    scene.machine.enter("agent");
    expect(resultIn(await scene.live(), 2)?.status).toBe("succeeded");
  });

  it("lets nothing begin that waited behind it", async () => {
    const { scene, life } = await begin();
    life.runner.submit(second);
    life.runner.submit(apply(4, { resources: [conf("4"), service, later] }));
    await settleAll();
    await life.runner.stop();
    scene.machine.enter("agent");
    const next = await scene.live();
    expect([resultIn(next, 2)?.status, resultIn(next, 4)?.status]).toEqual(["succeeded", "interrupted"]);
    expect(Buffer.from(scene.machine.host.files.readFile("/work/conf")).toString()).toBe("2");
  });

  it("leaves a plan alone", async () => {
    const { scene, life } = await begin();
    const result = await life.run(plan(2, { resources: [conf("2"), service] }));
    expect(restartOf(result)).toMatchObject({ outcome: "would_change", action: "restart" });
    expect(scene.machine.commands).toEqual([]);
  });
});

describe("a start behind the record of a restart", () => {
  it.each<[name: string, change: (scene: OwnRestartScene) => void, status: string]>([
    ["another run of the service", ({ machine }) => restart(machine), "succeeded"],
    ["the same run", () => {}, "interrupted"],
    [
      "another start of the machine, with a run of the same name",
      (scene) => void (scene.boot = "second"),
      "succeeded",
    ],
    ["outside of the service", ({ machine }) => void (machine.own.cgroups = ["/user.slice"]), "interrupted"],
    ["in another service", ({ machine }) => (restart(machine), machine.enter("web")), "interrupted"],
    [
      "where systemctl fails",
      ({ machine }) => void (machine.host.run = () => Promise.reject(new Error("no bus"))),
      "interrupted",
    ],
  ])("in %s", async (_name, change, status) => {
    const { scene, life } = await begin();
    await cutAtOrder(scene, life);
    change(scene);
    const next = await scene.live();
    expect(resultIn(next, 2)?.status).toBe(status);
    expect(owedIn(next)).toEqual(status === "succeeded" ? [] : ["agent restart"]);
  });

  it("of an agent that does not know the type keeps what is owed", async () => {
    const { scene, life } = await begin();
    await cutAtOrder(scene, life);
    restart(scene.machine);
    const types = new Map([...resourceTypes].filter(([name]) => name !== "service"));
    const next = await scene.live({ types });
    expect([resultIn(next, 2)?.status, owedIn(next)]).toEqual(["interrupted", ["agent restart"]]);
  });

  it("whose line is damaged says so, and keeps what is owed", async () => {
    const { scene, life } = await begin();
    await cutAtOrder(scene, life);
    restart(scene.machine);
    const path = join(scene.stateDir, "operations", `${uuid(2)}.jsonl`);
    const text = readFileSync(path, "utf8").replace('"own_run":"', '"own_run":"x');
    rmSync(path);
    writeFileSync(path, text);
    const next = await scene.live();
    expect(resultIn(next, 2)).toMatchObject({ status: "interrupted", error: { code: "STORAGE_CORRUPT" } });
    expect(owedIn(next)).toEqual(["agent restart"]);
  });
});

function restart(machine: OwnRestartScene["machine"]): void {
  const program = { argv: ["systemctl", "restart", "--", "agent.service"] as [string, ...string[]] };
  void machine.host.run(program, new AbortController().signal);
  machine.enter("agent");
}

/** Has the next restart answered so, and not done. */
function refuse(scene: OwnRestartScene, answer: object | (() => object)): void {
  const { host } = scene.machine;
  const run = host.run.bind(host);
  const truncated = { stdout: false, stderr: false };
  const empty = { exitCode: 0, signal: null, timedOut: false, stdout: "", stderr: "", truncated };
  host.run = async (program, signal) => {
    if (!program.argv.includes("restart")) return run(program, signal);
    host.run = run;
    return { ...empty, ...(typeof answer === "function" ? (answer() as object) : answer) };
  };
}
