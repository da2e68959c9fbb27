import { sourceOfAddress } from "../internal/network.ts";
import type { Caller } from "./caller.ts";

/** Where a caller is, as far as limits go, see {@link sourceOfAddress}; null for callers within the process. */
export function sourceOf({ origin }: Caller): string | null {
  const address = origin?.source_address;
  return address === undefined ? null : sourceOfAddress(address);
}
