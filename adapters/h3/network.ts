/**
 * What counts as a network where one is given. By itself, since the command line checks settings with it at each start: what asks for more
 * loads the library.
 */
import { isIP } from "node:net";

/** Whether a text is an address or a network. */
export function isNetwork(entry: unknown): boolean {
  if (typeof entry !== "string") return false;
  const [address = "", bits, ...more] = entry.split("/");
  if (isIP(address) === 0 || more.length > 0) return false;
  // A length that is left out by mistake would be 0, and everybody a proxy.
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longestOf(address));
}

/** How many bits of an address, written as text, its network may have. */
export function longestOf(address: string): number {
  return isIP(address) === 6 ? 128 : 32;
}
