/** Members of a cluster: what they have in hand for others, what they forget, and what a lost process leaves. */
import { getEventListeners } from "node:events";
import { describe, expect, it, onTestFinished } from "vitest";
import { nodeCrypto, silentLogger, type Cluster, type Logger } from "fleetwright";
import type { ClusterHandlers, Pipe } from "fleetwright/ports";
import { FakeClock, MemoryCluster } from "fleetwright/testing";
import { maxCalls, maxPipes } from "../../lib/cluster/limits.ts";
import { LocalCluster } from "../../lib/cluster/local-cluster.ts";
import { deferred, settleAll } from "../support/deferred.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

async function start(
  member: Cluster,
  clock: FakeClock,
  handlers: Partial<ClusterHandlers> = {},
  logger: Logger = silentLogger,
) {
  const context = { clock, crypto: nodeCrypto, logger };
  await member.start(context, { calls: new Map(), pipes: new Map(), ...handlers });
  onTestFinished(() => member.stop());
}

async function pair(handlers: Partial<ClusterHandlers>) {
  const clock = new FakeClock();
  const cluster = new MemoryCluster({ clock });
  const [here, there] = [cluster.member(), cluster.member()];
  await start(here, clock, handlers);
  await start(there, clock, handlers);
  return { clock, cluster, here, there };
}

const untilAborted = ({ pipe }: { pipe: Pipe }): Promise<void> =>
  new Promise((resolve) => pipe.signal.addEventListener("abort", () => resolve()));
const busy = { code: "UNAVAILABLE", details: { reason: "busy" } };

describe("a member", () => {
  it("answers no more calls at once than it may, and takes the next when one is answered", async () => {
    const release = deferred();
    const { here, there } = await pair({
      calls: new Map([["wait", () => release.promise.then(() => ({}))]]),
    });
    const call = { body: {}, timeoutMs: 60_000 };
    const calls = Array.from({ length: maxCalls }, () => here.call(there.name, "wait", call));
    await expect(here.call(there.name, "wait", call)).rejects.toMatchObject(busy);
    release.resolve();
    await Promise.all(calls);
    expect(await here.call(there.name, "wait", call)).toEqual({});
  });

  it("has no more pipes than it may, and room again when they are given up", async () => {
    const { here, there } = await pair({ pipes: new Map([["wait", untilAborted]]) });
    const open = (): Promise<Pipe> => here.open(there.name, "wait", { body: {} });
    const pipes = await Promise.all(Array.from({ length: maxPipes }, open));
    await expect(open()).rejects.toMatchObject(busy);
    await expect(there.open(here.name, "wait", { body: {} })).rejects.toMatchObject(busy);
    for (const pipe of pipes) pipe.abort();
    await settleAll();
    await expect(open()).resolves.toBeDefined();
  });

  it("counts the pipes that it opens and those that it serves by themselves, whoever has the other side", async () => {
    const handlers = { pipes: new Map([["wait", untilAborted]]) };
    const { clock, cluster, here, there } = await pair(handlers);
    const third = cluster.member();
    await start(third, clock, handlers);
    const open = (from: Cluster, to: Cluster): Promise<Pipe> => from.open(to.name, "wait", { body: {} });
    const half = Array.from({ length: maxPipes / 2 });
    // Each has half of what it may, but `here`, which has all.
    const pipes = await Promise.all(half.flatMap(() => [open(here, there), open(here, third)]));
    await expect(open(here, there)).rejects.toMatchObject(busy);
    await expect(open(there, here)).rejects.toMatchObject(busy);
    pipes[0]?.abort();
    await settleAll();
    await expect(open(there, here)).resolves.toBeDefined();
    await expect(open(third, here)).rejects.toMatchObject(busy);
  });

  it("sets no timer while it has nothing open", async () => {
    const { clock, here, there } = await pair({
      calls: new Map([["same", async ({ body }) => body]]),
      pipes: new Map([["wait", untilAborted]]),
    });
    await here.call(there.name, "same", { body: {}, timeoutMs: 60_000 });
    const pipe = await here.open(there.name, "wait", { body: {} });
    expect(clock.pendingTimers).toBe(2);
    pipe.abort();
    await settleAll();
    expect(clock.pendingTimers).toBe(0);
  });

  it("hears soon of a pipe that the other side does not know any more", async () => {
    const served: Pipe[] = [];
    const serve = (opened: { pipe: Pipe }): Promise<void> => {
      served.push(opened.pipe);
      return untilAborted(opened);
    };
    const { clock, cluster, here, there } = await pair({ pipes: new Map([["wait", serve]]) });
    const pipe = await here.open(there.name, "wait", { body: {} });
    cluster.cut(here, there);
    pipe.abort();
    await settleAll();
    cluster.mend(here, there);
    expect(served.map(({ signal }) => signal.aborted)).toEqual([false]);
    // Long before it counts as silent: its next beat finds nobody.
    await clock.advance(2_000);
    await settleAll();
    expect(served[0]?.signal.reason).toMatchObject({ details: { reason: "closed" } });
  });

  it("learns of one that was killed with the next thing that it sends", async () => {
    const { clock, cluster, here, there } = await pair({ pipes: new Map([["wait", untilAborted]]) });
    const { name } = there;
    const pipe = await here.open(name, "wait", { body: {} });
    cluster.kill(there);
    const call = here.call(name, "same", { body: {}, timeoutMs: 60_000 });
    await expect(call).rejects.toMatchObject({ details: { reason: "gone" } });
    await expect(pipe.read()).rejects.toMatchObject({ details: { reason: "gone" } });
    await clock.advance(10_000);
  });

  it("says why a call was not answered", async () => {
    const { clock, cluster, here, there } = await pair({});
    const call = { body: {}, timeoutMs: 500 };
    cluster.cut(here, there);
    const cutOff = here.call(there.name, "any", call);
    cutOff.catch(() => {});
    await clock.advance(500);
    await expect(cutOff).rejects.toMatchObject({ details: { reason: "timeout" }, retryable: true });
    cluster.isolate(here);
    await expect(here.call(there.name, "any", call)).rejects.toMatchObject({ details: { reason: "down" } });
  });
});

