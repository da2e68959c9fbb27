import { expect, it } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { admitViewer } from "../../lib/terminals/viewer-admission.ts";
import { createSocketPair } from "../../lib/transport/memory-socket.ts";
import type { SocketHandlers } from "../../lib/transport/socket.ts";
import { deferred } from "../support/deferred.ts";

it.each([
  ["says goodbye", "close", 1000],
  ["is cut off", "destroy", 1006],
] as const)(
  "a viewer that %s while its ticket is looked at is gone for what it was let in to",
  async (_, way, code) => {
    const [viewer, server] = createSocketPair("127.0.0.1");
    viewer.listen({ frame: () => {}, closed: () => {} });
    const asked = deferred();
    const looked = deferred<SocketHandlers>();
    const admit = (): Promise<SocketHandlers> => {
      asked.resolve();
      return looked.promise;
    };
    admitViewer(server, { clock: new FakeClock(), admit });
    viewer.send(JSON.stringify({ type: "attach", ticket: "t".repeat(43) }));
    await asked.promise;
    viewer[way](1000, "bye");
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    const heard: unknown[] = [];
    looked.resolve({ frame: (frame) => void heard.push(frame), closed: (code) => void heard.push(code) });
    await expect.poll(() => heard).toEqual([code]);
  },
);

it("a viewer that is refused while its ticket is looked at is not let in, however slowly its socket closes", async () => {
  const [viewer, server] = createSocketPair("127.0.0.1");
  viewer.listen({ frame: () => {}, closed: () => {} });
  const asked = deferred();
  const looked = deferred<SocketHandlers>();
  const admit = (): Promise<SocketHandlers> => {
    asked.resolve();
    return looked.promise;
  };
  const closed: number[] = [];
  // Reading goes on, and the other end hears of the close later.
  const slow = Object.assign(Object.create(server) as typeof server, {
    pause: () => {},
    close: (code: number) => void closed.push(code),
  });
  for (const name of ["listen", "send", "resume"] as const)
    Object.assign(slow, { [name]: server[name].bind(server) });
  admitViewer(slow, { clock: new FakeClock(), admit });
  viewer.send(JSON.stringify({ type: "attach", ticket: "t".repeat(43) }));
  await asked.promise;
  for (let frame = 0; frame < 20; frame += 1) viewer.send("x");
  await expect.poll(() => closed).toEqual([1008]);
  const heard: unknown[] = [];
  looked.resolve({ frame: (frame) => void heard.push(frame), closed: (code) => void heard.push(code) });
  await expect.poll(() => heard).toEqual([1008]);
  server.close(1000, "");
});
