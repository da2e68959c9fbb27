import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { AgentOptions } from "../../lib/agent/agent-options.ts";
import { AgentProgram, createAgent } from "../../lib/agent/agent.ts";
import { systemClock } from "../../lib/clock.ts";
import type { MemoryProgram } from "../../lib/host/memory-host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { version as agentVersion } from "../../lib/version.ts";
import type { OrchestratorMessage } from "../../lib/wire/messages.ts";
import packageFile from "../../package.json" with { type: "json" };
import { resource, uuid } from "../support/agent-commands.ts";
import { listenForAgents } from "../support/agent-listener.ts";
import { deferred, settle } from "../support/deferred.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestOrchestrator } from "../support/test-orchestrator.ts";

const motd = resource({ type: "file", path: "/motd", content: "hello" });
const slow = resource({ id: "slow", type: "script", run: "wait", creates: "/done" });

describe("Agent", () => {
  it("carries out an apply, and forgets the result when it is acknowledged", async () => {
    const { orchestrator, agent, host, reconnect } = await begin();
    const id = await orchestrator.send(agent.nodeId, apply(1, [motd]));
    expect(await orchestrator.take("reply")).toEqual({ type: "reply", id });
    expect(await orchestrator.take("result")).toMatchObject({ operation_id: uuid(1), status: "succeeded" });
    expect(text(host, "/motd")).toBe("hello");
    await orchestrator.send(agent.nodeId, { type: "ack", operation_id: uuid(1) });
    await reconnect();
    await orchestrator.take("attributes", (message) => message.attributes["agent.version"] === agentVersion);
    expect(orchestrator.inbox.filter((message) => message.type === "result")).toEqual([]);
  });

  it("sends attributes when it connects, on demand, and after an apply that changed something", async () => {
    const { orchestrator, agent, stateDir } = await begin();
    expect((await orchestrator.take("attributes")).attributes).toMatchObject({
      "agent.version": agentVersion,
    });
    mkdirSync(join(stateDir, "attributes.d"));
    writeFileSync(join(stateDir, "attributes.d", "rack.json"), '{"rack":"r1"}');
    const id = await orchestrator.send(agent.nodeId, { type: "attributes.refresh" });
    expect(await orchestrator.take("reply")).toEqual({ type: "reply", id });
    expect((await orchestrator.take("attributes")).attributes).toMatchObject({ "custom.rack": "r1" });
    await orchestrator.send(agent.nodeId, apply(1, [motd]));
    await orchestrator.take("attributes");
    await orchestrator.send(agent.nodeId, apply(2, [motd]));
    await orchestrator.take("result", (result) => result.operation_id === uuid(2));
    expect(orchestrator.inbox.filter((message) => message.type === "attributes")).toEqual([]);
  });

  it("goes on without a connection, and delivers results before anything else when it is back", async () => {
    const gate = deferred();
    const { orchestrator, agent, clock, host } = await begin({
      program: (machine) => async () => {
        await gate.promise;
        return finishes(machine);
      },
    });
    await orchestrator.take("attributes");
    await orchestrator.send(agent.nodeId, apply(1, [slow]));
    await orchestrator.send(agent.nodeId, apply(2, [motd]));
    await orchestrator.take("reply");
    await orchestrator.take("reply");
    await orchestrator.transport.disconnect(agent.nodeId ?? "", "gone for now");
    await settle();
    gate.resolve();
    while (!host.files.stat("/motd")) await settle();
    await settle();
    orchestrator.heard.length = 0;
    await clock.advance(60_000);
    await orchestrator.take("attributes");
    expect(orchestrator.heard).toEqual(["result", "result", "attributes"]);
    expect((await orchestrator.take("result")).operation_id).toBe(uuid(1));
    expect((await orchestrator.take("result")).operation_id).toBe(uuid(2));
  });

  it("sends a result again after a reconnect and after a minute, until it is acknowledged", async () => {
    const { orchestrator, agent, clock, reconnect } = await begin();
    await orchestrator.send(agent.nodeId, apply(1, [motd]));
    const first = await orchestrator.take("result");
    await orchestrator.take("attributes");
    await orchestrator.take("attributes");
    orchestrator.heard.length = 0;
    await reconnect();
    expect(await orchestrator.take("result")).toEqual(first);
    await orchestrator.take("attributes");
    expect(orchestrator.heard).toEqual(["result", "attributes"]);
    await clock.advance(60_000);
    expect(await orchestrator.take("result")).toEqual(first);
    await orchestrator.send(agent.nodeId, { type: "ack", operation_id: uuid(1) });
    await clock.advance(120_000);
    expect(orchestrator.inbox.filter((message) => message.type === "result")).toEqual([]);
  });

  it("answers a second delivery with the result it has, and runs nothing", async () => {
    const { orchestrator, agent, host } = await begin();
    await orchestrator.send(agent.nodeId, apply(1, [motd]));
    const first = await orchestrator.take("result");
    host.files.removeFile("/motd");
    const id = await orchestrator.send(agent.nodeId, apply(1, [motd]));
    await orchestrator.take("reply", (reply) => reply.id === id);
    expect(await orchestrator.take("result")).toEqual(first);
    expect(host.files.stat("/motd")).toBeNull();
  });

  const refusals: [name: string, command: Parameters<TestOrchestrator["send"]>[1], code: string][] = [
    [
      "a command after its time",
      { ...apply(1, [motd]), not_after: "2029-12-31T23:59:59.000Z" },
      "COMMAND_EXPIRED",
    ],
    [
      "a refresh after its time",
      { type: "attributes.refresh", not_after: "2029-01-01T00:00:00.000Z" },
      "COMMAND_EXPIRED",
    ],
    ["to cancel what it never got", { type: "cancel", operation_id: uuid(9) }, "NOT_FOUND"],
    [
      "a terminal where its owner wants none",
      { type: "terminal.open", session_id: uuid(1), cols: 80, rows: 24, operator: "eve" },
      "TERMINALS_REFUSED",
    ],
  ];
  it.each(refusals)("refuses %s", async (_name, command, code) => {
    const { orchestrator, agent, host } = await begin();
    const id = await orchestrator.send(agent.nodeId, command);
    expect(await orchestrator.take("reply")).toMatchObject({ id, error: { code } });
    expect(host.writes).toEqual([]);
  });

  it("refuses to take everything away unless that is said", async () => {
    const { orchestrator, agent, host } = await begin();
    await orchestrator.send(agent.nodeId, apply(1, [motd]));
    await orchestrator.take("result");
    const id = await orchestrator.send(agent.nodeId, apply(2, []));
    const reply = await orchestrator.take("reply", (message) => message.id === id);
    expect(reply.error).toMatchObject({ code: "EMPTY_DESIRED_STATE", details: { applied: 1 } });
    expect(text(host, "/motd")).toBe("hello");
  });

  it("judges deadlines by the orchestrator's clock", async () => {
    const { orchestrator, agent, host } = await begin({ agentClockAheadMs: 90 * 86_400_000 });
    await orchestrator.send(agent.nodeId, apply(1, [motd]));
    expect((await orchestrator.take("reply")).error).toBeUndefined();
    await orchestrator.take("result");
    expect(text(host, "/motd")).toBe("hello");
  });

  // It once reckoned from its own wall clock: set ahead, it took every command for late until the next connection.
  it.each([90, -90])("does not mind a clock that is set by %i days while it is connected", async (days) => {
    const { orchestrator, agent, clock, host, setClock } = await begin();
    setClock(days * 86_400_000);
    await orchestrator.send(agent.nodeId, apply(1, [motd]));
    await orchestrator.take("result");
    expect(text(host, "/motd")).toBe("hello");
    const late = { ...apply(2, []), not_after: new Date(clock.now() - 1).toISOString() };
    const id = await orchestrator.send(agent.nodeId, late);
    const { error } = await orchestrator.take("reply", (reply) => reply.id === id);
    expect(error).toMatchObject({ code: "COMMAND_EXPIRED" });
  });

  it("says nothing while it is pending, and sends what it has when it is approved", async () => {
    const { orchestrator, agent } = await begin({ admission: "pending" });
    await orchestrator.happened("connected");
    expect(agent.status).toBe("pending");
    expect(orchestrator.inbox).toEqual([]);
    await orchestrator.send(agent.nodeId, { type: "status", status: "approved" });
    await orchestrator.take("attributes");
    expect(agent.status).toBe("approved");
    expect(orchestrator.events).toEqual(["connected"]);
  });

  it("refuses an orchestrator that is not the one it belongs to", async () => {
    const { agent, stateDir, clock, logger } = await begin();
    await agent.stop();
    const impostor = new TestOrchestrator(clock);
    await impostor.start();
    const again = start({ stateDir, clock, logger, dial: async () => impostor.transport.connect() });
    await again.start();
    await clock.advance(0);
    expect(again.status).toBe("offline");
    expect(impostor.events).not.toContain("connected");
    expect(logger.lines.at(-1)?.fields).toMatchObject({ code: "ORCHESTRATOR_KEY_CHANGED" });
  });

  it("is the same agent after a restart", async () => {
    const { agent, orchestrator, stateDir, clock } = await begin();
    await agent.stop();
    await agent.stop();
    await agent.done;
    const again = start({ stateDir, clock, dial: async () => orchestrator.transport.connect() });
    await again.start();
    await orchestrator.happened("connected", 2);
    expect(again.nodeId).toBe(agent.nodeId);
  });

  it("keeps a second agent out of its state folder", async () => {
    const { stateDir, clock, orchestrator } = await begin();
    const second = start({ stateDir, clock, dial: async () => orchestrator.transport.connect() });
    await expect(second.start()).rejects.toThrow(expect.objectContaining({ code: "STORAGE_LOCKED" }));
    await second.stop();
  });

  it("ends the operation in progress as interrupted when it stops, and tells so", async () => {
    const gate = deferred();
    const began = deferred();
    const { orchestrator, agent } = await begin({
      program: (host) => async () => {
        began.resolve();
        await gate.promise;
        return finishes(host);
      },
    });
    await orchestrator.send(agent.nodeId, apply(1, [slow, motd]));
    await began.promise;
    const stopped = agent.stop();
    gate.resolve();
    await stopped;
    expect((await orchestrator.take("result")).results).toMatchObject([
      { outcome: "changed" },
      { outcome: "skipped" },
    ]);
  });

  it("dials a WebSocket, and comes back when the orchestrator does", async () => {
    const orchestrator = new TestOrchestrator(systemClock);
    await orchestrator.start();
    const listener = await listenForAgents(orchestrator.transport);
    onTestFinished(() => listener.close());
    const host = new MemoryHost();
    const agent = start({
      url: listener.url,
      stateDir: temporaryFolder(),
      host,
      orchestratorKey: orchestrator.key,
    });
    await agent.start();
    await orchestrator.happened("connected");
    await orchestrator.transport.disconnect(agent.nodeId ?? "", "come again");
    await orchestrator.happened("connected", 2);
    await orchestrator.send(agent.nodeId, apply(1, [motd]));
    expect((await orchestrator.take("result")).status).toBe("succeeded");
    expect(text(host, "/motd")).toBe("hello");
  });

  it.each([{}, { url: "ws://127.0.0.1:1/agent/v1", dial: () => Promise.reject(new Error("never")) }])(
    "needs one way to its orchestrator",
    (ways) => {
      expect(() => new AgentProgram({ stateDir: temporaryFolder(), ...ways })).toThrow(
        expect.objectContaining({
          code: "OPTIONS_INVALID",
          issues: [expect.objectContaining({ path: ["url"] })],
        }),
      );
    },
  );

  it("says the version of the package", () => {
    expect(agentVersion).toBe(packageFile.version);
  });
});

