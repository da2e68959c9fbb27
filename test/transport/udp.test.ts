/** How hosts are reached by the machine that the tests run on. */
import { expect, it } from "vitest";
import { udp } from "../../lib/transport/udp.ts";

it("the own machine is reached from its own address", async () => {
  expect(await udp.routeTo("127.0.0.1")).toEqual({ family: 4, address: "127.0.0.1", to: "127.0.0.1" });
});

it.each(["nowhere.invalid", "fe80::1%nowhere"])("there is no way to %s", async (host) => {
  expect(await udp.routeTo(host)).toBeNull();
});
