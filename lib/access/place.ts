import { placeOfAddress } from "../internal/network.ts";
import type { Caller } from "./caller.ts";

/** Where a caller is, as far as limits go, see {@link placeOfAddress}; null for callers within the process. */
export function placeOf({ origin }: Caller): string | null {
  const address = origin?.source_address;
  return address === undefined ? null : placeOfAddress(address);
}
