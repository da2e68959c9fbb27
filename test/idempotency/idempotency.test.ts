import { expect, it } from "vitest";
import { OrchestratorError, type Caller, type KeyedCall } from "fleetwright";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { answering, answeringOnce } from "../../lib/callers/caller.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { RacingStorage } from "../support/racing-storage.ts";

const call = (key: string, input: unknown = { a: 1 }): KeyedCall => ({
  key,
  permission: "modules.upload",
  input,
});

/** A call that counts how often it is made. */
function counted<Output>(make: (made: number) => Output | Promise<Output>) {
  const counter = { made: 0, run: async () => make((counter.made += 1)) };
  return counter;
}

/** A commit of a call that goes on after it. */
const changeAs = ({ orchestrator }: TestOrchestrator, caller: Caller) =>
  servicesOf(orchestrator).operations.store.create(caller, [], {
    writes: [{ kind: "put", collection: "settings", key: "changed", value: {} }],
  });

const stored = async ({ storage }: TestOrchestrator) => (await storage.list("idempotent_calls", {})).items;

it("makes a call once, and answers as the first time for 24 hours", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const counter = counted((made) => ({ made, list: [1, null] }));
  const { idempotency } = test.orchestrator;
  const first = await idempotency.once(caller, call("k1"), counter.run);
  await test.clock.advance(23 * 3_600_000);
  expect(await idempotency.once(caller, call("k1"), counter.run)).toEqual(first);
  expect(counter.made).toBe(1);
  await test.clock.advance(2 * 3_600_000);
  expect(await idempotency.once(caller, call("k1"), counter.run)).toEqual({ made: 2, list: [1, null] });
});

it("answers a call that returns nothing with nothing", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const counter = counted(() => undefined);
  for (let times = 0; times < 2; times += 1)
    expect(await test.orchestrator.idempotency.once(caller, call("k1"), counter.run)).toBeUndefined();
  expect(counter.made).toBe(1);
});

it("refuses the key with another input, and keeps operators and verbs apart", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator", "one");
  const other = await test.signIn("Operator", "two");
  const { idempotency } = test.orchestrator;
  const counter = counted((made) => made);
  await idempotency.once(caller, call("k1"), counter.run);
  await expect(idempotency.once(caller, call("k1", { a: 2 }), counter.run)).rejects.toMatchObject({
    code: "IDEMPOTENCY_KEY_REUSED",
  });
  expect(await idempotency.once(other.caller, call("k1", { a: 2 }), counter.run)).toBe(2);
  const otherVerb: KeyedCall = { ...call("k1"), permission: "assignments.create" };
  expect(await idempotency.once(caller, otherVerb, counter.run)).toBe(3);
});

it("lets a second call wait for the first, and refuses another input meanwhile", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const gate = deferred<string>();
  const counter = counted(() => gate.promise);
  const [first, second] = [0, 1].map(() => idempotency.once(caller, call("k1"), counter.run));
  const third = idempotency.once(caller, call("k1", {}), counter.run);
  await expect(third).rejects.toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
  gate.resolve("done");
  expect(await Promise.all([first, second])).toEqual(["done", "done"]);
  expect(counter.made).toBe(1);
});

it("answers with a refusal again, and forgets those after which trying again makes sense", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const issues = [{ path: ["name"], message: "is taken" }];
  const refusing = (code: "ALREADY_EXISTS" | "AGENT_OFFLINE" | "VALIDATION_FAILED") =>
    counted(() => Promise.reject(new OrchestratorError(code, { issues, details: { n: 1 }, message: "No." })));
  const kept = refusing("ALREADY_EXISTS");
  for (let times = 0; times < 2; times += 1) {
    await expect(idempotency.once(caller, call("kept"), kept.run)).rejects.toMatchObject({
      code: "ALREADY_EXISTS",
      message: "No.",
      details: { n: 1 },
      issues,
    });
  }
  expect(kept.made).toBe(1);
  for (const code of ["AGENT_OFFLINE", "VALIDATION_FAILED"] as const) {
    const forgotten = refusing(code);
    await expect(idempotency.once(caller, call(code), forgotten.run)).rejects.toMatchObject({ code });
    expect(await idempotency.once(caller, call(code, { mended: true }), async () => "well")).toBe("well");
  }
});

