import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, it } from "vitest";
import { SlicedWork, WorkBudget, WorkExceeded } from "../../lib/internal/work.ts";

it("lets in many new connections between two slices, though the event loop takes one in each turn", async () => {
  const connections = 200;
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket.on("error", () => {})));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const clients = Array.from({ length: connections }, () => connect(port, "127.0.0.1").on("error", () => {}));
  let slices = 0;
  await new SlicedWork().do(
    (function* () {
      while (sockets.length < connections) {
        slices += 1;
        yield;
      }
    })(),
  );
  for (const socket of [...clients, ...sockets]) socket.destroy();
  server.close();
  await once(server, "close");
  // One for each connection, before.
  expect(slices).toBeLessThan(connections / 4);
});

it("has all the steps that it may have, and not one more", () => {
  const budget = new WorkBudget(10);
  for (const steps of [4, 6]) budget.take(steps);
  budget.spend(1_000_000);
  expect([budget.tryTake(0), budget.tryTake(1)]).toEqual([true, false]);
  expect(() => new WorkBudget(10).take(11)).toThrow(WorkExceeded);
  expect(new WorkBudget().tryTake(1e12)).toBe(true);
});
