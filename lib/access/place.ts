import type { Caller } from "./caller.ts";

/**
 * Where a caller is, as far as limits go: the address, of IPv6 the network (/64), since whoever has one address there has all.
 * Null for callers within the process.
 */
export function placeOf({ origin }: Caller): string | null {
  const address = origin?.source_address;
  if (address === undefined) return null;
  return address.includes(":") ? networkOf(address) : address;
}

function networkOf(address: string): string {
  const [left = "", right] = address.split("%")[0]!.split("::");
  const head = left === "" ? [] : left.split(":");
  const tail = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : Math.max(0, 8 - head.length - tail.length);
  const groups = [...head, ...Array.from({ length: zeros }, () => "0"), ...tail];
  return `${groups
    .slice(0, 4)
    .map((group) => group.toLowerCase().replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}
