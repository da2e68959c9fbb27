import { expect, it } from "vitest";
import {
  LocalCluster,
  MemoryTransport,
  nodeCrypto,
  Orchestrator,
  silentLogger,
  systemCaller,
  toHex,
} from "fleetwright";
import type { Logger } from "fleetwright";
import { toSteadyLogger } from "fleetwright/ports";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../lib/storage/memory-storage.ts";

it("an orchestrator that is stopped while it starts leaves nothing running", async () => {
  const clock = new FakeClock();
  const data = new MemoryData();
  const transport = new MemoryTransport();
  const orchestrator = new Orchestrator({ storage: new MemoryStorage({ clock, data }), transport, clock });
  const starting = orchestrator.start();
  await orchestrator.stop();
  await starting;
  expect(clock.pendingTimers).toBe(0);
  await using again = new Orchestrator({
    storage: new MemoryStorage({ clock, data }),
    transport: new MemoryTransport(),
    clock,
  });
  await again.start();
});

it("an orchestrator is among the processes of its cluster from its start to its stop", async () => {
  const clock = new FakeClock();
  const cluster = new LocalCluster();
  const storage = new MemoryStorage({ clock });
  const orchestrator = new Orchestrator({ storage, transport: new MemoryTransport(), cluster, clock });
  expect(cluster.state).toBe("down");
  await orchestrator.start();
  expect(cluster.state).toBe("up");
  await expect(cluster.open(cluster.name, "operations.watch", { body: {} })).resolves.toBeDefined();
  await orchestrator.stop();
  expect(cluster.state).toBe("down");
});

it("an orchestrator that was stopped before it started does not start: nothing would stop it", async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock });
  const orchestrator = new Orchestrator({ storage, transport: new MemoryTransport(), clock });
  await orchestrator.stop();
  await expect(orchestrator.start()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(clock.pendingTimers).toBe(0);
});

it("an orchestrator that ran and was stopped says that it does not start again", async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock });
  const orchestrator = new Orchestrator({ storage, transport: new MemoryTransport(), clock });
  const starting = orchestrator.start();
  expect(orchestrator.start()).toBe(starting);
  await starting;
  const stopping = orchestrator.stop();
  await expect(orchestrator.start()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await stopping;
  await expect(orchestrator.start()).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

it("a test orchestrator gives back the clock and the transport that it was given, and goes by them", async () => {
  const [clock, transport] = [new FakeClock(5_000), new MemoryTransport()];
  await using test = await createTestOrchestrator({ clock, transport });
  expect(test.clock).toBe(clock);
  expect(test.transport).toBe(transport);
  expect(clock.pendingTimers).toBeGreaterThan(0);
});

it("a logger that fails has no call fail that was made, and its fault is told until it takes a line again", async () => {
  let isBroken = true;
  const broken = (): void => {
    if (isBroken) throw new TypeError("Converting circular structure to JSON");
  };
  const logger: Logger = { debug: broken, info: broken, warn: broken, error: broken };
  await using test = await createTestOrchestrator({ logger });
  const { orchestrator } = test;
  const end = orchestrator.listen(() => {
    throw new Error("of an embedder");
  });
  const upload = (name: string) =>
    orchestrator.modules.upload(systemCaller, { content: `name: ${name}\nresources: []\n` });
  await expect(upload("one")).resolves.toMatchObject({ created: true });
  const log = async () =>
    (await orchestrator.status.get(systemCaller)).checks?.find(({ name }) => name === "log");
  expect(await log()).toMatchObject({ detail: "Lines of the log are lost: TypeError." });
  isBroken = false;
  await upload("two");
  expect(await log()).toMatchObject({ status: "ok" });
  end();
});

it("a logger that takes its lines later may fail, too, and its own fault goes first", async () => {
  const lines: unknown[] = [];
  const later = (...line: unknown[]): unknown => {
    lines.push(line);
    return Promise.reject(Object.assign(new Error("no space"), { code: "ENOSPC" }));
  };
  const logger = toSteadyLogger({ ...silentLogger, info: later });
  logger.info("one");
  logger.info("two", { n: 2 });
  await Promise.resolve();
  expect([lines, logger.fault?.()]).toEqual([[["one"], ["two", { n: 2 }]], "ENOSPC"]);
  expect(toSteadyLogger({ ...silentLogger, fault: () => "EIO" }).fault?.()).toBe("EIO");
});

it("a level of a logger that fails is told until it, or one above it, takes a line, and a fault that can't be told is one", () => {
  const broken = new Set<string>();
  const at = (level: string) => (): void => {
    if (broken.has(level)) throw new TypeError(level);
  };
  const logger = toSteadyLogger({
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
  });
  broken.add("error");
  logger.error("lost");
  logger.debug("taken");
  logger.warn("taken");
  expect(logger.fault?.()).toBe("TypeError");
  broken.clear();
  logger.error("taken");
  expect(logger.fault?.()).toBeNull();
  broken.add("info");
  logger.info("lost");
  expect(logger.fault?.()).toBe("TypeError");
  logger.warn("taken");
  expect(logger.fault?.()).toBeNull();
  const fault = (): never => {
    throw new RangeError("no fault");
  };
  expect(toSteadyLogger({ ...silentLogger, fault }).fault?.()).toBe("RangeError");
});

it("every verb before the end of the start is refused with a code that says so, and works afterwards", async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock });
  const orchestrator = new Orchestrator({ storage, transport: new MemoryTransport(), clock });
  const first = async (stream: AsyncGenerator<unknown>): Promise<unknown> => (await stream.next()).value;
  const calls: Record<string, () => unknown> = {
    "agents.list": () => orchestrator.agents.list(systemCaller),
    "agents.rejectPending": () => orchestrator.agents.rejectPending(systemCaller, {}),
    "operators.list": () => orchestrator.operators.list(systemCaller),
    "audit.head": () => orchestrator.audit.head(systemCaller),
    "notifications.readAll": () => orchestrator.notifications.readAll(systemCaller),
    "restores.get": () => orchestrator.restores.get(systemCaller),
    "status.get": () => orchestrator.status.get(systemCaller),
    "summary.get": () => orchestrator.summary.get(systemCaller),
    "events.stream": () => first(orchestrator.events.stream(systemCaller)),
    "access.authenticate": () => orchestrator.access.authenticate(null),
    "figures.count": () => orchestrator.figures.count(),
    checkReady: async () => (await orchestrator.checkReady(), true),
    publicKey: async () => orchestrator.publicKey,
  };
  const codes = async (): Promise<Record<string, unknown>> => {
    const outcomes = Object.entries(calls).map(async ([name, call]) => {
      const code = Promise.resolve(call()).then(
        () => "answered",
        (error: { code?: string }) => error.code,
      );
      return [name, await code] as const;
    });
    return Object.fromEntries(await Promise.all(outcomes));
  };
  const all = (code: string): Record<string, string> =>
    Object.fromEntries(Object.keys(calls).map((name) => [name, code]));
  expect(await codes()).toEqual(all("UNAVAILABLE"));
  const starting = orchestrator.start();
  expect(await codes()).toEqual(all("UNAVAILABLE"));
  await starting;
  expect(await codes()).toEqual(all("answered"));
  await orchestrator.stop();
});

