/** What a member takes of others: only what it is for them to say. */
import { describe, expect, it, onTestFinished } from "vitest";
import { nodeCrypto, silentLogger } from "fleetwright";
import type { ClusterHandlers } from "fleetwright/ports";
import { FakeClock } from "fleetwright/testing";
import { FramedCluster } from "../../lib/cluster/framed-cluster.ts";
import type { ClusterFrame } from "../../lib/cluster/frames.ts";
import type { ClusterLink, LinkEnds } from "../../lib/cluster/link.ts";
import { settleAll } from "../support/deferred.ts";

/** A link whose other processes are played by the test. */
class PlayedLink implements ClusterLink {
  ends!: LinkEnds;
  readonly sent: { process: string; frame: ClusterFrame }[] = [];

  async start(_name: string, ends: LinkEnds): Promise<void> {
    this.ends = ends;
  }

  async stop(): Promise<void> {}

  send(process: string, frame: ClusterFrame): void {
    this.sent.push({ process, frame });
  }

  ring(): void {}
}

async function start(handlers: Partial<ClusterHandlers> = {}) {
  const link = new PlayedLink();
  const member = new FramedCluster(link, { isLossy: false });
  const context = { clock: new FakeClock(), crypto: nodeCrypto, logger: silentLogger };
  await member.start(context, { calls: new Map(), pipes: new Map(), ...handlers });
  onTestFinished(() => member.stop());
  return { member, link };
}

const refusal = { code: "NOT_FOUND", message: "Not here.", details: {} };

describe("a call", () => {
  it.each<[string, (id: number) => ClusterFrame]>([
    ["answer", (id) => ({ kind: "answer", id, body: '{"from":"a stranger"}' })],
    ["refusal", (id) => ({ kind: "failure", id, error: refusal })],
  ])("waits for who was asked, whatever %s comes from somebody else", async (_, toFrame) => {
    const { member, link } = await start();
    const asked = member.call("asked", "work", { body: {}, timeoutMs: 60_000 });
    await settleAll();
    const { id } = link.sent[0]!.frame as Extract<ClusterFrame, { kind: "call" }>;
    link.ends.receive("stranger", toFrame(id));
    link.ends.gone("stranger");
    link.ends.receive("asked", { kind: "answer", id, body: '{"from":"who was asked"}' });
    expect(await asked).toEqual({ from: "who was asked" });
    // Nobody waits any more.
    link.ends.receive("asked", toFrame(id));
    expect(link.sent).toHaveLength(1);
  });

  it("is answered to who made it, and one of the same number to who made that", async () => {
    const calls = new Map([["name", async ({ from }: { from: string }) => ({ from })]]);
    const { link } = await start({ calls });
    for (const process of ["one", "two"])
      link.ends.receive(process, { kind: "call", id: 7, method: "name", body: "{}" });
    await settleAll();
    expect(link.sent).toEqual([
      { process: "one", frame: { kind: "answer", id: 7, body: '{"from":"one"}' } },
      { process: "two", frame: { kind: "answer", id: 7, body: '{"from":"two"}' } },
    ]);
  });
});

/** A pipe to a process that has taken it. */
async function openPipe() {
  const { member, link } = await start();
  const opening = member.open("asked", "stream", { body: {} });
  await settleAll();
  const { pipe: id } = link.sent[0]!.frame as Extract<ClusterFrame, { kind: "open" }>;
  const place = { pipe: id, by: "server" } as const;
  link.ends.receive("asked", { ...place, kind: "opened", number: 0 });
  return { link, place, pipe: await opening };
}

type Place = Awaited<ReturnType<typeof openPipe>>["place"];

describe("a pipe", () => {
  const data = (text: string) => ({ kind: "data", bytes: new TextEncoder().encode(text) }) as const;

  it.each<[string, (place: Place) => ClusterFrame]>([
    ["data", (place) => ({ ...place, ...data("stranger"), number: 1 })],
    ["the end", (place) => ({ ...place, kind: "end", number: 1 })],
    ["a refusal", (place) => ({ ...place, kind: "reset", error: refusal })],
  ])("hears of who has its other side, whatever %s comes from somebody else", async (_, toFrame) => {
    const { link, place, pipe } = await openPipe();
    link.ends.receive("stranger", toFrame(place));
    link.ends.gone("stranger");
    link.ends.receive("asked", { ...place, ...data("mine"), number: 1 });
    expect(new TextDecoder().decode((await pipe.read()) ?? undefined)).toBe("mine");
    expect(pipe.signal.aborted).toBe(false);
    link.ends.gone("asked");
    expect(pipe.signal.reason).toMatchObject({ code: "UNAVAILABLE", details: { reason: "gone" } });
  });
});
