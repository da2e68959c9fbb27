/** Addresses as limits and filters see them: what one party can have of them counts as one. */
/**
 * What counts as one caller in limits: the address of an IPv4 machine, be it written as one of IPv6, and of IPv6 its network (/64), since
 * whoever has one address there has all. A text that is no address stands for itself.
 */
export function sourceOfAddress(given: string): string {
  const address = plainAddress(given);
  return address.includes(":") ? ipv6Network(address, 4) : address;
}

/** The network that an address is in, as one party may well have all of it: /24 of IPv4, /48 of IPv6. */
export function networkOfAddress(given: string): string {
  const address = plainAddress(given);
  if (address.includes(":")) return ipv6Network(address, 3);
  const groups = address.split(".");
  return groups.length === 4 ? `${groups.slice(0, 3).join(".")}.0/24` : address;
}

/** A network: the bits that its addresses begin with, and how many an address has. */
export interface Network {
  prefix: string;
  length: number;
}

/** Reads a network (`10.0.0.0/8`, `2001:db8::/48`) or a single address; null where it is neither. */
export function parseNetwork(text: string): Network | null {
  const [, address = "", length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bits = toBits(address);
  if (bits === null || Number(length ?? 0) > bits.length) return null;
  return { prefix: bits.slice(0, length === undefined ? bits.length : Number(length)), length: bits.length };
}

/** Whether an address is in a network. */
export function isWithin({ prefix, length }: Network, address: string): boolean {
  const bits = toBits(address);
  return bits !== null && bits.length === length && bits.startsWith(prefix);
}

/** The 32 or 128 bits of an address as a text of zeros and ones; null where it is none. */
function toBits(given: string): string | null {
  const address = plainAddress(given);
  const groups = address.includes(":") ? ipv6Groups(address) : address.split(".");
  const [count, form, radix, width] = address.includes(":")
    ? [8, /^[\da-f]{1,4}$/i, 16, 16]
    : [4, /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/, 10, 8];
  if (groups.length !== count || !groups.every((group) => form.test(group))) return null;
  return groups.map((group) => Number.parseInt(group, radix).toString(2).padStart(width, "0")).join("");
}

/** The groups of an IPv6 address, those that `::` stands for included. */
function ipv6Groups(address: string): string[] {
  const [left = "", right, ...more] = address.split("%")[0]!.split("::");
  if (more.length > 0) return [];
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  return [...head, ...Array.from({ length: zeros }, () => "0"), ...tail];
}

function ipv6Network(address: string, groupsKept: number): string {
  const kept = ipv6Groups(address)
    .slice(0, groupsKept)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ""));
  return `${kept.join(":")}::/${groupsKept * 16}`;
}

/** A socket that takes both kinds shows IPv4 peers as `::ffff:192.0.2.1`, or with two groups at its end; they are what they are. */
function plainAddress(address: string): string {
  const [, dotted, high, low] =
    /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([\da-f]{1,4}):([\da-f]{1,4}))$/i.exec(address) ?? [];
  if (dotted !== undefined) return dotted;
  if (high === undefined || low === undefined) return address;
  const bytes = [high, low].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
  return bytes.join(".");
}
