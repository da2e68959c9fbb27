/** Finds the address that a request really came from when proxies stand in between. */
import { BlockList, isIP } from "node:net";
import { sourceOfAddress } from "fleetwright/ports";
import { longestOf } from "./network.ts";

/** Tells the client's address from the other end of the connection and the `X-Forwarded-For` header, which may be read when it is needed. */
export type SourceAddress = (
  remoteAddress: string | null,
  forwardedFor: string | undefined | (() => string | null | undefined),
) => string | null;

/**
 * Believes `X-Forwarded-For` as far as trusted proxies wrote it: from the right, up to the first address that is not one of
 * theirs. Anyone can send that header, so without a trusted proxy it is ignored.
 *
 * @param trustedProxies - Addresses and networks (`10.0.0.0/8`, `::1`), each {@link isNetwork}.
 */
export function createSourceAddress(trustedProxies: readonly string[] = []): SourceAddress {
  if (trustedProxies.length === 0) return (remoteAddress) => plainAddress(remoteAddress);
  const isTrusted = createNetworkCheck(trustedProxies);
  return (remoteAddress, forwardedFor) => {
    let address = plainAddress(remoteAddress);
    if (!isTrusted(address)) return address;
    const header = typeof forwardedFor === "function" ? forwardedFor() : forwardedFor;
    const hops = (header ?? "").split(",").map((hop) => hop.trim());
    while (isTrusted(address)) {
      const before = plainAddress(withoutPort(hops.pop() ?? ""));
      if (before === null || isIP(before) === 0) break;
      address = before;
    }
    return address;
  };
}

/**
 * Tells whether an address is in one of some networks; null is in none.
 *
 * @param networks - Addresses and networks, each {@link isNetwork}.
 */
export function createNetworkCheck(networks: readonly string[]): (address: string | null) => boolean {
  const known = new BlockList();
  for (const network of networks) addNetwork(known, network);
  return (address) => {
    const plain = plainAddress(address);
    return plain !== null && known.check(plain, familyOf(plain));
  };
}

function addNetwork(trusted: BlockList, proxy: string): void {
  const [address = "", bits = longestOf(address)] = proxy.split("/");
  trusted.addSubnet(address, Number(bits), familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

/** Some proxies write the port behind the address, and one of IPv6 in brackets then. */
function withoutPort(hop: string): string {
  const [, v4, v6] = /^(?:([\d.]+):\d{1,5}|\[([^\]]*)\](?::\d{1,5})?)$/.exec(hop) ?? [];
  return v4 ?? v6 ?? hop;
}

/**
 * A dual-stack socket shows IPv4 peers as `::ffff:192.0.2.1`, and the binary header of the PROXY protocol as `::ffff:c000:201`; they are
 * written as what they are.
 */
function plainAddress(address: string | null): string | null {
  if (address?.includes(":") !== true) return address;
  const source = sourceOfAddress(address);
  return isIP(source) === 4 ? source : address;
}
