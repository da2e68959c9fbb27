import { expect, it } from "vitest";
import { LocalCluster, MemoryTransport, Orchestrator } from "fleetwright";
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
