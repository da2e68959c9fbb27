/** Addresses and networks, each in whichever way it is written. */
import { expect, it } from "vitest";
import { isWithin, networkOfAddress, parseNetwork, sourceOfAddress } from "../../lib/internal/network.ts";

it.each<[network: string, inside: string[], outside: string[]]>([
  ["0.0.0.0/0", ["0.0.0.0", "255.255.255.255", "::ffff:1.2.3.4"], ["::1", "::"]],
  [
    "10.0.0.0/8",
    ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", "::ffff:a01:203"],
    ["9.255.255.255", "11.0.0.0"],
  ],
  ["192.168.4.0/22", ["192.168.4.0", "192.168.7.255"], ["192.168.3.255", "192.168.8.0"]],
  ["192.0.2.128/31", ["192.0.2.128", "192.0.2.129"], ["192.0.2.127", "192.0.2.130"]],
  ["192.0.2.1/32", ["192.0.2.1"], ["192.0.2.0", "192.0.2.2", "192.0.2.10", "2001:db8::"]],
  ["192.0.2.1", ["192.0.2.1", "::ffff:192.0.2.1"], ["192.0.2.0", "192.0.2.2", "192.0.2.10"]],
  ["::/0", ["::", "ffff::1", "fe80::1%eth0"], ["0.0.0.0", "::ffff:1.2.3.4"]],
  ["2001:db8::/48", ["2001:db8::", "2001:0DB8:0:ffff::1"], ["2001:db8:1::", "2001:db7:ffff::"]],
  ["2001:db8::/33", ["2001:db8:7fff::1"], ["2001:db8:8000::"]],
  ["::1", ["::1", "0:0:0:0:0:0:0:1"], ["::", "::2", "1::"]],
  ["::1/128", ["::1"], ["::", "::2"]],
  ["fe80::/10", ["fe80::1", "febf::"], ["fec0::", "fe7f::"]],
])("%s has its addresses and no others", (text, inside, outside) => {
  const network = parseNetwork(text)!;
  expect(inside.filter((address) => !isWithin(network, address))).toEqual([]);
  expect(outside.filter((address) => isWithin(network, address))).toEqual([]);
});

it.each([
  "",
  "/8",
  "10.0.0.0/",
  "10.0.0.0/33",
  "10.0.0.0/-1",
  "10.0.0.0/8/8",
  "10.0.0/8",
  "10.0.0.256",
  "10.0.0.01",
  "10.0.0.0.0",
  "::/129",
  "::1::",
  "1:2:3:4:5:6:7",
  "1:2:3:4:5:6:7:8:9",
  "12345::",
  "g::",
  "example.com",
])("%j is no network", (text) => expect(parseNetwork(text)).toBeNull());

it("what is no address is in no network", () => {
  const all = [parseNetwork("0.0.0.0/0")!, parseNetwork("::/0")!];
  for (const text of ["", "example.com", "1.2.3", "1.2.3.4.5", "1:2", "::1::"])
    expect([text, all.some((network) => isWithin(network, text))]).toEqual([text, false]);
});

it.each([
  ["192.0.2.7", "192.0.2.7", "192.0.2.0/24"],
  ["::ffff:192.0.2.7", "192.0.2.7", "192.0.2.0/24"],
  ["::FFFF:c000:207", "192.0.2.7", "192.0.2.0/24"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ["2001:0DB8:0001::5", "2001:db8:1:0::/64", "2001:db8:1::/48"],
  ["fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"],
  ["::1", "0:0:0:0::/64", "0:0:0::/48"],
  ["a socket", "a socket", "a socket"],
  ["", "", ""],
])("%s counts as %s, of %s", (address, source, network) => {
  expect([sourceOfAddress(address), networkOfAddress(address)]).toEqual([source, network]);
});