it("does not make a call again whose process ended after its first commit, where its answer was not known by then", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  let claims: Awaited<ReturnType<typeof stored>> = [];
  await test.orchestrator.idempotency.once(caller, call("k1"), async (claiming) => {
    expect(await stored(test)).toEqual([]);
    await changeAs(test, claiming);
    claims = await stored(test);
    expect(claims).toHaveLength(1);
  });
  // What a process leaves behind that is killed while it makes the call.
  const { key, value } = claims[0]!;
  await test.storage.commit([{ kind: "put", collection: "idempotent_calls", key, value: { ...value } }]);
  const counter = counted(() => "made");
  const repeat = () => test.orchestrator.idempotency.once(caller, call("k1"), counter.run);
  await expect(repeat()).rejects.toMatchObject({ code: "IDEMPOTENCY_ANSWER_UNKNOWN" });
  expect(counter.made).toBe(0);
  await test.clock.advance(25 * 3_600_000);
  expect(await repeat()).toBe("made");
});

it("does not make a call again that failed unexpectedly or whose answer was too large to keep", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const failing = counted(() => Promise.reject(new Error("a bug")));
  await expect(idempotency.once(caller, call("bug"), failing.run)).rejects.toThrow("a bug");
  const large = counted(() => "x".repeat(70_000));
  expect(await idempotency.once(caller, call("large"), large.run)).toHaveLength(70_000);
  for (const key of ["bug", "large"]) {
    await expect(idempotency.once(caller, call(key), large.run)).rejects.toMatchObject({
      code: "IDEMPOTENCY_ANSWER_UNKNOWN",
    });
  }
  expect([failing.made, large.made]).toEqual([1, 1]);
  expect(JSON.stringify(await stored(test)).length).toBeLessThan(2_000);
});

it("does not make a call again that failed for a moment after it had changed something, and says how it ended", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const counter = counted(() => "made");
  for (const code of ["AGENT_OFFLINE", "VALIDATION_FAILED"] as const) {
    const failing = idempotency.once(caller, call(code), async (claiming) => {
      await changeAs(test, claiming);
      throw new OrchestratorError(code);
    });
    await expect(failing).rejects.toMatchObject({ code });
    await expect(idempotency.once(caller, call(code), counter.run)).rejects.toMatchObject({
      code: "IDEMPOTENCY_ANSWER_UNKNOWN",
      message: expect.stringContaining("it failed unexpectedly"),
    });
  }
  expect(counter.made).toBe(0);
});

it("keeps nothing for strangers, and nothing of the input in the clear", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const counter = counted((made) => made);
  const { idempotency } = test.orchestrator;
  expect(await idempotency.once({ kind: "anonymous" }, call("k1"), counter.run)).toBe(1);
  expect(await idempotency.once({ kind: "anonymous" }, call("k1"), counter.run)).toBe(2);
  expect(await stored(test)).toEqual([]);
  await idempotency.once(caller, call("k1", { value: "hunter2" }), counter.run);
  expect(JSON.stringify(await stored(test))).not.toContain("hunter2");
});

it("refuses a key that can't be one, and a caller who may not make the call, also when it was made before", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  for (const key of ["", "with space", "ä", "x".repeat(256)]) {
    await expect(idempotency.once(caller, call(key), async () => 1)).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
  }
  await idempotency.once(caller, call("k1"), async () => 1);
  const demoted = { ...caller, role: "Viewer" } as const;
  await expect(idempotency.once(demoted, call("k1"), async () => 1)).rejects.toMatchObject({
    code: "FORBIDDEN",
  });
});

