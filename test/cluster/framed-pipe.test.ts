import { describe, expect, it } from "vitest";
import { FramedPipe } from "../../lib/cluster/framed-pipe.ts";
import type { ClusterError, PipeStep } from "../../lib/cluster/frames.ts";
import { maxFrameBytes, silenceMs, windowBytes } from "../../lib/cluster/limits.ts";

/** One side of a pipe by itself, with all that it says. */
function side(): {
  pipe: FramedPipe;
  said: { step: PipeStep; number: number }[];
  resets: ClusterError[];
  pass: (byMs: number) => void;
} {
  const said: { step: PipeStep; number: number }[] = [];
  const resets: ClusterError[] = [];
  let now = 0;
  const pipe = new FramedPipe({
    send: (step, number) => said.push({ step, number }),
    reset: (error) => resets.push(error),
    over: () => {},
    now: () => now,
  });
  return { pipe, said, resets, pass: (byMs) => void (now += byMs) };
}

const data = (length: number): PipeStep => ({ kind: "data", bytes: new Uint8Array(length) });
const lost = (reason: string): object => ({ code: "UNAVAILABLE", details: { reason } });

describe("a pipe", () => {
  it.each<[string, (pipe: FramedPipe) => void]>([
    ["data that is missing", (pipe) => pipe.receive(data(1), 2)],
    ["a beat after what is missing", (pipe) => pipe.receive({ kind: "beat" }, 2)],
    ["an end after what is missing", (pipe) => pipe.receive({ kind: "end" }, 2)],
    ["data that comes twice", (pipe) => pipe.receive(data(1), 0)],
  ])("ends on both sides at a gap in the numbers: %s", async (_, receive) => {
    const { pipe, resets } = side();
    pipe.receive(data(1), 0);
    receive(pipe);
    await expect(pipe.read()).rejects.toMatchObject(lost("gap"));
    await expect(pipe.write(new Uint8Array(1))).rejects.toMatchObject(lost("gap"));
    expect(resets).toMatchObject([lost("gap")]);
  });

  it("numbers all that it says without a gap, beats, credits and ends too", async () => {
    const { pipe, said } = side();
    pipe.accept();
    pipe.beat();
    await pipe.write(new Uint8Array(maxFrameBytes + 1));
    for (let number = 0; number < 4; number += 1) pipe.receive(data(maxFrameBytes), number);
    for (let count = 0; count < 4; count += 1) await pipe.read();
    void pipe.end();
    pipe.receive({ kind: "end" }, 4);
    await pipe.read();
    expect(said.map(({ number }) => number)).toEqual(said.map((_, index) => index));
    expect(said.map(({ step }) => step.kind)).toEqual([
      "opened",
      "beat",
      "data",
      "data",
      "credit",
      "ended",
      "end",
    ]);
  });

  it.each<[string, PipeStep[]]>([
    ["a frame that is too long", [data(maxFrameBytes + 1)]],
    ["more than the window", Array.from({ length: 16 }, () => data(maxFrameBytes))],
    ["more empty frames than the window has room for", Array.from({ length: 4_097 }, () => data(0))],
    ["data after the end", [{ kind: "end" }, data(1)]],
  ])("refuses %s", (_, steps) => {
    const { pipe, resets } = side();
    steps.forEach((step, number) => pipe.receive(step, number));
    expect(resets).toMatchObject([lost("overrun")]);
    expect(pipe.signal.aborted).toBe(true);
  });

  it("takes the whole window, and no byte more before some of it was read", () => {
    const { pipe, resets } = side();
    for (let number = 0; number < 4_096; number += 1) pipe.receive(data(0), number);
    expect(resets).toEqual([]);
  });

  it("writes no more than it was granted, counts small frames as what they take, and goes on with more", async () => {
    for (const size of [1, 1_000, maxFrameBytes]) {
      const { pipe, said } = side();
      const writes = Array.from({ length: 5_000 }, () => pipe.write(new Uint8Array(size)));
      const settled = Promise.allSettled(writes);
      await new Promise((resolve) => setImmediate(resolve));
      const cost = size + 256;
      const sent = (): number => said.filter(({ step }) => step.kind === "data").length;
      expect(sent()).toBe(Math.floor(windowBytes / cost));
      pipe.receive({ kind: "credit", bytes: 2 * cost }, 0);
      await new Promise((resolve) => setImmediate(resolve));
      expect(sent()).toBe(Math.floor(windowBytes / cost) + 2);
      pipe.abort();
      expect((await settled).filter(({ status }) => status === "fulfilled").length).toBe(sent());
    }
  });

  it("grants what was read, a part of the window at a time", async () => {
    const { pipe, said } = side();
    for (let number = 0; number < 10; number += 1) pipe.receive(data(maxFrameBytes), number);
    for (let count = 0; count < 10; count += 1) await pipe.read();
    expect(said.map(({ step }) => step)).toEqual([
      { kind: "credit", bytes: 4 * (maxFrameBytes + 256) },
      { kind: "credit", bytes: 4 * (maxFrameBytes + 256) },
    ]);
  });

  it("ends when the other side was silent for too long, and not before", () => {
    const { pipe, resets, pass } = side();
    pass(silenceMs);
    pipe.beat();
    expect(resets).toEqual([]);
    pipe.receive({ kind: "beat" }, 0);
    pass(silenceMs);
    pipe.beat();
    expect(resets).toEqual([]);
    pass(1);
    pipe.beat();
    expect(resets).toMatchObject([lost("silent")]);
  });

  it("says nothing and hears nothing once it has failed", () => {
    const { pipe, said, resets } = side();
    pipe.wasReset({ code: "IN_USE", message: "Not now.", details: {} });
    pipe.receive(data(1), 7);
    pipe.abort();
    expect([said, resets]).toEqual([[], []]);
    expect(pipe.signal.reason).toMatchObject({ code: "IN_USE" });
  });

  it("writes nothing on, and says so, where it fails in the moment in which there is room again", async () => {
    const { pipe, said } = side();
    const most = windowBytes / (maxFrameBytes + 256);
    const writes = Array.from({ length: Math.ceil(most) + 2 }, () =>
      pipe.write(new Uint8Array(maxFrameBytes)),
    );
    const settled = Promise.allSettled([...writes, pipe.write(new Uint8Array(0))]);
    await new Promise((resolve) => setImmediate(resolve));
    const before = said.length;
    pipe.receive({ kind: "credit", bytes: windowBytes }, 0);
    // The bell has rung, and who waits has not heard it yet.
    pipe.wasReset({ code: "IN_USE", message: "Not now.", details: {} });
    const failed = (await settled).filter(({ status }) => status === "rejected");
    expect(failed).toHaveLength(writes.length + 1 - before);
    expect(failed.every((end) => "reason" in end && end.reason.code === "IN_USE")).toBe(true);
    expect(said).toHaveLength(before);
  });

  it("says that it ends once, however often it is ended", async () => {
    const { pipe, said } = side();
    const ends = [pipe.end(), pipe.end()];
    await new Promise((resolve) => setImmediate(resolve));
    pipe.receive({ kind: "ended" }, 0);
    await Promise.all([...ends, pipe.end()]);
    expect(said).toEqual([{ step: { kind: "end" }, number: 0 }]);
  });

  it("tells an error that this version does not know with its code and message", async () => {
    const { pipe } = side();
    pipe.wasReset({ code: "FROM_THE_FUTURE", message: "New.", details: {} });
    await expect(pipe.read()).rejects.toMatchObject({
      code: "PEER_ERROR",
      details: { code: "FROM_THE_FUTURE", message: "New." },
    });
  });
});
