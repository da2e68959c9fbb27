/** How hosts are reached by the machine that the tests run on. */
import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { expect, it } from "vitest";
import { udp } from "../../lib/transport/udp.ts";

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
