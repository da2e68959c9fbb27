/** Commands on a fleet, with agents that really run them. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { systemCaller, type RunDetail } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { newFolders, startAgent, startApprovedAgent, type TestAgent } from "../support/fleet.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

type Input = Parameters<TestOrchestrator["orchestrator"]["runs"]["start"]>[1];

let test: TestOrchestrator;
let agents: TestAgent[];

beforeEach(async () => {
  test = await createTestOrchestrator();
  agents = [];
  for (const role of ["web", "web", "db"]) {
    const agent = await startAgent(test);
    const { nodeId: node_id } = agent;
    const name = `${role}${agents.length}`;
    await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved", name });
    await test.orchestrator.agents.tags.replace(systemCaller, { node_id, tags: { role } });
    agents.push(agent);
  }
  return async () => {
    for (const agent of agents) await agent.agent.stop({ now: true });
    await test.orchestrator.stop();
  };
});

const start = (input: Input): Promise<RunDetail> => test.orchestrator.runs.start(systemCaller, input);
const namesOf = (run: RunDetail): string[][] =>
  run.groups.map((group) => group.agents.map(({ name }) => name));
const text = (run: RunDetail, at = 0): string => run.groups[at]!.output.map((part) => part.text).join("");

describe("a run", () => {
  it("runs a command once on each agent, and tells those together that ended in the same way", async () => {
    const once = join(temporaryFolder(), "once");
    const script = `echo ran >> ${once}; echo same; test "$WHO" = me || exit 3`;
    const run = await start({ selector: "*", script, environment: { WHO: "me" } });
    expect(run).toMatchObject({ kind: "run", status: "succeeded", matched: 3, counts: { succeeded: 3 } });
    expect(run.groups).toMatchObject([{ count: 3, status: "succeeded", exit_code: 0 }]);
    expect(run.groups[0]!.output).toEqual([{ stream: "stdout", text: "same\n", truncated: false }]);
    expect(readFileSync(once, "utf8")).toBe("ran\n".repeat(3));
    const { items } = await test.orchestrator.operations.list(systemCaller, { kind: "run" });
    expect(items).toHaveLength(3);
    for (const item of items) expect(item).toMatchObject({ command: script, exit_code: 0, modules: [] });
  });

  it("tells those apart that printed or exited differently", async () => {
    const [a, b, c] = agents.map(({ nodeId }) => nodeId);
    const folder = temporaryFolder();
    // The first to come makes the folder: it prints and exits otherwise than the others.
    const run = await start({
      node_ids: [a!, b!, c!],
      script: `if mkdir ${folder}/first 2>/dev/null; then echo first >&2; exit 7; fi; echo others`,
      rollout: { max_failures: 3 },
    });
    expect(run.status).toBe("partial");
    expect(
      run.groups.map(({ count, status, exit_code, error }) => [count, status, exit_code, error?.code]),
    ).toEqual([
      [2, "succeeded", 0, undefined],
      [1, "failed", 7, "COMMAND_FAILED"],
    ]);
    expect(run.groups[1]!.output).toEqual([{ stream: "stderr", text: "first\n", truncated: false }]);
  });

  it("goes to the agents that a selector matches, and a program gets its words as they are", async () => {
    const run = await start({ selector: "role=web", command: ["printf", "[%s]", "a b", "$HOME", "'", ""] });
    expect(namesOf(run)).toEqual([["web0", "web1"]]);
    expect(text(run)).toBe("[a b][$HOME]['][]");
    expect(run.command).toBe(`printf '[%s]' 'a b' '$HOME' ''\\''' ''`);
  });

  it("a line of text is for the shell", async () => {
    expect(text(await start({ selector: "role=db", command: "echo $((6 * 7))" }))).toBe("42\n");
  });

  it("is kept once, however many agents it goes to", async () => {
    const append = vi.spyOn(test.storage, "appendBlob");
    await start({ selector: "*", command: "echo shared" });
    const kept = append.mock.calls.filter(([id]) => id.startsWith("snapshot-"));
    append.mockRestore();
    expect(kept).toHaveLength(1);
  });

  it("leaves no trace in what is applied, nor in drift", async () => {
    const { nodeId, root } = agents[0]!;
    const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";
    await test.orchestrator.modules.upload(systemCaller, { content });
    await test.orchestrator.operations.apply(systemCaller, { node_id: nodeId, modules: ["motd"] });
    const before = await test.orchestrator.operations.believed(systemCaller, { node_id: nodeId });
    await start({ node_ids: [nodeId], command: "echo hello" });
    expect(await test.orchestrator.operations.believed(systemCaller, { node_id: nodeId })).toEqual(before);
    expect(readFileSync(join(root, "etc/motd"), "utf8")).toBe("hi");
    expect(await test.orchestrator.drift.check(systemCaller, { node_id: nodeId })).toMatchObject({
      status: "in_sync",
    });
  });

  it("goes in batches and stops after a canary that failed", async () => {
    const run = await start({ selector: "*", command: "exit 1", rollout: { canary: 1, order: "name" } });
    expect(run).toMatchObject({ status: "failed", counts: { failed: 1, cancelled: 2 } });
    expect(namesOf(run)).toEqual([["db2"]]);
  });

  it("is ended when its time is over, with the children that it left behind", async () => {
    const folder = temporaryFolder();
    const script = `(sleep 60; touch ${folder}/late) & echo $! > ${folder}/child; sleep 60`;
    const run = await start({ node_ids: [agents[0]!.nodeId], script, timeout_seconds: 3 });
    expect(run.groups).toMatchObject([{ status: "timed_out", error: { code: "RESOURCE_TIMEOUT" } }]);
    const child = Number(readFileSync(join(folder, "child"), "utf8"));
    await vi.waitFor(() => expect(() => process.kill(child, 0)).toThrow("ESRCH"), 30_000);
  });

  it("does not wait for a child that goes on in the background", async () => {
    const folder = temporaryFolder();
    const script = `(trap '' TERM; sleep 300) >/dev/null 2>&1 & echo $! > ${folder}/child`;
    const run = await start({ node_ids: [agents[0]!.nodeId], script });
    expect(run.groups).toMatchObject([{ status: "succeeded" }]);
    // It goes on: it was waited for by nobody.
    const child = Number(readFileSync(join(folder, "child"), "utf8"));
    expect(process.kill(child, 0)).toBe(true);
    process.kill(child, "SIGKILL");
  });

  it.each([
    [16_384, false],
    [16_385, true],
  ])("that prints %i characters shows that something is left out: %s", async (length, truncated) => {
    const script = `head -c ${length} /dev/zero | tr '\\0' x`;
    const run = await start({ node_ids: [agents[0]!.nodeId], script });
    expect(run.groups[0]!.output).toEqual([{ stream: "stdout", text: "x".repeat(16_384), truncated }]);
  });

  it("keeps the first 256 KiB of what is printed without end, and shows 16 KiB of them", async () => {
    const run = await start({
      node_ids: [agents[0]!.nodeId],
      script: "head -c 20000000 /dev/zero | tr '\\0' x",
    });
    expect(run.groups[0]).toMatchObject({ status: "succeeded", exit_code: 0 });
    expect(run.groups[0]!.output).toMatchObject([{ truncated: true }]);
    expect(text(run)).toBe("x".repeat(16_384));
    const { operation_id } = run.groups[0]!.agents[0]!;
    const all = { node_id: agents[0]!.nodeId, operation_id: operation_id! };
    const { output } = await test.orchestrator.operations.output(systemCaller, all);
    expect(output[0]!.text).toHaveLength(262_144);
  });

  it("is cancelled where it runs, and begins nowhere else", async () => {
    const folder = temporaryFolder();
    const script = `echo begun >> ${folder}/begun; sleep 60`;
    const run = await start({ selector: "*", script, rollout: { batch: 2 }, wait_seconds: 0 });
    await vi.waitFor(
      () => expect(readFileSync(join(folder, "begun"), "utf8")).toBe("begun\n".repeat(2)),
      30_000,
    );
    await test.orchestrator.runs.cancel(systemCaller, { rollout_id: run.rollout_id });
    const ended = await vi.waitFor(async () => {
      const now = await test.orchestrator.runs.get(systemCaller, { rollout_id: run.rollout_id });
      expect(now.status).toBe("cancelled");
      return now;
    }, 30_000);
    expect(ended.counts).toMatchObject({ cancelled: 3 });
    expect(readFileSync(join(folder, "begun"), "utf8")).toBe("begun\n".repeat(2));
    const again = test.orchestrator.runs.cancel(systemCaller, { rollout_id: run.rollout_id });
    await expect(again).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  });

  it("is ended where it still runs, also once it is stopping", async () => {
    const folder = temporaryFolder();
    const script = `echo begun > ${folder}/begun; sleep 60`;
    const node_ids = [agents[0]!.nodeId];
    const { rollout_id } = await start({ node_ids, script, wait_seconds: 0 });
    const standing = (): Promise<RunDetail> => test.orchestrator.runs.get(systemCaller, { rollout_id });
    await vi.waitFor(() => expect(existsSync(join(folder, "begun"))).toBe(true), 30_000);
    // As a crash leaves it between the rollout and its operations: nothing further begins, and what runs was told nothing.
    await test.orchestrator.rollouts.cancel(systemCaller, { rollout_id });
    expect(await standing()).toMatchObject({ status: "stopping" });
    await test.orchestrator.runs.cancel(systemCaller, { rollout_id });
    await vi.waitFor(async () => {
      expect(await standing()).toMatchObject({ status: "cancelled", counts: { cancelled: 1 } });
    }, 30_000);
    const again = test.orchestrator.runs.cancel(systemCaller, { rollout_id });
    await expect(again).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  });

  it("is refused by an agent whose owner lets nobody run commands, and not begun there", async () => {
    const folders = newFolders();
    const closed = await startApprovedAgent(test, { ...folders, commands: false });
    agents.push(closed);
    const file = join(temporaryFolder(), "ran");
    const run = await start({
      node_ids: [closed.nodeId, agents[0]!.nodeId],
      command: ["touch", file],
      rollout: { max_failures: 1 },
    });
    const byStatus = Object.fromEntries(run.groups.map(({ status, error }) => [status, error?.code]));
    expect(byStatus).toEqual({ succeeded: undefined, failed: "COMMANDS_REFUSED" });
  });

  it("waits for an agent that is away where it is told to, and fails otherwise", async () => {
    const away = agents[2]!;
    await away.agent.stop();
    const failed = await start({ selector: "*", command: "true", rollout: { max_failures: 3 } });
    expect(failed.groups).toMatchObject([
      { count: 2, status: "succeeded" },
      { count: 1, error: { code: "AGENT_OFFLINE" } },
    ]);
    const queued = await start({
      selector: "*",
      command: "true",
      rollout: { when_offline: "queue" },
      wait_seconds: 0,
    });
    const { root, stateDir } = away;
    agents[2] = await startAgent(test, { root, stateDir });
    await vi.waitFor(async () => {
      const now = await test.orchestrator.runs.get(systemCaller, { rollout_id: queued.rollout_id });
      expect(now).toMatchObject({ status: "succeeded", counts: { succeeded: 3 } });
    }, 30_000);
  });

  it("is told with its text, and never with its environment", async () => {
    const environment = { TOKEN: "s3cret-value" };
    const run = await start({ selector: "role=db", command: "true", environment });
    const events = test.events.filter(({ event_type }) => /^(rollout|operation)\./.test(event_type));
    expect(events.map(({ event_type }) => event_type)).toEqual([
      "rollout.started",
      "operation.requested",
      "operation.finished",
      "rollout.finished",
    ]);
    expect(events[0]).toMatchObject({
      metadata: { kind: "run", command: "true", matched: 1 },
      target: { name: "true" },
    });
    expect(events[1]).toMatchObject({ metadata: { command: "true" } });
    const { items } = await test.orchestrator.audit.list(systemCaller, {});
    expect(JSON.stringify([events, items, run])).not.toContain("s3cret-value");
  });
});

describe("what is no run", () => {
  const nobody = { selector: "role=mail" };
  const variables = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`V${at}`, ""]));
  /** 256 KiB with the program before them. */
  const words = [65_536, 65_536, 65_536, 65_532].map((length) => "x".repeat(length));
  const refused: [name: string, input: Input, code: string, path?: string][] = [
    ["nothing to run", { selector: "*" }, "VALIDATION_FAILED", "command"],
    ["two things to run", { selector: "*", command: "true", script: "true" }, "VALIDATION_FAILED", "script"],
    ["nowhere to run", { command: "true" }, "VALIDATION_FAILED", "selector"],
    [
      "two ways to say where",
      { selector: "*", node_ids: ["0".repeat(32)], command: "true" },
      "VALIDATION_FAILED",
      "node_ids",
    ],
    ["no agents", { node_ids: [], command: "true" }, "VALIDATION_FAILED", "node_ids"],
    ["an empty command", { selector: "*", command: "" }, "VALIDATION_FAILED", "command"],
    ["a command without words", { selector: "*", command: [] }, "VALIDATION_FAILED", "command"],
    ["a command without a program", { selector: "*", command: ["", "a"] }, "VALIDATION_FAILED", "command"],
    ["a NUL", { selector: "*", command: "echo a\0b" }, "VALIDATION_FAILED", "command"],
    [
      "a NUL in a variable",
      { selector: "*", command: "true", environment: { A: "\0" } },
      "VALIDATION_FAILED",
      "environment",
    ],
    ["a script of 1 MiB", { selector: "*", script: "#".repeat(1_048_576) }, "VALIDATION_FAILED", "script"],
    [
      "an interpreter of nothing",
      { selector: "*", command: "true", interpreter: ["perl"] },
      "VALIDATION_FAILED",
      "interpreter",
    ],
    [
      "variables of more than 256 KiB",
      { selector: "*", command: "true", environment: { A: "x".repeat(131_072), B: "x".repeat(131_072) } },
      "VALIDATION_FAILED",
      "environment",
    ],
    [
      "a name that is no variable",
      { selector: "*", command: "true", environment: { "A=B": "" } },
      "VALIDATION_FAILED",
      "environment",
    ],
    [
      "a folder that is not absolute",
      { selector: "*", command: "true", cwd: "etc" },
      "VALIDATION_FAILED",
      "cwd",
    ],
    [
      "time without end",
      { selector: "*", command: "true", timeout_seconds: 86_401 },
      "VALIDATION_FAILED",
      "timeout_seconds",
    ],
    [
      "more than 100 variables",
      { selector: "*", command: "true", environment: variables(101) },
      "VALIDATION_FAILED",
      "environment",
    ],
    ["100 variables for nobody", { ...nobody, command: "true", environment: variables(100) }, "NO_MATCH"],
    [
      "variables of 256 KiB for nobody",
      {
        ...nobody,
        command: "true",
        environment: { A: "x".repeat(131_071), B: "x".repeat(131_071) },
      },
      "NO_MATCH",
    ],
    [
      "words of more than 256 KiB",
      { selector: "*", command: ["true", ...words, "x"] },
      "VALIDATION_FAILED",
      "command",
    ],
    ["words of 256 KiB for nobody", { ...nobody, command: ["true", ...words] }, "NO_MATCH"],
    ["a selector that is none", { selector: "role=", command: "true" }, "SELECTOR_INVALID"],
    ["a selector that matches nobody", { selector: "role=mail", command: "true" }, "NO_MATCH"],
    ["an agent that there is not", { node_ids: ["0".repeat(32)], command: "true" }, "NOT_FOUND"],
  ];

  it.each(refused)("%s is refused, and nothing is begun", async (_, input, code, path) => {
    const events = test.events.length;
    const error = await start(input).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code });
    if (path !== undefined)
      expect(error).toMatchObject({ issues: [{ path: expect.arrayContaining([path]) }] });
    expect(test.events.slice(events)).toEqual([]);
  });

  it("an agent that is named twice runs it once", async () => {
    const { nodeId } = agents[0]!;
    expect(await start({ node_ids: [nodeId, nodeId], command: "true" })).toMatchObject({ matched: 1 });
  });

  it("a rollout of an assignment is not found as a run", async () => {
    const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";
    await test.orchestrator.modules.upload(systemCaller, { content });
    await test.orchestrator.assignments.create(systemCaller, {
      name: "all",
      selector: "*",
      modules: ["motd"],
    });
    const { rollout_id } = await test.orchestrator.rollouts.apply(systemCaller, { name: "all" });
    for (const verb of ["get", "cancel"] as const)
      await expect(test.orchestrator.runs[verb](systemCaller, { rollout_id })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
  });
});
