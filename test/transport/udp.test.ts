/** How hosts are reached by the machine that the tests run on. */
import { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os, { networkInterfaces } from "node:os";
import { expect, it } from "vitest";
import { udp } from "../../lib/transport/udp.ts";
import { waitFor } from "../support/wait-for.ts";

it("the own machine is reached from its own address", async () => {
  expect(await udp.routeTo("127.0.0.1")).toEqual({ family: 4, address: "127.0.0.1", to: "127.0.0.1" });
});

it.each(["nowhere.invalid", "fe80::1%nowhere"])("there is no way to %s", async (host) => {
  expect(await udp.routeTo(host)).toBeNull();
});

it("a broadcast leaves from an address of this machine where a route leads out of it", async () => {
  const own = Object.values(networkInterfaces()).flatMap((infos) => infos?.map(({ address }) => address));
  const routes = readFileSync("/proc/net/route", "utf8").split("\n");
  const leadsOut = routes.some((route) => route.split("\t")[1] === "00000000");
  const way = await udp.routeTo("255.255.255.255");
  if (leadsOut) expect(own).toContain(way?.address);
  else expect(way).toBeNull();
});

it("a listener of IPv6 hears nothing of IPv4, which the one of IPv4 hears at the same port", async () => {
  const heard: string[] = [];
  const listen = (family: 4 | 6, port?: number) =>
    udp.open({
      family,
      ...(port !== undefined && { port }),
      heard: (packet, { address }) =>
        heard.push(`${family}: ${new TextDecoder().decode(packet)} of ${address}`),
    });
  const sockets = [await listen(4), await listen(6)];
  const [four, six] = sockets;
  const tell = async (port: number): Promise<void> => {
    await four!.send(new TextEncoder().encode("four"), { address: "127.0.0.1", port });
    await six!.send(new TextEncoder().encode("six"), { address: "::1", port });
  };
  try {
    const free = await listen(6);
    const { port } = free.local;
    free.close();
    sockets.push(await listen(6, port));
    await tell(port);
    await waitFor(() => expect(heard).toEqual(["6: six of ::1"]));
    sockets.push(await listen(4, port));
    await tell(port);
    await waitFor(() => expect(heard.slice(1).toSorted()).toEqual(["4: four of 127.0.0.1", "6: six of ::1"]));
  } finally {
    for (const socket of sockets) socket.close();
  }
});

it.each([
  ["127.0.0.1", "255.0.0.0", { family: 4, broadcast: "127.255.255.255", isLinkLocal: false }],
  ["192.0.2.7", "255.255.255.0", { family: 4, broadcast: "192.0.2.255", isLinkLocal: false }],
  ["192.0.2.130", "255.255.255.192", { family: 4, broadcast: "192.0.2.191", isLinkLocal: false }],
  ["10.9.8.7", "255.255.255.255", { family: 4, broadcast: "10.9.8.7", isLinkLocal: false }],
  // The link of IPv6 is fe80::/10: to febf, whatever most systems make.
  ["fe80::1", "ffff::", { family: 6, broadcast: "ff02::1%eth7", isLinkLocal: true }],
  ["febf::1", "ffff::", { family: 6, broadcast: "ff02::1%eth7", isLinkLocal: true }],
  ["fec0::1", "ffff::", { family: 6, broadcast: "ff02::1%eth7", isLinkLocal: false }],
  ["2001:db8::1", "ffff::", { family: 6, broadcast: "ff02::1%eth7", isLinkLocal: false }],
])("the address %s with the mask %s reaches its network", (address, netmask, expected) => {
  const original = os.networkInterfaces;
  for (const internal of [true, false]) {
    const found = { eth7: [{ address, netmask, internal }], gone: undefined };
    Object.assign(os, { networkInterfaces: () => found });
    syncBuiltinESMExports();
    try {
      expect(udp.addresses()).toEqual([{ interface: "eth7", address, isLoopback: internal, ...expected }]);
    } finally {
      Object.assign(os, { networkInterfaces: original });
      syncBuiltinESMExports();
    }
  }
});
