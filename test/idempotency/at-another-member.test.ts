/** Calls with one key that are sent to two members at once. */
import { expect, it, onTestFinished } from "vitest";
import { OrchestratorError, type Caller, type ErrorCode, type KeyedCall } from "fleetwright";
import { createTestOrchestrator, FakeClock, MemoryCluster, type TestOrchestrator } from "fleetwright/testing";
import { servicesOf } from "../../lib/orchestrator.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { handlesOf } from "../support/two-processes.ts";

async function members() {
  const clock = new FakeClock();
  const cluster = new MemoryCluster({ clock });
  const handle = handlesOf(new MemoryStorage({ clock }));
  const begin = async () => {
    const member = cluster.member();
    const test = await createTestOrchestrator({ clock, storage: handle(), cluster: member });
    onTestFinished(() => test.orchestrator.stop());
    return { ...test, member };
  };
  const [first, second] = [await begin(), await begin()];
  const { caller } = await first.signIn("Admin");
  return { clock, cluster, first, second, caller };
}

const call: KeyedCall = { key: "k", permission: "modules.upload", input: {} };

/** Changes something in a commit of its own, as a call that has more to do after it. */
const change = ({ orchestrator }: TestOrchestrator, claiming: Caller) =>
  servicesOf(orchestrator).operations.store.create(claiming, [], {
    writes: [{ kind: "put", collection: "settings", key: "changed", value: {} }],
  });

/** The first member makes the call, and is in the middle of it; `finish` ends it. */
async function halfMade() {
  const scene = await members();
  const { first, caller } = scene;
  const [begun, finish] = [deferred<void>(), deferred<void>()];
  const made = first.orchestrator.idempotency.once(caller, call, async (claiming) => {
    await change(first, claiming);
    begun.resolve();
    await finish.promise;
    return "made";
  });
  onTestFinished(() => finish.resolve());
  await begun.promise;
  return { ...scene, made, finish };
}

const windows = { key: "w", permission: "maintenanceWindows.create" } as const;

it("are made once, and both answered with what that came to", async () => {
  const { first, second, caller } = await members();
  const input = { reason: "disks", mode: "mute", ends_in_seconds: 600 } as const;
  const create = ({ orchestrator }: TestOrchestrator) =>
    orchestrator.idempotency.once(caller, { ...windows, input }, (claiming) =>
      orchestrator.maintenanceWindows.create(claiming, input),
    );
  const [here, there] = await Promise.all([create(first), create(second)]);
  expect(there).toEqual(here);
  const { items } = await first.orchestrator.maintenanceWindows.list(caller);
  expect(items.map(({ id }) => id)).toEqual([here.id]);
});

it.each<[how: string, code: ErrorCode]>([
  ["refused", "ALREADY_EXISTS"],
  ["refused in a way that leaves the key free", "PRECONDITION_FAILED"],
])("is answered as the one that was made where it is %s because of it", async (_, code) => {
  const { first, second, caller } = await members();
  const made = deferred<void>();
  const late = second.orchestrator.idempotency.once(caller, call, async () => {
    await made.promise;
    throw new OrchestratorError(code);
  });
  await settleAll();
  const answer = await first.orchestrator.idempotency.once(caller, call, async (claiming) => {
    await change(first, claiming);
    return "made";
  });
  made.resolve();
  expect([answer, await late]).toEqual(["made", "made"]);
});

it("is answered as the one that was made where it finds nothing to do any more", async () => {
  const { first, second, caller } = await members();
  const made = deferred<void>();
  const late = second.orchestrator.idempotency.once(caller, call, async () => {
    await made.promise;
    return "nothing to do";
  });
  await settleAll();
  await first.orchestrator.idempotency.once(caller, call, async (claiming) => {
    await change(first, claiming);
    return "made";
  });
  made.resolve();
  expect(await late).toBe("made");
});

it("is refused where the other was sent with another input", async () => {
  const { first, second, caller } = await members();
  const made = deferred<void>();
  const late = second.orchestrator.idempotency.once(caller, { ...call, input: { other: true } }, async () => {
    await made.promise;
    return "nothing to do";
  });
  late.catch(() => {});
  await settleAll();
  await first.orchestrator.idempotency.once(caller, call, async (claiming) => change(first, claiming));
  made.resolve();
  await expect(late).rejects.toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
});

it("waits for the one that is being made", async () => {
  const { second, caller, made, finish } = await halfMade();
  let isOver = false;
  const again = second.orchestrator.idempotency
    .once(caller, call, async () => "again")
    .finally(() => (isOver = true));
  await settleAll();
  expect(isOver).toBe(false);
  finish.resolve();
  expect([await made, await again]).toEqual(["made", "made"]);
});

it("is not made again where the member that made it was killed in the middle", async () => {
  const { cluster, first, second, caller } = await halfMade();
  cluster.kill(first.member);
  const again = second.orchestrator.idempotency.once(caller, call, async () => "again");
  await expect(again).rejects.toMatchObject({ code: "IDEMPOTENCY_ANSWER_UNKNOWN" });
});

it("waits a minute at most for a member that is not reached", async () => {
  const { clock, cluster, first, second, caller } = await halfMade();
  cluster.cut(first.member, second.member);
  const again = second.orchestrator.idempotency.once(caller, call, async () => "again");
  again.catch(() => {});
  await settleAll();
  await clock.advance(60_000);
  await expect(again).rejects.toMatchObject({ code: "IDEMPOTENCY_ANSWER_UNKNOWN" });
});
