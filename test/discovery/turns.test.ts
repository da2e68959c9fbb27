/** How soon one call into the network may follow another, where the first of them is refused late. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, MemoryNetwork } from "fleetwright/testing";
import { deferred, settleAll } from "../support/deferred.ts";

const machine = new MemoryNetwork().machine("192.0.2.1");

/** A network in which the name of a target is looked up until a test says that it is not known. */
async function scene() {
  const looked = deferred();
  const datagrams = {
    addresses: () => machine.addresses(),
    open: (options: Parameters<typeof machine.open>[0]) => machine.open(options),
    routeTo: async () => {
      await looked.promise;
      return null;
    },
  };
  const { orchestrator, clock, ...rest } = await createTestOrchestrator({ datagrams });
  const broadcast = (input: object = {}) => {
    const call = orchestrator.discovery.broadcast(systemCaller, input);
    call.catch(() => {});
    return call;
  };
  return { ...rest, looked, broadcast, clock, stop: () => orchestrator.stop() };
}

test("a call that is refused lets the next one be made at once", async () => {
  const { looked, broadcast, clock, stop } = await scene();
  const refused = broadcast({ target: "nobody.example" });
  looked.resolve();
  await expect(refused).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  const next = broadcast();
  await settleAll();
  await clock.advance(1_500);
  await expect(next).resolves.toMatchObject({ responses: [] });
  await stop();
});

test("one that is refused late leaves five seconds behind the one that was made meanwhile", async () => {
  const { looked, broadcast, clock, stop } = await scene();
  const refused = broadcast({ target: "nobody.example" });
  await settleAll();
  await clock.advance(5_000);
  const second = broadcast();
  await settleAll();
  await clock.advance(1_500);
  await second;
  looked.resolve();
  await expect(refused).rejects.toMatchObject({ code: "VALIDATION_FAILED" });
  await expect(broadcast()).rejects.toMatchObject({
    code: "RATE_LIMITED",
    details: { retry_after_seconds: 4 },
  });
  await clock.advance(3_500);
  const third = broadcast();
  await settleAll();
  await clock.advance(1_500);
  await expect(third).resolves.toMatchObject({ responses: [] });
  await stop();
});
