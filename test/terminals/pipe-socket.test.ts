/** Frames of a viewer over the pipe between two processes, however the bytes come: whole, in order, and both sides hear of the end. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { FramedPipe } from "../../lib/cluster/framed-pipe.ts";
import { PipeSocket } from "../../lib/terminals/pipe-socket.ts";
import { settleAll } from "../support/deferred.ts";

/** A socket on each side of a pipe, with what each hears. */
function connect() {
  const sides: FramedPipe[] = [];
  for (const [at, other] of [
    [0, 1],
    [1, 0],
  ] as const)
    sides[at] = new FramedPipe({
      send: (step, number) => queueMicrotask(() => sides[other]!.receive(step, number)),
      reset: (error) => queueMicrotask(() => sides[other]!.wasReset(error)),
      over: () => {},
      now: () => 0,
    });
  const [near, far] = sides.map((pipe) => {
    const heard: (string | Uint8Array)[] = [];
    const ends: [code: number, reason: string][] = [];
    const drained = { count: 0 };
    const socket = new PipeSocket(pipe, () => void (drained.count += 1));
    socket.listen({ frame: (frame) => void heard.push(frame), closed: (...end) => void ends.push(end) });
    return { pipe, socket, heard, ends, drained };
  });
  return { near: near!, far: far! };
}

const frames = [
  "",
  "text",
  "grün 🚒",
  new Uint8Array(),
  Uint8Array.of(0, 1, 2),
  "x".repeat(200_000),
  new Uint8Array(1_048_576),
];

/** A frame in so few words that a difference can be read. */
const told = (frame: string | Uint8Array): string =>
  `${typeof frame} of ${frame.length}: ${createHash("sha256").update(frame).digest("hex")}`;

describe("a socket over a pipe", () => {
  it("brings frames of either kind whole and in order, both ways at once", async () => {
    const { near, far } = connect();
    for (const frame of frames) {
      near.socket.send(frame);
      far.socket.send(frame);
    }
    expect(near.socket.bufferedBytes).toBeGreaterThan(1_200_000);
    await settleAll();
    for (const { heard, socket, drained } of [near, far]) {
      expect(heard.map(told)).toEqual(frames.map(told));
      expect(socket.bufferedBytes).toBe(0);
      expect(drained.count).toBeGreaterThan(0);
    }
  });

  it("hears frames byte by byte", async () => {
    const { near, far } = connect();
    const bytes = [1, 0, 0, 0, 2, 0x61, 0x62, 0, 0, 0, 0, 1, 7, 2, 0, 0, 0, 4, 0x0f, 0xa1, 0x6e, 0x6f];
    for (const byte of bytes) await near.pipe.write(Uint8Array.of(byte));
    await settleAll();
    expect(far.heard).toEqual(["ab", Buffer.of(7)]);
    expect(far.ends).toEqual([[4001, "no"]]);
  });

  it("closes with a code and a reason behind what was sent, and tells each side once", async () => {
    const { near, far } = connect();
    near.socket.send("last");
    near.socket.close(4000, "grün");
    near.socket.close(4001, "again");
    near.socket.send("late");
    await settleAll();
    expect(far.heard).toEqual(["last"]);
    expect([near.ends, far.ends]).toEqual([[[4000, "grün"]], [[4000, "grün"]]]);
    far.socket.destroy();
    await settleAll();
    expect(far.ends).toHaveLength(1);
  });

  it.each<[what: string, break_: (near: ReturnType<typeof connect>["near"]) => void]>([
    ["is destroyed", ({ socket }) => socket.destroy()],
    ["has its pipe given up", ({ pipe }) => pipe.abort()],
  ])("that %s is cut on both sides, and keeps no pipe", async (_what, break_) => {
    const { near, far } = connect();
    near.socket.send("before");
    await settleAll();
    break_(near);
    await settleAll();
    far.socket.close(1000, "");
    await settleAll();
    expect(far.heard).toEqual(["before"]);
    expect(far.ends).toEqual([[1006, ""]]);
    await expect(far.pipe.write(Uint8Array.of(1))).rejects.toMatchObject({ code: "CANCELLED" });
  });

  it("is cut by a frame that is larger than any, before that is there", async () => {
    const { near, far } = connect();
    await near.pipe.write(Uint8Array.of(0, 0, 0x10, 0, 1));
    await settleAll();
    expect([far.heard, far.ends]).toEqual([[], [[1006, ""]]]);
  });

  it("hands nothing over while it is paused, and all of it afterwards", async () => {
    const { near, far } = connect();
    far.socket.pause();
    near.socket.send("a");
    near.socket.send("b");
    await settleAll();
    // What was being read when it was paused may come.
    expect(far.heard.length).toBeLessThanOrEqual(1);
    far.socket.resume();
    await settleAll();
    expect(far.heard).toEqual(["a", "b"]);
  });
});
