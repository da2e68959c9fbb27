/** Everything that expires, is due or is limited, one row each, while clocks are set by minutes, days and years, both ways. */
import { describe, expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { toHex, toUtf8 } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import { RateLimiter } from "../../lib/internal/rate-limiter.ts";
import { ProcessLeases } from "../../lib/storage/leases.ts";
import {
  createClockScene,
  day,
  hour,
  jumps,
  minute,
  nameOf,
  type ClockScene,
} from "../support/clock-scene.ts";
import { deferred } from "../support/deferred.ts";

type Set = (ms: number) => void;

/** What is tried, with a function that sets the server's clock. */
type Row = readonly [name: string, run: (scene: ClockScene, jump: number, set: Set) => Promise<void>];

const codeOf = async (call: () => unknown): Promise<string> => {
  try {
    await call();
    return "fine";
  } catch (error) {
    return isOrchestratorError(error) ? error.code : String(error);
  }
};

const anonymous = { kind: "anonymous" } as const;

async function restart(scene: ClockScene): Promise<void> {
  await scene.stopServer();
  await scene.startServer();
}

const rows: readonly Row[] = [
  [
    "a session lives its idle time, neither less nor more",
    async (scene, jump, set) => {
      const before = await scene.server.signIn("Viewer");
      set(jump);
      const after = await scene.server.signIn("Viewer", "second");
      const use = ({ token }: typeof before): Promise<string> =>
        codeOf(() => scene.server.orchestrator.access.authenticate(token));
      await scene.pass(50 * minute);
      expect([await use(before), await use(after)]).toEqual(["fine", "fine"]);
      set(-jump);
      await scene.pass(50 * minute);
      expect([await use(before), await use(after)]).toEqual(["fine", "fine"]);
      await scene.pass(61 * minute);
      expect([await use(before), await use(after)]).toEqual(["UNAUTHENTICATED", "UNAUTHENTICATED"]);
    },
  ],
  [
    "a session of a time that was wrong ends when its time has run, across a restart",
    async (scene, jump, set) => {
      set(jump);
      await restart(scene);
      const { token } = await scene.server.signIn("Viewer");
      set(-jump);
      await restart(scene);
      await scene.pass(61 * minute);
      expect(await codeOf(() => scene.server.orchestrator.access.authenticate(token))).toBe(
        "UNAUTHENTICATED",
      );
    },
  ],
  [
    "a challenge is good for its minute, and once",
    async (scene, jump, set) => {
      const { signer } = await scene.server.signIn("Viewer");
      const input = { public_key: toHex(signer.publicKey) };
      const access = (): typeof scene.server.orchestrator.access => scene.server.orchestrator.access;
      const answer = async (): Promise<() => Promise<string>> => {
        const { challenge_id, message } = await access().challenge(anonymous, input);
        const signature = toHex(signer.sign(toUtf8(message)));
        return () => codeOf(() => access().verify(anonymous, { challenge_id, signature }));
      };
      const first = await answer();
      const late = await answer();
      set(jump);
      const second = await answer();
      expect([await first(), await second()]).toEqual(["fine", "fine"]);
      set(-jump);
      // What is over is forgotten with each sign-in: what was used must not be among it.
      for (let count = 0; count < 3; count += 1) await (await answer())();
      expect([await first(), await second()]).toEqual(["CHALLENGE_INVALID", "CHALLENGE_INVALID"]);
      await scene.pass(61_000);
      expect(await late()).toBe("CHALLENGE_INVALID");
      await restart(scene);
      set(-Math.abs(jump));
      await restart(scene);
      expect([await first(), await second(), await late()]).toEqual(Array(3).fill("CHALLENGE_INVALID"));
    },
  ],
  [
    "a call with an idempotency key is made once, and its key is free again after a day or two",
    async (scene, jump, set) => {
      const { caller } = await scene.server.signIn("Operator");
      let calls = 0;
      const call = (): Promise<number> =>
        scene.server.orchestrator.idempotency.once(
          caller,
          { key: "k", permission: "agents.list", input: {} },
          async () => (calls += 1),
        );
      set(jump);
      expect(await call()).toBe(1);
      set(-jump);
      await scene.pass(20 * minute);
      expect(await call()).toBe(1);
      set(jump);
      expect(await call()).toBe(1);
      set(-jump);
      await scene.stopAgent();
      for (let hours = 0; hours < 49; hours += 1) await scene.pass(hour);
      expect(await call()).toBe(2);
    },
  ],
  [
    "what waits for an agent expires when its time has run, also across restarts",
    async (scene, jump, set) => {
      await scene.stopAgent();
      const waiting = await scene.apply({ when_offline: "queue", expires_in_seconds: 3600 });
      set(jump);
      await scene.pass(50 * minute);
      expect(await scene.statusOf(waiting)).toBe("queued");
      set(-jump);
      await restart(scene);
      expect(await scene.statusOf(waiting)).toBe("queued");
      if (jump < 0) {
        set(jump);
        await restart(scene);
      }
      await scene.pass(11 * minute);
      expect(await scene.statusOf(waiting)).toBe("failed");
    },
  ],
  [
    "what runs ends at its deadline, also across a restart",
    async (scene, jump, set) => {
      const { promise, resolve } = deferred();
      scene.work = promise;
      const { operation_id } = await scene.apply({ timeout_seconds: 600 });
      set(jump);
      await scene.pass(5 * minute);
      expect(await scene.statusOf({ operation_id })).toBe("running");
      await restart(scene);
      await scene.meet();
      await scene.pass(12 * minute);
      expect(["timed_out", "unknown"]).toContain(await scene.statusOf({ operation_id }));
      resolve();
      await scene.pass(1000);
      expect(await scene.statusOf({ operation_id })).toBe("timed_out");
      expect(scene.runs).toBe(1);
    },
  ],
  [
    "a drift check is made once in its interval",
    async (scene, jump, set) => {
      await scene.apply();
      await scene.pass(6 * minute);
      const count = async (): Promise<number> =>
        (await scene.server.orchestrator.drift.list(systemCaller, { node_id: scene.nodeId })).items.length;
      const requested = (): number =>
        scene.server.events.filter(({ event_type }) => event_type === "drift.detected").length;
      scene.host.files.removeFile("/etc/done");
      set(jump);
      await scene.pass(31 * minute);
      set(-jump);
      await scene.pass(31 * minute);
      expect(requested()).toBe(1);
      expect(await count()).toBeGreaterThan(0);
    },
  ],
  [
    "an agent that waits to be approved is not forgotten",
    async (scene, jump, set) => {
      const { nodeId } = scene;
      const { agents } = scene.server.orchestrator;
      await agents.setStatus(systemCaller, { node_id: nodeId, status: "rejected" });
      await agents.remove(systemCaller, { node_id: nodeId });
      await scene.pass(2 * minute);
      expect((await agents.get(systemCaller, { node_id: nodeId })).status).toBe("pending");
      await scene.stopAgent();
      set(jump);
      await scene.pass(3 * hour);
      set(-jump);
      await scene.pass(3 * hour);
      expect((await agents.get(systemCaller, { node_id: nodeId })).status).toBe("pending");
    },
  ],
  [
    "audit events and operations are not removed",
    async (scene, jump, set) => {
      const { operation_id } = await scene.apply();
      await scene.stopAgent();
      const before = (await scene.server.orchestrator.audit.list(systemCaller, { limit: 200 })).items.length;
      set(jump);
      await scene.pass(12 * hour);
      set(-jump);
      await scene.pass(12 * hour);
      const after = (await scene.server.orchestrator.audit.list(systemCaller, { limit: 200 })).items;
      expect(after.length).toBeGreaterThanOrEqual(before);
      expect(after.map((event) => event.event_type)).not.toContain("audit.pruned");
      expect(await scene.statusOf({ operation_id })).toBe("succeeded");
    },
  ],
  [
    "a scheduled rollout is carried out once, at its time, whatever the clock was before",
    async (scene, jump, set) => {
      const { assignments, rollouts } = scene.server.orchestrator;
      const schedule = { cron: "0 12 * * *", time_zone: "UTC" };
      await assignments.create(systemCaller, { name: "daily", selector: "*", modules: ["motd"], schedule });
      const started = async (): Promise<number> => (await rollouts.list(systemCaller, {})).items.length;
      await scene.pass(11 * hour);
      if (Math.abs(jump) > hour) {
        set(jump);
        await scene.pass(2 * minute);
        set(-jump);
      }
      await scene.pass(2 * hour);
      expect(await started()).toBe(1);
      set(-10 * minute);
      await scene.pass(30 * minute);
      expect(await started()).toBe(1);
    },
  ],
  [
    "a limit of calls, and a lease, go by running time",
    async (scene, jump, set) => {
      const limiter = new RateLimiter(scene.serverClock, 1);
      const leases = new ProcessLeases(scene.serverClock);
      limiter.take("a");
      expect(leases.take("one", minute)).not.toBeNull();
      set(jump);
      expect([limiter.tryTake("a"), leases.take("one", minute)]).toEqual([false, null]);
      await scene.pass(minute);
      expect([limiter.tryTake("a"), leases.take("one", minute) === null]).toEqual([true, false]);
    },
  ],
];

describe.each(rows)("%s", (_, run) => {
  it.each(jumps.map((jump) => [nameOf(jump), jump] as const))("with a clock set %s", async (_name, jump) => {
    await using scene = await createClockScene({ driftIntervalSeconds: 1800 });
    await run(scene, jump, (ms) => (scene.serverClock.wallOffsetMs += ms));
    expect(scene.server.loggedErrors).toEqual([]);
  });
});

it("ids of what is made rise while the clock goes back", async () => {
  await using scene = await createClockScene();
  const first = await scene.apply();
  scene.serverClock.wallOffsetMs -= 3 * day;
  const second = await scene.apply();
  expect(second.operation_id > first.operation_id).toBe(true);
  expect(nodeCrypto.equal(toUtf8(first.operation_id), toUtf8(second.operation_id))).toBe(false);
});
