/**
 * For which origins a server lets sign-ins be made.
 *
 * A client puts the origin that it called into the text that it signs. A server in between can pass the text of this one on, but not
 * under its own name: this one refuses to make it, and the client refuses to sign another.
 */
import { isIP } from "node:net";
import { OrchestratorError } from "fleetwright";
import { parsedUrl } from "./parsed-url.ts";

/** This side of a connection. */
export interface LocalEnd {
  address: string;
  port: number;
}

/**
 * Refuses an origin that is not the server's.
 *
 * @param localEnd - Where the request arrived; null where that is not known.
 * @throws {OrchestratorError} `ORIGIN_REFUSED`.
 */
export type AudienceCheck = (audience: string, localEnd: LocalEnd | null) => void;

/**
 * Makes the check. An address, or `localhost`, must be where the request arrived, port included; a name must be among those of the
 * service, where those are known.
 *
 * @param allowedHosts - Names and addresses of the service, without a port: any origin of these is good. Null: any name is.
 */
export function createAudienceCheck(allowedHosts: readonly string[] | null): AudienceCheck {
  const allowed = allowedHosts === null ? null : new Set(allowedHosts.map((name) => name.toLowerCase()));
  return (audience, localEnd) => {
    const { hostname, port, protocol } = new URL(audience);
    const name = plain(hostname);
    if (allowed?.has(name)) return;
    const called = { address: name, port: port === "" ? defaultPort(protocol) : Number(port) };
    if (isLoopbackName(name) || isIP(name) !== 0) {
      if (localEnd === null ? allowed === null : isSame(called, localEnd)) return;
    } else if (allowed === null) return;
    throw new OrchestratorError("ORIGIN_REFUSED", {
      message: `This service does not answer for ${audience}. If that is its address, the allowed hosts must have ${name}.`,
    });
  };
}

function isSame(called: LocalEnd, arrived: LocalEnd): boolean {
  if (called.port !== arrived.port) return false;
  const address = canonical(arrived.address);
  if (called.address === address) return true;
  const isHere = isLoopbackName(called.address) || called.address === "0.0.0.0" || called.address === "::";
  return isHere && (address === "::1" || address.startsWith("127."));
}

/** An address as a URL writes it. A dual-stack socket has IPv4 addresses as `::ffff:192.0.2.1`. */
function canonical(address: string): string {
  const [text = ""] = address.replace(/^::ffff:(?=\d+\.)/, "").split("%");
  const url = parsedUrl(`http://${isIP(text) === 6 ? `[${text}]` : text}`);
  return url === null ? text : plain(url.hostname);
}

/** A host name without the brackets of IPv6 and the dot of the root. */
function plain(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
}

function isLoopbackName(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

function defaultPort(protocol: string): number {
  return protocol === "https:" ? 443 : 80;
}
