/** Thresholds and alarms of one orchestrator of two processes. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import type { TestAgent } from "../../lib/testing/test-agent.ts";
import { approved, connect, leave } from "../support/leaving-agents.ts";
import { alarmEvents, alarmsNow, sendSample } from "../support/sent-samples.ts";
import { twoProcesses, type TwoProcesses } from "../support/two-processes.ts";

const busy = { name: "Busy", metric: "load.1", condition: "above", value: 4 } as const;

/** Sends samples of a load, 15 s apart, through one of the processes. */
async function send(
  { clock }: Pick<TwoProcesses, "clock">,
  agent: TestAgent,
  loads: readonly number[],
): Promise<void> {
  for (const load of loads) {
    await clock.advance(15_000);
    await sendSample({ clock }, agent, { "load.1": load });
  }
}

test("durations go on where an agent goes to another process and comes back", async () => {
  await using both = await twoProcesses();
  const { first, second } = both;
  await first.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 180 });
  const agent = await approved(first, 1);
  await send(both, agent, [5, 5, 5, 5]);
  await leave(first, agent);
  const elsewhere = await connect(second, 1);
  await send(both, elsewhere, [5, 5, 5, 5, 5]);
  await leave(second, elsewhere);
  const back = await connect(first, 1);
  await send(both, back, [5, 5, 5]);
  expect(alarmEvents(first)).toEqual([]);
  await send(both, back, [5]);
  expect(alarmEvents(first).map(({ event_type }) => event_type)).toEqual(["metric.thresholdCrossed"]);
  const [alarm] = await alarmsNow(second);
  expect(Date.parse(alarm!.crossed_at) - Date.parse(alarm!.since)).toBe(180_000);
});

test("a dip that another process saw counts, too", async () => {
  await using both = await twoProcesses();
  const { first, second } = both;
  await first.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 90 });
  const agent = await approved(first, 1);
  await send(both, agent, [5, 5, 5]);
  await leave(first, agent);
  const elsewhere = await connect(second, 1);
  await send(both, elsewhere, [1]);
  await leave(second, elsewhere);
  const back = await connect(first, 1);
  // Between what the first process heard there is no gap: only the stored samples know of the dip.
  await send(both, back, [5, 5, 5, 5, 5, 5]);
  expect(alarmEvents(first)).toEqual([]);
  await send(both, back, [5]);
  expect(alarmEvents(first)).toHaveLength(1);
});

test("an alarm recovers by what both processes heard", async () => {
  await using both = await twoProcesses();
  const { first, second } = both;
  await first.orchestrator.thresholds.create(systemCaller, {
    ...busy,
    for_seconds: 0,
    recovery_seconds: 105,
  });
  const agent = await approved(first, 1);
  await send(both, agent, [5, 1, 1]);
  await leave(first, agent);
  const elsewhere = await connect(second, 1);
  await send(both, elsewhere, [1, 1, 1, 1]);
  await leave(second, elsewhere);
  const back = await connect(first, 1);
  await send(both, back, [1]);
  expect(await alarmsNow(first)).toHaveLength(1);
  await send(both, back, [1]);
  expect(await alarmsNow(first)).toEqual([]);
});

test("what a sample after a new connection does not have goes on as it was", async () => {
  await using both = await twoProcesses();
  const { first, clock } = both;
  await first.orchestrator.thresholds.create(systemCaller, { ...busy, for_seconds: 60 });
  const agent = await approved(first, 1);
  await send(both, agent, [5, 5, 5]);
  await leave(first, agent);
  const back = await connect(first, 1);
  await clock.advance(15_000);
  await sendSample({ clock }, back, { "load.5": 1 });
  await send(both, back, [5]);
  expect(alarmEvents(first)).toHaveLength(1);
});
