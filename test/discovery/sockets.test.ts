/** The sockets of a call into the network: none is opened before it is written that it calls, and none stays open after it. */
import { expect, it } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import type { Datagrams } from "fleetwright/ports";
import { createTestOrchestrator, FakeClock, MemoryNetwork } from "fleetwright/testing";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";

const machine = new MemoryNetwork().machine("192.0.2.1");

/** A network that counts its sockets, and of which two interfaces can be used. */
async function scene(send: () => Promise<void> = async () => {}) {
  const counts = { opened: 0, closed: 0 };
  const [local] = machine.addresses();
  const datagrams: Datagrams = {
    addresses: () => [local!, { ...local!, interface: "eth1" }],
    routeTo: (target) => machine.routeTo(target),
    open: async () => {
      counts.opened += 1;
      return { local: { address: "192.0.2.1", port: 4747 }, send, close: () => void (counts.closed += 1) };
    },
  };
  const clock = new FakeClock();
  const data = new MemoryData();
  const storage = new MemoryStorage({ clock, data });
  const test = await createTestOrchestrator({ clock, storage, datagrams });
  const call = async () => {
    const answer = test.orchestrator.discovery.broadcast(systemCaller).catch((error: unknown) => error);
    await settleAll();
    return { answer };
  };
  return { test, data, counts, call };
}

const unreachable = (): Promise<void> => Promise.reject(new OrchestratorError("UNAVAILABLE"));

it.each([
  ["time is over", undefined, "time"],
  ["the server lets go", undefined, "end"],
  ["nothing could be sent", unreachable, "time"],
] as const)("all of them are closed when %s", async (_, send, by) => {
  const { test, counts, call } = await scene(send);
  await using _test = test;
  const { answer } = await call();
  expect(counts).toEqual({ opened: 2, closed: send ? 2 : 0 });
  if (by === "end") test.orchestrator.letGo();
  else await test.clock.advance(1_500);
  await answer;
  expect(counts).toEqual({ opened: 2, closed: 2 });
});

it("none is opened where it can't be written that the server calls, and the call may be made again at once", async () => {
  const { test, data, counts, call } = await scene();
  await using _test = test;
  data.freeBytes = 0;
  expect(await (await call()).answer).toMatchObject({ code: "STORAGE_FULL" });
  expect(counts.opened).toBe(0);
  data.freeBytes = Infinity;
  const { answer } = await call();
  await test.clock.advance(1_500);
  expect(await answer).toMatchObject({ responses: [] });
  expect(counts).toEqual({ opened: 2, closed: 2 });
});
