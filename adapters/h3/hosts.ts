/**
 * Which host names and web pages may call.
 *
 * A page that a browser loaded elsewhere can reach this server in two ways: by sending its requests across (`Origin` names the page
 * then), and by having its own name resolve to our address (DNS rebinding: `Host` names the page's site then). Neither has a
 * session, so this is the second wall. A request without `Host` (HTTP/1.0) or `Origin` does not come from such a page.
 */
import { isIP } from "node:net";
import { OrchestratorError } from "fleetwright";
import { parsedUrl } from "../http/parsed-url.ts";

/** The two headers of a request that tell of this. */
export interface HostHeaders {
  host: string | undefined;
  origin: string | undefined;
}

/** Says what is wrong with a request, be it a `Host` that is none; null where nothing is. */
export type HostCheck = (headers: HostHeaders) => OrchestratorError | null;

/**
 * Makes the check.
 *
 * @param allowedHosts - Names (without a port) that `Host` may have and pages may come from, beside IP addresses and
 * `localhost`. Null: any `Host`, and pages of the host that is called.
 */
export function createHostCheck(allowedHosts: readonly string[] | null): HostCheck {
  const allowed = allowedHosts === null ? null : new Set(allowedHosts.map((name) => name.toLowerCase()));
  // Nearly all requests name the same host.
  let lastGood: string | undefined;
  return ({ host, origin }) => {
    if (host !== lastGood) {
      const fault = host === undefined ? null : faultOf(host, allowed);
      if (fault !== null) return fault;
      lastGood = host;
    }
    if (origin === undefined) return null;
    const from = parsedUrl(origin);
    const isOurs = from !== null && (from.host === host || allowed?.has(hostNameOf(from.host)) === true);
    return isOurs ? null : refused("Pages of another site may not call.");
  };
}

/** Whether a `Host` header is one at all. */
export function isHost(host: string): boolean {
  return (
    /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/.test(host) &&
    parsedUrl(`http://${host}`) !== null
  );
}

function faultOf(host: string, allowed: ReadonlySet<string> | null): OrchestratorError | null {
  if (!isHost(host)) return new OrchestratorError("VALIDATION_FAILED", { message: "The Host is none." });
  if (allowed === null || isAllowed(hostNameOf(host), allowed)) return null;
  return refused("This is not a host name of the service.");
}

/** A browser that is tricked into calling us calls by a name, never by an address. */
function isAllowed(name: string, allowed: ReadonlySet<string>): boolean {
  return allowed.has(name) || name === "localhost" || isIP(name) !== 0;
}

function hostNameOf(host: string): string {
  const address = /^\[(.*)\](?::\d+)?$/.exec(host)?.[1];
  return (address ?? host.replace(/:\d+$/, "")).toLowerCase();
}

function refused(message: string): OrchestratorError {
  return new OrchestratorError("ORIGIN_REFUSED", { message });
}