interface Setup {
  orchestrator: TestOrchestrator;
  agent: AgentProgram;
  host: MemoryHost;
  clock: FakeClock;
  logger: RecordingLogger;
  stateDir: string;
  /** Ends the connection and waits for the next one. */
  reconnect: () => Promise<void>;
  /** Sets the wall clock of the machine, so far ahead of the orchestrator's. */
  setClock: (aheadMs: number) => void;
}

async function begin(
  options: {
    program?: (host: MemoryHost) => MemoryProgram;
    admission?: TestOrchestrator["admission"];
    agentClockAheadMs?: number;
  } = {},
): Promise<Setup> {
  const clock = new FakeClock();
  const orchestrator = new TestOrchestrator(clock);
  orchestrator.admission = options.admission ?? "approved";
  await orchestrator.start();
  const program = options.program ?? ((host: MemoryHost) => () => finishes(host));
  const host: MemoryHost = new MemoryHost({
    programs: { "/bin/sh": (line, signal) => program(host)(line, signal) },
  });
  const stateDir = temporaryFolder();
  const logger = new RecordingLogger();
  let ahead = options.agentClockAheadMs ?? 0;
  const agentClock = {
    now: () => clock.now() + ahead,
    monotonic: () => clock.monotonic(),
    setTimer: (delayMs: number, callback: () => void) => clock.setTimer(delayMs, callback),
  };
  const agent = start({
    stateDir,
    host,
    logger,
    terminals: false,
    clock: agentClock,
    dial: async () => orchestrator.transport.connect(),
  });
  await agent.start();
  await orchestrator.happened("connected");
  let connections = 1;
  const reconnect = async (): Promise<void> => {
    await orchestrator.transport.disconnect(agent.nodeId ?? "", "come again");
    await clock.advance(60_000);
    connections += 1;
    await orchestrator.happened("connected", connections);
  };
  const setClock = (aheadMs: number): void => void (ahead = aheadMs);
  return { orchestrator, agent, host, clock, logger, stateDir, reconnect, setClock };
}

function start(options: AgentOptions): AgentProgram {
  const agent = createAgent(options);
  onTestFinished(() => agent.stop());
  return agent;
}

function apply(
  number: number,
  resources: (typeof motd)[],
): Omit<Extract<OrchestratorMessage, { type: "apply" }>, "id" | "not_after"> {
  return { type: "apply", operation_id: uuid(number), resources, timeout_seconds: 60, allow_empty: false };
}

function finishes(host: MemoryHost): { exitCode: number } {
  host.files.writeFile("/done", Buffer.from(""), {});
  return { exitCode: 0 };
}

function text(host: MemoryHost, path: string): string {
  return Buffer.from(host.files.readFile(path)).toString("utf8");
}
