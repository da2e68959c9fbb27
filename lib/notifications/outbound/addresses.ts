/** Which addresses are of the public network: all others are inside of something that a channel has no business with. */
import { isIPv6 } from "node:net";
import { isWithin, parseNetwork, type Network } from "../../internal/network.ts";
import { parsedUrl } from "../../internal/url-text.ts";

/** What is special about networks of IPv4 (IANA special-purpose registry, and hosts of clouds). */
const special4: readonly [network: string, kind: string][] = [
  ["0.0.0.0/8", "an unspecified"],
  ["10.0.0.0/8", "a private"],
  ["100.64.0.0/10", "a shared (carrier's NAT)"],
  ["127.0.0.0/8", "a loopback"],
  ["168.63.129.16/32", "a cloud metadata"],
  ["169.254.0.0/16", "a link-local or cloud metadata"],
  ["172.16.0.0/12", "a private"],
  ["192.0.0.0/24", "a reserved"],
  ["192.0.2.0/24", "a reserved"],
  ["192.88.99.0/24", "a 6to4 relay"],
  ["192.168.0.0/16", "a private"],
  ["198.18.0.0/15", "a reserved"],
  ["198.51.100.0/24", "a reserved"],
  ["203.0.113.0/24", "a reserved"],
  ["224.0.0.0/4", "a multicast"],
  ["240.0.0.0/4", "a reserved"],
];

/** Of IPv6 only 2000::/3 is given out at all; these are what is special, inside of it and outside. */
const special6: readonly [network: string, kind: string][] = [
  ["::/128", "an unspecified"],
  ["::1/128", "a loopback"],
  ["::/96", "an IPv4-compatible"],
  ["64:ff9b::/96", "a NAT64"],
  ["64:ff9b:1::/48", "a NAT64"],
  ["fc00::/7", "a private"],
  ["fe80::/10", "a link-local"],
  ["fec0::/10", "a private"],
  ["ff00::/8", "a multicast"],
  ["2001::/32", "a Teredo"],
  ["2001::/23", "a reserved"],
  ["2001:db8::/32", "a reserved"],
  ["2002::/16", "a 6to4"],
  ["3fff::/20", "a reserved"],
];

const read = (table: typeof special4): { network: Network; kind: string }[] =>
  table.map(([text, kind]) => ({ network: parseNetwork(text)!, kind }));

const kinds = { 4: read(special4), 6: read(special6) };
const givenOut = parseNetwork("2000::/3")!;

/** The kind of an address that is not public, with its article; null for a public one. Takes {@link canonicalAddress}es. */
export function specialKind(address: string): string | null {
  if (!isIPv6(address)) return kinds[4].find(({ network }) => isWithin(network, address))?.kind ?? null;
  // Two groups behind it: `::ffff:1` has one, and is compatible.
  if (/^::ffff:[^:]+:/.test(address)) return "an IPv4-mapped";
  const found = kinds[6].find(({ network }) => isWithin(network, address));
  return found?.kind ?? (isWithin(givenOut, address) ? null : "a reserved");
}

/**
 * An address in the one form that is checked and connected to: IPv4 with dots, IPv6 in its shortest lower-case form. Null for
 * what is no address, and for one with a zone, which is of a link.
 */
export function canonicalAddress(text: string): string | null {
  const host = canonicalHost(text);
  return host?.kind === "address" ? host.host : null;
}

/** A host as it is looked up or connected to. */
export interface Host {
  kind: "name" | "address";
  /** A name in ASCII and lower case, or a canonical address, without brackets. */
  host: string;
}

/**
 * Reads a host as browsers do, so that `127.1`, `0x7f000001` and `①②⑦.0.0.1` are the addresses that they are. Null for what is
 * no host.
 */
export function canonicalHost(text: string): Host | null {
  if (!/^[^\s/?#@\\%]{1,253}$/.test(text)) return null;
  const bracketed = isIPv6(text) ? `[${text}]` : text;
  const url = /^(\[.*\]|[^:[\]]+)$/.test(bracketed) ? parsedUrl(`http://${bracketed}/`) : null;
  if (url === null) return null;
  const { hostname } = url;
  if (hostname.startsWith("[")) return { kind: "address", host: hostname.slice(1, -1) };
  if (/^\d+\.\d+\.\d+\.\d+$/.test(hostname)) return { kind: "address", host: hostname };
  return hostname === "" || hostname === "." ? null : { kind: "name", host: hostname };
}

/** What the certificate of a host must be of: the name or the address that is connected to, however the host is written. */
export function certifiedName(text: string): string {
  return (canonicalHost(text)?.host ?? text).replace(/\.$/, "");
}