describe("a member that leaves", () => {
  const call = { body: {}, timeoutMs: 60_000 };

  /** One that has a call and a pipe of another in hand, neither of which ends by itself, and was told to stop. */
  async function leaving() {
    const release = { call: deferred(), pipe: deferred() };
    const begun: string[] = [];
    const serve = (name: string, until: Promise<void>) => async (): Promise<Record<string, never>> => {
      begun.push(name);
      await until;
      return {};
    };
    const scene = await pair({
      calls: new Map([["wait", serve("call", release.call.promise)]]),
      pipes: new Map([["wait", async () => void (await serve("pipe", release.pipe.promise)())]]),
    });
    const { here, there } = scene;
    const answer = here.call(there.name, "wait", call);
    const pipe = await here.open(there.name, "wait", { body: {} });
    let ended = 0;
    const { name } = there;
    const stops = [there.stop(), there.stop()].map((stop) => stop.then(() => (ended += 1)));
    return { ...scene, name, begun, answer, pipe, release, stops: Promise.all(stops), ended: () => ended };
  }

  it.each<["call" | "pipe", "call" | "pipe"]>([
    ["call", "pipe"],
    ["pipe", "call"],
  ])(
    "is gone when neither a %s nor a %s of another runs there, for each who waits for it",
    async (first, last) => {
      const { release, stops, ended } = await leaving();
      release[first].resolve();
      await settleAll();
      expect(ended()).toBe(0);
      release[last].resolve();
      await stops;
    },
  );

  it("still brings the answers of the calls that it has in hand", async () => {
    const { release, answer, stops } = await leaving();
    release.call.resolve();
    expect(await answer).toEqual({});
    release.pipe.resolve();
    await stops;
  });

  it("begins nothing for others any more", async () => {
    const { here, name, begun, answer, release, stops } = await leaving();
    const late = [here.call(name, "wait", call), here.open(name, "wait", { body: {} })];
    const ends = Promise.allSettled([...late, answer]);
    await settleAll();
    release.call.resolve();
    release.pipe.resolve();
    await stops;
    expect(begun).toEqual(["call", "pipe"]);
    const gone = { status: "rejected", reason: { code: "UNAVAILABLE", details: { reason: "gone" } } };
    expect(await ends).toMatchObject([gone, gone, { status: "fulfilled" }]);
  });

  it("is down for good, and hears no rings, whatever becomes of what joins them", async () => {
    const rung: number[] = [];
    const release = deferred();
    const { cluster, here, there } = await pair({
      calls: new Map([["wait", () => release.promise.then(() => ({}))]]),
      rang: (_, position) => rung.push(position),
    });
    const answer = here.call(there.name, "wait", call);
    await settleAll();
    here.ring(1);
    await settleAll();
    const stopped = there.stop();
    here.ring(2);
    cluster.isolate(there);
    cluster.rejoin(there);
    await settleAll();
    const meanwhile = there.state;
    release.resolve();
    await Promise.all([answer, stopped]);
    expect([meanwhile, there.state]).toEqual(["down", "down"]);
    expect(rung).toEqual([1]);
  });
});

