import { expect, test } from "vitest";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import type { FrameSocket } from "../../lib/transport/socket.ts";

function hear(socket: FrameSocket): unknown[] {
  const heard: unknown[] = [];
  socket.listen({
    frame: (frame) => heard.push(frame),
    closed: (code, reason) => heard.push([code, reason]),
  });
  return heard;
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("delivers in order, later than the call, also what came before there was an owner", async () => {
  const [left, right] = createSocketPair("10.0.0.1");
  left.send("one");
  const heard = hear(right);
  left.send("two");
  expect(heard).toEqual([]);
  await settle();
  expect(heard).toEqual(["one", "two"]);
  expect(right.remoteAddress).toBe("10.0.0.1");
});

test("counts what the other end has not read, and holds it back while that pauses", async () => {
  const [left, right] = createSocketPair();
  const heard = hear(right);
  right.pause();
  left.send(new Uint8Array(100));
  left.send("x".repeat(50));
  await settle();
  expect(heard).toEqual([]);
  expect(left.bufferedBytes).toBe(150);
  right.resume();
  await settle();
  expect(heard).toHaveLength(2);
  expect(left.bufferedBytes).toBe(0);
});

test("an owner that pauses while it is handed a frame gets no further one", async () => {
  const [left, right] = createSocketPair();
  const heard: unknown[] = [];
  right.listen({
    frame: (frame) => {
      heard.push(frame);
      right.pause();
    },
    closed: () => {},
  });
  left.send("one");
  left.send("two");
  await settle();
  expect(heard).toEqual(["one"]);
});

test("closes after what was sent, once, and both ends hear it", async () => {
  const [left, right] = createSocketPair();
  const [atLeft, atRight] = [hear(left), hear(right)];
  right.send("lost: the left end has closed before it came");
  left.send("last words");
  left.close(1000, "done");
  left.close(1001, "again");
  left.send("too late");
  await settle();
  expect(atRight).toEqual(["last words", [1000, "done"]]);
  expect(atLeft).toEqual([[1000, "done"]]);
});

test("cut off, it drops what was not delivered, also to an end that pauses", async () => {
  const [left, right] = createSocketPair();
  const [atLeft, atRight] = [hear(left), hear(right)];
  right.pause();
  left.send("lost");
  left.destroy();
  left.destroy();
  right.pause();
  await settle();
  expect(atRight).toEqual([[1006, ""]]);
  expect(atLeft).toEqual([[1006, ""]]);
});

test("a probe is answered by the other end itself, once that reads, and never by one that is gone", async () => {
  const [left, right] = createSocketPair();
  hear(left);
  const heard = hear(right);
  const answered: string[] = [];
  void left.probe().then(() => answered.push("at once"));
  await settle();
  expect(answered).toEqual(["at once"]);
  right.pause();
  left.send("before");
  void left.probe().then(() => answered.push("late"));
  await settle();
  expect(answered).toEqual(["at once"]);
  right.resume();
  await settle();
  expect([heard, answered]).toEqual([["before"], ["at once", "late"]]);
  right.destroy();
  void left.probe().then(() => answered.push("from nobody"));
  await settle();
  expect(answered).toHaveLength(2);
});
