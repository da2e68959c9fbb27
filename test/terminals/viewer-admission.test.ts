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