it("removes expired calls by itself", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  for (let n = 0; n < 250; n += 1)
    await test.orchestrator.idempotency.once(caller, call(`k${n}`), async () => n);
  expect((await test.storage.list("idempotent_calls", { limit: 1000 })).items).toHaveLength(250);
  await test.clock.advance(25 * 3_600_000);
  expect(await stored(test)).toEqual([]);
});

it("forgets no key that another process keeps for longer in the very moment in which it is forgotten", async () => {
  const storage = new RacingStorage((writes) =>
    writes.some((write) => write.kind === "delete" && write.collection === "idempotent_calls"),
  );
  await using test = await createTestOrchestrator({ storage });
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  await test.clock.advance(300_000);
  await idempotency.once(caller, call("k1"), async () => 1);
  storage.before = async () => {
    const [{ key, revision, value }] = (await stored(test)) as [Awaited<ReturnType<typeof stored>>[number]];
    const expires_at = test.clock.now() + 24 * 3_600_000;
    const longer = { ...value, expires_at };
    await storage.commit([
      { kind: "put", collection: "idempotent_calls", key, value: longer, expected: revision },
    ]);
  };
  await test.clock.advance(24 * 3_600_000 + 600_000);
  expect(storage.before).toBeNull();
  expect(await idempotency.once(caller, call("k1"), async () => 2)).toBe(1);
});

it("gives the first caller the answer even where it can't be kept", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const answer = await idempotency.once(caller, call("k1"), async (claiming) => {
    await changeAs(test, claiming);
    // Somebody removes the claim: the note of the answer finds another revision.
    const [claim] = await stored(test);
    await test.storage.commit([{ kind: "delete", collection: "idempotent_calls", key: claim!.key }]);
    return "made";
  });
  expect(answer).toBe("made");
});

it("takes a mended If-Match for another call, and keeps no answer where the version was not the demanded one", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const stale = counted(() => Promise.reject(new OrchestratorError("PRECONDITION_FAILED")));
  const first = { ...call("k1"), ifMatch: '"1"' };
  await expect(idempotency.once(caller, first, stale.run)).rejects.toMatchObject({
    code: "PRECONDITION_FAILED",
  });
  const mended = { ...first, ifMatch: '"2"' };
  expect(await idempotency.once(caller, mended, async () => "changed")).toBe("changed");
  await expect(idempotency.once(caller, first, async () => "again")).rejects.toMatchObject({
    code: "IDEMPOTENCY_KEY_REUSED",
  });
  expect(await idempotency.once(caller, mended, async () => "again")).toBe("changed");
});

it.each(["after", "with"])(
  "keeps 8 MiB of answers of an operator that are known %s the effect, and beyond that only that a call was made",
  async (when) => {
    await using test = await createTestOrchestrator();
    const { caller } = await test.signIn("Operator", "one");
    const other = await test.signIn("Operator", "two");
    const { idempotency } = test.orchestrator;
    // With its quotes, 64 KiB of JSON in two bytes a character.
    const answer = "\u00e4".repeat(32_767);
    const make = async (by: Caller): Promise<string> => {
      if (when === "with") await changeAs(test, answering(by, answer));
      return answer;
    };
    for (let n = 0; n < 129; n += 1) await idempotency.once(caller, call(`k${n}`), make);
    expect(await idempotency.once(caller, call("k127"), async () => "again")).toBe(answer);
    await expect(idempotency.once(caller, call("k128"), async () => "again")).rejects.toMatchObject({
      code: "IDEMPOTENCY_ANSWER_UNKNOWN",
    });
    await idempotency.once(other.caller, call("k1"), make);
    expect(await idempotency.once(other.caller, call("k1"), async () => "again")).toBe(answer);
    await test.clock.advance(25 * 3_600_000);
    await idempotency.once(caller, call("k128"), make);
    expect(await idempotency.once(caller, call("k128"), async () => "again")).toBe(answer);
  },
);

