/** A reader that wants few of very many events: it is told where it is, so that it can come back there, and no more often than that needs. */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";

/** A stream of events of modules that has begun, and what happens beside them. */
async function begun() {
  const test = await createTestOrchestrator();
  onTestFinished(() => test[Symbol.asyncDispose]());
  const end = new AbortController();
  const stream = test.orchestrator.events.stream(systemCaller, { types: ["module.*"] }, end.signal);
  const next = async (): Promise<{ type: string | undefined; sequence: number }> => {
    const step = await stream.next();
    if (step.done === true) return { type: undefined, sequence: NaN };
    return { type: step.value.item.type, sequence: Number(step.value.id.split("-")[0]) };
  };
  const pass = async (times: number): Promise<void> => {
    for (let n = 1; n <= times; n += 1)
      await test.orchestrator.audit.setRetention(systemCaller, { retention_days: 1 + (n % 1_000) });
  };
  const { type, sequence } = await next();
  expect(type).toBe("position");
  return { test, end, next, pass, from: sequence };
}

it("is told each 500 events, also where no minute passes", async () => {
  const { end, next, pass, from } = await begun();
  await pass(1_001);
  expect(await next()).toEqual({ type: "position", sequence: from + 500 });
  expect(await next()).toEqual({ type: "position", sequence: from + 1_000 });
  end.abort();
  expect((await next()).type).toBeUndefined();
});

it("is told nothing more where an event that it wants was the last", async () => {
  const { test, end, next, pass } = await begun();
  await pass(3);
  await test.orchestrator.modules.upload(systemCaller, { content: "name: a\nresources: []\n" });
  expect((await next()).type).toBe("event");
  const more = next();
  await test.clock.advance(180_000);
  end.abort();
  expect((await more).type).toBeUndefined();
});
