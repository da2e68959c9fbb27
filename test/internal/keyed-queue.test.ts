import { expect, it } from "vitest";
import { KeyedQueue } from "../../lib/internal/keyed-queue.ts";
import { KeptReads, SharedCalls } from "../../lib/internal/shared-answers.ts";
import { deferred } from "../support/deferred.ts";

it("does the work of one key in order, also after work that failed, and that of another at once", async () => {
  const queue = new KeyedQueue();
  const told: string[] = [];
  const gate = deferred<void>();
  const first = queue.do("a", async () => {
    await gate.promise;
    told.push("a1");
    throw new Error("a1 failed");
  });
  const second = queue.do("a", async () => told.push("a2"));
  await queue.do("b", async () => told.push("b1"));
  expect(told).toEqual(["b1"]);
  gate.resolve();
  await expect(first).rejects.toThrow("a1 failed");
  await second;
  expect(told).toEqual(["b1", "a1", "a2"]);
});

it("does what comes while something is under way after that, however much was done before", async () => {
  const queue = new KeyedQueue();
  const told: string[] = [];
  const gates = Array.from({ length: 4 }, () => deferred<void>());
  const add = (at: number): Promise<unknown> =>
    queue.do("a", async () => {
      told.push(`${at} begins`);
      await gates[at]!.promise;
      told.push(`${at} ends`);
    });
  const asked = [add(0), add(1)];
  for (let at = 0; at < 4; at += 1) {
    gates[at]!.resolve();
    await asked[at];
    await new Promise((resolve) => setImmediate(resolve));
    // The one behind it is under way by now.
    if (at < 2) asked.push(add(at + 2));
  }
  await queue.idle();
  expect(told).toEqual([0, 1, 2, 3].flatMap((at) => [`${at} begins`, `${at} ends`]));
});

it("is idle only once all has ended that was asked for, also while it was waited for", async () => {
  const queue = new KeyedQueue();
  let isIdle = false;
  const gates = [deferred<void>(), deferred<void>()];
  void queue.do("a", async () => {
    await gates[0]!.promise;
    void queue.do("b", () => gates[1]!.promise);
  });
  const idle = queue.idle().then(() => (isIdle = true));
  gates[0]!.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isIdle).toBe(false);
  gates[1]!.resolve();
  await idle;
});

it("is idle when what was added meanwhile has ended, too", async () => {
  const queue = new KeyedQueue();
  const told: string[] = [];
  void queue.do("a", async () => {
    told.push("first");
    void queue.do("b", async () => told.push("added"));
  });
  await queue.idle();
  expect(told).toEqual(["first", "added"]);
  await queue.idle();
});

it("gives one answer to all who ask while a call is under way, and calls anew for who comes later", async () => {
  const shared = new SharedCalls<number>();
  const gates = [deferred<void>(), deferred<void>()];
  let calls = 0;
  const call = async (): Promise<number> => {
    const mine = (calls += 1);
    await gates[mine - 1]?.promise;
    return mine;
  };
  const early = [shared.get("a", call), shared.get("a", call)];
  gates[0]?.resolve();
  expect(await Promise.all(early)).toEqual([1, 1]);
  const later = shared.get("a", call);
  // An earlier waiter that ends now must not take the later call away.
  const joined = shared.get("a", call);
  gates[1]?.resolve();
  expect(await Promise.all([later, joined])).toEqual([2, 2]);
  expect(calls).toBe(2);
});

it("shares a failure, and forgets it", async () => {
  const shared = new SharedCalls<string>();
  const fail = () => Promise.reject(new Error("no"));
  await expect(Promise.allSettled([shared.get("a", fail), shared.get("a", fail)])).resolves.toMatchObject([
    { status: "rejected" },
    { status: "rejected" },
  ]);
  expect(await shared.get("a", () => Promise.resolve("yes"))).toBe("yes");
});

it("keeps what was read once for all who ask for the same, and reads anew what failed", async () => {
  const kept = new KeptReads<string>();
  let reads = 0;
  const read = async (): Promise<string> => {
    reads += 1;
    if (reads === 1) throw new Error("no");
    return `read ${reads}`;
  };
  const early = await Promise.allSettled([kept.get("a", read), kept.get("a", read)]);
  expect(early.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect([await kept.get("a", read), await kept.get("a", read)]).toEqual(["read 2", "read 2"]);
  expect(await kept.get("b", read)).toBe("read 3");
});