it("does not make a call again because the clock jumped ahead by a month", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const counter = counted((made) => made);
  const { idempotency } = test.orchestrator;
  await idempotency.once(caller, call("k1"), counter.run);
  test.clock.jump(30 * 86_400_000);
  await test.clock.advance(1_200_000);
  expect(await idempotency.once(caller, call("k1"), counter.run)).toBe(1);
  expect(await stored(test)).toHaveLength(1);
});

it("says when the oldest of too many keys is forgotten", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  await idempotency.once(caller, call("oldest"), async () => 1);
  await test.clock.advance(4 * 3_600_000);
  for (let n = 1; n < 10_000; n += 1) await idempotency.once(caller, call(`k${n}`), async () => n);
  await expect(idempotency.once(caller, call("more"), async () => 1)).rejects.toMatchObject({
    code: "RATE_LIMITED",
    details: { retry_after_seconds: 20 * 3_600 + 600 },
  });
});

it("counts a key that is used again after its day once, also before the old call was forgotten", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  // What has expired is forgotten every ten minutes: not yet where a day is over in between.
  await test.clock.advance(300_000);
  await idempotency.once(caller, call("again"), async () => 1);
  await test.clock.advance(24 * 3_600_000);
  for (let n = 1; n < 9_999; n += 1) await idempotency.once(caller, call(`k${n}`), async () => n);
  expect(await idempotency.once(caller, call("again"), async () => 2)).toBe(2);
  expect(await idempotency.once(caller, call("last"), async () => 3)).toBe(3);
  await expect(idempotency.once(caller, call("more"), async () => 1)).rejects.toMatchObject({
    code: "RATE_LIMITED",
  });
});

it("tells of a conflict of the call's own, and not that somebody took its key", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const { store } = servicesOf(test.orchestrator).operations;
  const changing = (expected: number) =>
    idempotency.once(caller, call("k1"), (claiming) =>
      store.create(claiming, [], {
        writes: [{ kind: "put", collection: "settings", key: "changed", value: {}, expected }],
      }),
    );
  await expect(changing(7)).rejects.toMatchObject({ code: "REVISION_CONFLICT" });
  await changing(0);
  expect(await test.storage.get("settings", "changed")).not.toBeNull();
});

it("never keeps an answer that is a secret, and makes the call no second time", async () => {
  await using test = await createTestOrchestrator();
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const counter = counted(() => "made");
  const once = () =>
    idempotency.once(caller, call("k1"), async (claiming) => {
      await changeAs(test, answeringOnce(claiming));
      await counter.run();
      return "hunter2";
    });
  expect(await once()).toBe("hunter2");
  expect(JSON.stringify(await stored(test))).not.toContain("hunter2");
  await expect(once()).rejects.toMatchObject({ code: "IDEMPOTENCY_ANSWER_UNKNOWN" });
  expect(counter.made).toBe(1);
});

it("a key that is used again in the moment in which it is forgotten is free", async () => {
  const clock = new FakeClock();
  const storage = new RacingStorage((writes) =>
    writes.every((write) => write.kind === "delete" && write.collection === "idempotent_calls"),
  );
  await using test = await createTestOrchestrator({ clock, storage });
  const { caller } = await test.signIn("Operator");
  const { idempotency } = test.orchestrator;
  const counter = counted((made) => made);
  const gate = deferred();
  const change = async (claiming: Caller): Promise<number> => {
    if (counter.made > 0) await gate.promise;
    await changeAs(test, claiming);
    return counter.run();
  };
  await idempotency.once(caller, call("k1"), change);
  let again: Promise<number> | undefined;
  // It has looked at the old call, and is under way, when that goes.
  storage.before = async () => {
    again = idempotency.once(caller, call("k1"), change);
    await settleAll();
  };
  await clock.advance(25 * 3_600_000);
  await settleAll();
  expect(storage.before).toBeNull();
  gate.resolve();
  expect(await again).toBe(2);
  expect(await idempotency.once(caller, call("k1"), change)).toBe(2);
});
