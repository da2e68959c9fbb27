/** Frames that nobody reads: so many at once are a flood, and as many over a day are none. */
import type { Message, Peer } from "crossws";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createSocketHooks } from "../../../adapters/h3/peer-socket.ts";
import type { FrameSocket } from "../../../lib/transport/socket.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

/** A connection of crossws, and how it was ended. */
function connected() {
  let socket: FrameSocket | undefined;
  const hooks = createSocketHooks((taken) => void (socket = taken));
  const counts = { terminated: 0, closed: 0, pinged: 0, resumed: 0 };
  const peer = {
    websocket: { pause() {}, resume: () => void (counts.resumed += 1) },
    remoteAddress: "192.0.2.1",
    bufferedAmount: 0,
    request: undefined,
    send() {},
    ping: () => void (counts.pinged += 1),
    close: () => void (counts.closed += 1),
    terminate: () => void (counts.terminated += 1),
  } as unknown as Peer;
  void hooks.open!(peer);
  return { hooks, peer, counts, socket: socket! };
}

const frame = { rawData: "x", uint8Array: () => new Uint8Array(1) } as unknown as Message;

const unread = {
  "pings of its own": ({ hooks, peer }: ReturnType<typeof connected>) => void hooks.ping!(peer, {} as never),
  "pongs that nobody asked for": ({ hooks, peer }: ReturnType<typeof connected>) =>
    void hooks.pong!(peer, {} as never),
  "frames after it was told to go": (at: ReturnType<typeof connected>) => {
    at.socket.close(1000, "");
    void at.hooks.message!(at.peer, frame);
  },
};

test.each(Object.entries(unread))("a thousand %s go in 15 seconds, and one more ends it", (_, send) => {
  const at = connected();
  for (let count = 0; count < 1_000; count += 1) send(at);
  expect(at.counts.terminated).toBe(0);
  vi.advanceTimersByTime(15_000);
  send(at);
  expect(at.counts.terminated).toBe(1);
});

test.each(Object.entries(unread))(
  "%s are counted anew every 15 seconds, for as long as it lasts",
  (_, send) => {
    const at = connected();
    for (let window = 0; window < 10; window += 1) {
      for (let count = 0; count < 1_000; count += 1) send(at);
      vi.advanceTimersByTime(15_001);
    }
    expect(at.counts.terminated).toBe(0);
    // And each time as strictly as before.
    for (let count = 0; count < 1_001; count += 1) send(at);
    expect(at.counts.terminated).toBe(1);
  },
);

test("a sign of life that was asked for is never counted, also where the answers come together", async () => {
  const at = connected();
  for (let round = 0; round < 3; round += 1) {
    const probes = Array.from({ length: 1_000 }, () => at.socket.probe());
    expect(at.counts.pinged).toBe(1_000 * (round + 1));
    for (let count = 0; count < 1_000; count += 1) void at.hooks.pong!(at.peer, {} as never);
    await Promise.all(probes);
  }
  expect(at.counts.terminated).toBe(0);
});

test("one that is over is asked for nothing more, and told of its end once", () => {
  const at = connected();
  const ends: [number, string][] = [];
  at.socket.listen({ frame() {}, closed: (...end) => void ends.push(end) });
  void at.hooks.close!(at.peer, { code: 1001, reason: "gone" });
  void at.hooks.close!(at.peer, {});
  void at.socket.probe();
  at.socket.close(1000, "");
  at.socket.destroy();
  expect(ends).toEqual([[1001, "gone"]]);
  expect(at.counts).toMatchObject({ pinged: 0, closed: 0, terminated: 0 });
});

test("one that ends without a code says that there was none", () => {
  const at = connected();
  const ends: [number, string][] = [];
  at.socket.listen({ frame() {}, closed: (...end) => void ends.push(end) });
  void at.hooks.close!(at.peer, {});
  expect(ends).toEqual([[1005, ""]]);
});
