import { expect, it } from "vitest";
import { KeyedQueue } from "../../lib/internal/keyed-queue.ts";
import { SharedCalls } from "../../lib/internal/shared-answers.ts";
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
