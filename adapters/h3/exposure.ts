/** Tells whether somebody between the caller and this server could read a request. */
import { isIP } from "node:net";
import { createNetworkCheck, createSourceAddress } from "./source-address.ts";

/** How a request came. */
export interface RequestWay {
  /** The other end of the connection; null within the process. */
  remoteAddress: string | null;
  /** Whether the connection to this server is TLS. */
  isEncrypted: boolean;
  header(name: string): string | undefined;
}

/** Tells whether a request came in the clear from another machine. */
export type Exposure = (way: RequestWay) => boolean;

const loopback = ["127.0.0.0/8", "::1"];
/** What proxies add: with one of these a connection from this machine is not the caller's own. */
const traces = ["x-forwarded-for", "x-forwarded-proto", "forwarded", "via"];

/**
 * A request is not exposed over TLS, from this machine itself, or where a trusted proxy says in `X-Forwarded-Proto` that it came to it
 * over TLS. What others say in that header counts for nothing.
 *
 * @param trustedProxies - Addresses and networks, each {@link isNetwork}.
 */
export function createExposure(trustedProxies: readonly string[] = []): Exposure {
  const isTrusted = createNetworkCheck(trustedProxies);
  const isHere = createNetworkCheck(loopback);
  const sourceAddress = createSourceAddress(trustedProxies);
  return (way) => {
    const { remoteAddress, isEncrypted } = way;
    if (isEncrypted || remoteAddress === null || isIP(remoteAddress) === 0) return false;
    if (isTrusted(remoteAddress)) {
      // The proxy that we trust wrote the last of them.
      const scheme = way.header("x-forwarded-proto")?.split(",").at(-1)?.trim().toLowerCase();
      if (scheme !== undefined) return scheme !== "https";
      return !isHere(sourceAddress(remoteAddress, way.header("x-forwarded-for")));
    }
    return !isHere(remoteAddress) || traces.some((name) => way.header(name) !== undefined);
  };
}
