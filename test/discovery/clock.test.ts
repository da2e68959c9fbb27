/**
 * The wall clock of a server was set back by a little. Agents that had heard it before took every announcement for a repetition, until the clock
 * was where it had been.
 */
import { expect, it, onTestFinished } from "vitest";
import { MemoryData, MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock, MemoryNetwork, type TestOrchestrator } from "fleetwright/testing";
import { settleAll } from "../support/deferred.ts";
import { startListener } from "../support/discovery.ts";

const minute = 60_000;

/** Calls, and tells how many agents answered; the time passes for the agents, too, whose clocks are their own. */
async function found(
  { orchestrator, clock }: Pick<TestOrchestrator, "orchestrator" | "clock">,
  agents: FakeClock,
): Promise<number> {
  const call = orchestrator.discovery.broadcast(systemCaller, {});
  call.catch(() => {});
  await settleAll();
  await agents.advance(5_000);
  await clock.advance(5_000);
  return (await call).responses.length;
}

async function scene() {
  const network = new MemoryNetwork();
  const agents = new FakeClock();
  const listener = await startListener(network.machine("192.0.2.7"), { clock: agents });
  onTestFinished(() => listener.stop());
  return { agents, datagrams: network.machine("192.0.2.1") };
}

it.each([1_000, 4_999, 5_000, 5_001, 2 * minute, 4 * minute])(
  "is found by agents after its clock was set back by %i ms",
  async (by) => {
    const { agents, datagrams } = await scene();
    await using test = await createTestOrchestrator({ datagrams });
    test.clock.jump(4 * minute);
    expect(await found(test, agents)).toBe(1);
    test.clock.jump(-by);
    for (let turn = 0; turn < 60; turn += 1) expect(await found(test, agents)).toBe(1);
  },
);

it("is found after it was started anew with a clock that was set back meanwhile", async () => {
  const { agents, datagrams } = await scene();
  const [data, clock] = [new MemoryData(), new FakeClock()];
  clock.jump(3 * minute);
  for (const by of [0, -3 * minute]) {
    clock.jump(by);
    await using test = await createTestOrchestrator({
      datagrams,
      clock,
      storage: new MemoryStorage({ clock, data }),
    });
    expect(await found({ orchestrator: test.orchestrator, clock }, agents)).toBe(1);
  }
});

it("is found by agents with a right clock after a wrong time far ahead was put right", async () => {
  const { agents, datagrams } = await scene();
  await using test = await createTestOrchestrator({ datagrams });
  test.clock.jump(60 * minute);
  expect(await found(test, agents)).toBe(0);
  test.clock.jump(-60 * minute);
  expect(await found(test, agents)).toBe(1);
});
