/** Every network that is not public, at its first and last address, and the public ones beside it. */
import { expect, it } from "vitest";
import { specialKind } from "../../../lib/notifications/outbound/addresses.ts";

/** Null as a neighbour: what is beside it is special as well. */
it.each<[kind: string, before: string | null, first: string, last: string, after: string | null]>([
  ["an unspecified", null, "0.0.0.0", "0.255.255.255", "1.0.0.0"],
  ["a private", "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"],
  ["a shared (carrier's NAT)", "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"],
  ["a loopback", "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"],
  ["a cloud metadata", "168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"],
  ["a link-local or cloud metadata", "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"],
  ["a private", "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"],
  ["a reserved", "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"],
  ["a reserved", "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"],
  ["a 6to4 relay", "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"],
  ["a private", "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"],
  ["a reserved", "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"],
  ["a reserved", "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"],
  ["a reserved", "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"],
  ["a multicast", "223.255.255.255", "224.0.0.0", "239.255.255.255", null],
  ["a reserved", null, "240.0.0.0", "255.255.255.255", null],
  ["an unspecified", null, "::", "::", null],
  ["a loopback", null, "::1", "::1", null],
  ["an IPv4-compatible", null, "::2", "::ffff:ffff", null],
  ["a NAT64", null, "64:ff9b::", "64:ff9b::ffff:ffff", null],
  ["a NAT64", null, "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", null],
  ["a reserved", null, "64:ff9b:2::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
  ["a Teredo", "2000:ffff::1", "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", null],
  ["a reserved", null, "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"],
  ["a reserved", "2001:db7:ffff::", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"],
  ["a 6to4", "2001:ffff::", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"],
  ["a reserved", "3ffe:ffff::", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"],
  ["a reserved", "3fff:ffff::", "4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  ["a private", null, "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  ["a reserved", null, "fe00::", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  ["a link-local", null, "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  ["a private", null, "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
  ["a multicast", null, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", null],
])("%s network is between %s and %s to %s and %s", (kind, before, first, last, after) => {
  expect([specialKind(first), specialKind(last)]).toEqual([kind, kind]);
  for (const beside of [before, after])
    if (beside !== null) expect([beside, specialKind(beside)]).toEqual([beside, null]);
});