it("a verb of an orchestrator that never started, or whose start failed, is refused as one that is not started", async () => {
  const clock = new FakeClock();
  const transport = new MemoryTransport();
  const data = new MemoryData();
  const adminPublicKeys = ["00".repeat(32)];
  const storage = new MemoryStorage({ clock, data });
  const failed = new Orchestrator({ storage, transport, clock, adminPublicKeys });
  await expect(failed.start()).rejects.toMatchObject({ code: "KEY_REFUSED" });
  await expect(failed.agents.list(systemCaller)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  const never = new Orchestrator({ storage: new MemoryStorage({ clock, data }), transport, clock });
  await never.stop();
  await expect(never.agents.list(systemCaller)).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

it("a listener that asks for more of what it hears of the start is answered, in order, until it has had enough", async () => {
  const clock = new FakeClock();
  const storage = new MemoryStorage({ clock });
  const adminPublicKeys = [1, 2, 3].map((byte) =>
    toHex(nodeCrypto.createSigner(new Uint8Array(32).fill(byte)).publicKey),
  );
  const orchestrator = new Orchestrator({
    storage,
    transport: new MemoryTransport(),
    clock,
    adminPublicKeys,
  });
  const heard: string[] = [];
  const answers: Promise<unknown>[] = [];
  const end = orchestrator.listen(["operator.added"], ({ target }) => {
    const operator_id = target!.id;
    heard.push(operator_id);
    answers.push(orchestrator.operators.get(systemCaller, { operator_id }));
    if (heard.length === 2) end();
  });
  const all: string[] = [];
  orchestrator.listen(["operator.added"], ({ target }) => void all.push(target!.id));
  await orchestrator.start();
  const { items } = await orchestrator.operators.list(systemCaller);
  expect(all.toSorted()).toEqual(items.map(({ operator_id }) => operator_id).toSorted());
  expect(all).toHaveLength(3);
  expect(heard).toEqual(all.slice(0, 2));
  expect(await Promise.all(answers)).toMatchObject(heard.map((operator_id) => ({ operator_id })));
  await orchestrator.stop();
});
