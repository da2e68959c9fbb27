/** Three members, of which one goes: what the two others have with each other goes on. */
import { expect, it, onTestFinished } from "vitest";
import { nodeCrypto, silentLogger, type Cluster } from "fleetwright";
import type { Pipe } from "fleetwright/ports";
import { FakeClock, MemoryCluster } from "fleetwright/testing";
import { deferred, settleAll } from "../support/deferred.ts";

const untilAborted = ({ pipe }: { pipe: Pipe }): Promise<void> =>
  new Promise((resolve) => pipe.signal.addEventListener("abort", () => resolve()));

type Go = (gone: Cluster, cluster: MemoryCluster, others: Cluster[]) => unknown;

const ways: [name: string, go: Go][] = [
  ["is stopped", (gone) => gone.stop()],
  ["is cut off", (gone, cluster, others) => others.forEach((each) => cluster.cut(gone, each))],
];

it.each(ways)("a call and a pipe to another are kept when a member %s", async (_, go) => {
  const clock = new FakeClock();
  const cluster = new MemoryCluster({ clock });
  const [here, there, gone] = [cluster.member(), cluster.member(), cluster.member()];
  const release = deferred();
  for (const member of [here, there, gone]) {
    const calls = new Map([["wait", () => release.promise.then(() => ({ is: "answered" }))]]);
    const pipes = new Map([["wait", untilAborted]]);
    const context = { clock, crypto: nodeCrypto, logger: silentLogger };
    await member.start(context, { calls, pipes });
    onTestFinished(() => member.stop());
  }
  onTestFinished(() => release.resolve());
  const call = { body: {}, timeoutMs: 600_000 };
  const [kept, lost] = await Promise.all(
    [there, gone].map(({ name }) => here.open(name, "wait", { body: {} })),
  );
  const answered = here.call(there.name, "wait", call);
  const unanswered = here.call(gone.name, "wait", { ...call, timeoutMs: 60_000 });
  unanswered.catch(() => {});
  await go(gone, cluster, [here, there]);
  await clock.advance(120_000);
  await settleAll();
  await expect(unanswered).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect([lost!.signal.aborted, kept!.signal.aborted]).toEqual([true, false]);
  release.resolve();
  expect(await answered).toEqual({ is: "answered" });
  kept!.abort();
});
