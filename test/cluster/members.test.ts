/** Members of a cluster: what they have in hand for others, what they forget, and what a lost process leaves. */
import { describe, expect, it, onTestFinished } from "vitest";
import { nodeCrypto, silentLogger, type Cluster } from "fleetwright";
import type { ClusterHandlers, Pipe } from "fleetwright/ports";
import { FakeClock, MemoryCluster } from "fleetwright/testing";
import { maxCalls, maxPipes } from "../../lib/cluster/limits.ts";
import { LocalCluster } from "../../lib/cluster/local-cluster.ts";
import { deferred, settleAll } from "../support/deferred.ts";

async function start(member: Cluster, clock: FakeClock, handlers: Partial<ClusterHandlers> = {}) {
  const context = { clock, crypto: nodeCrypto, logger: silentLogger };
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