describe("what a member does for others", () => {
  it.each(["call", "pipe"] as const)("is logged with its error where a %s breaks", async (kind) => {
    const logger = new RecordingLogger();
    const clock = new FakeClock();
    const cluster = new MemoryCluster({ clock });
    const [here, there] = [cluster.member(), cluster.member()];
    const fault = new TypeError("Cannot read properties of undefined");
    const fail = async (): Promise<never> => {
      throw fault;
    };
    await start(here, clock);
    await start(
      there,
      clock,
      { calls: new Map([["break", fail]]), pipes: new Map([["break", fail]]) },
      logger,
    );
    if (kind === "call")
      await expect(here.call(there.name, "break", { body: {}, timeoutMs: 60_000 })).rejects.toMatchObject({
        code: "INTERNAL",
      });
    else {
      const pipe = await here.open(there.name, "break", { body: {} });
      await expect(pipe.read()).rejects.toMatchObject({ code: "INTERNAL" });
    }
    expect(logger.lines).toMatchObject([
      { level: "error", message: `A ${kind} of another process failed.`, fields: { error: fault } },
    ]);
  });

  it.each<[string, (pipe: Pipe, end: AbortController) => unknown]>([
    ["is given up", (pipe) => pipe.abort()],
    ["has come to its end", (pipe) => pipe.end()],
  ])("takes no listener of the signal of a pipe that %s", async (_, finish) => {
    const serve = async ({ pipe }: { pipe: Pipe }): Promise<void> => {
      while ((await pipe.read()) !== null);
    };
    const { here, there } = await pair({ pipes: new Map([["read", serve]]) });
    const end = new AbortController();
    const pipe = await here.open(there.name, "read", { body: {}, signal: end.signal });
    expect(getEventListeners(end.signal, "abort")).toHaveLength(1);
    await finish(pipe, end);
    await settleAll();
    expect(getEventListeners(end.signal, "abort")).toEqual([]);
  });
});

describe("the local cluster", () => {
  it("passes bytes by without copying them, and sets no timer for a pipe", async () => {
    const clock = new FakeClock();
    const cluster = new LocalCluster();
    const got: Uint8Array[] = [];
    const take = async ({ pipe }: { pipe: Pipe }): Promise<void> => {
      for (let bytes = await pipe.read(); bytes !== null; bytes = await pipe.read()) got.push(bytes);
    };
    await start(cluster, clock, { pipes: new Map([["take", take]]) });
    const pipe = await cluster.open(cluster.name, "take", { body: {} });
    const bytes = new Uint8Array(1_000);
    await pipe.write(bytes);
    expect(clock.pendingTimers).toBe(0);
    await pipe.end();
    await settleAll();
    expect(got.map(({ buffer }) => buffer)).toEqual([bytes.buffer]);
    expect(got[0]?.buffer).toBe(bytes.buffer);
  });
});
