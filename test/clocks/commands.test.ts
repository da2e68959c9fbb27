/**
 * Symptom: a server whose clock was set back by ten minutes lost its fleet: every plan, apply and check on every connected agent
 * ended `COMMAND_EXPIRED`, for ever, and a cancel was answered and ignored. Cause: deadlines were instants of its wall clock.
 */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { createClockScene, jumps, minute, nameOf } from "../support/clock-scene.ts";
import { deferred } from "../support/deferred.ts";

const sides = ["serverClock", "agentClock"] as const;
const cases = sides.flatMap((side) =>
  jumps.map(
    (jump) => [`${side === "serverClock" ? "server" : "agent"} ${nameOf(jump)}`, side, jump] as const,
  ),
);

describe("a clock that is set while both sides are connected", () => {
  it.each(cases)("changes nothing about what is asked next: %s", async (_, side, jump) => {
    await using scene = await createClockScene();
    scene[side].wallOffsetMs += jump;
    const { orchestrator } = scene.server;
    const input = { node_id: scene.nodeId, modules: ["motd"], wait_seconds: 0 };
    const plan = await orchestrator.operations.plan(systemCaller, input);
    await scene.pass(100);
    expect(await scene.statusOf(plan)).toBe("succeeded");
    expect(await scene.statusOf(await scene.apply())).toBe("succeeded");
    const check = await orchestrator.drift.check(systemCaller, { node_id: scene.nodeId, wait_seconds: 0 });
    await scene.pass(100);
    expect((await orchestrator.drift.get(systemCaller, { drift_id: check.drift_id })).status).toBe("in_sync");
    expect(scene.runs).toBe(1);
  });

  it.each(cases)("changes nothing about what runs, and a cancel is heard: %s", async (_, side, jump) => {
    await using scene = await createClockScene();
    const { promise, resolve } = deferred();
    scene.work = promise;
    const running = await scene.apply();
    scene[side].wallOffsetMs += jump;
    await scene.pass(2 * minute);
    expect(await scene.statusOf(running)).toBe("running");
    await scene.server.orchestrator.operations.cancel(systemCaller, { operation_id: running.operation_id });
    await scene.pass(100);
    resolve();
    await scene.pass(100);
    expect(await scene.statusOf(running)).toBe("cancelled");
    expect(scene.runs).toBe(1);
  });

  it.each(cases)("changes nothing for those who connect again: %s", async (_, side, jump) => {
    await using scene = await createClockScene();
    await scene.stopAgent();
    scene[side].wallOffsetMs += jump;
    const waiting = await scene.apply({ when_offline: "queue", expires_in_seconds: 3600 });
    await scene.pass(30 * minute);
    expect(await scene.statusOf(waiting)).toBe("queued");
    await scene.startAgent();
    await scene.meet();
    expect(await scene.statusOf(waiting)).toBe("succeeded");
    const late = await scene
      .stopAgent()
      .then(() => scene.apply({ when_offline: "queue", expires_in_seconds: 60 }));
    scene[side].wallOffsetMs -= jump;
    await scene.pass(61_000);
    expect(await scene.statusOf(late)).toBe("failed");
  });
});
