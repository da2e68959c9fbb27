/** Opening a connection to addresses that were checked, and to no others. */
import { connect as connectTcp, isIPv6, type LookupFunction, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { certifiedName } from "./addresses.ts";
import { orAborted } from "./time-limit.ts";

/** How long one of several addresses is tried before the next is tried as well, in milliseconds. */
const nextAddressAfterMs = 1000;

/** Where to. */
export interface Destination {
  /** What the certificate must be of. */
  host: string;
  /** At least one, each of them checked. */
  addresses: readonly string[];
  port: number;
}

/** Opens a TCP connection to one of the addresses. The name is not looked up again: a second answer may be another one. */
export async function openSocket({ addresses, port }: Destination, signal: AbortSignal): Promise<Socket> {
  const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  const pinned: LookupFunction = (_name, options, done) => {
    if (options.all === true) done(null, found);
    else done(null, found[0]!.address, found[0]!.family);
  };
  const socket = connectTcp({
    // A name that says nothing: an address would not be asked of `lookup`, and a name of its own might be looked up elsewhere.
    host: "pinned.invalid",
    port,
    lookup: pinned,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: nextAddressAfterMs,
  });
  return ready(socket, "connect", signal);
}

/** Begins TLS on a connection, and checks the certificate. */
export function secureSocket(
  socket: Socket,
  { host, certificateAuthorities }: { host: string; certificateAuthorities: readonly string[] | undefined },
  signal: AbortSignal,
): Promise<TLSSocket> {
  const name = certifiedName(host);
  const secured = connectTls({
    socket,
    host: name,
    // An address is nobody's name (RFC 6066), but the certificate must be of it all the same.
    ...(isAddress(name) ? {} : { servername: name }),
    ...(certificateAuthorities && { ca: [...certificateAuthorities] }),
  });
  return ready(secured, "secureConnect", signal);
}

async function ready<Opened extends Socket>(
  socket: Opened,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<Opened> {
  const opened = new Promise<void>((resolve, reject) => {
    socket.once(event, resolve);
    // Stays, so that an error between two who listen is no uncaught one.
    socket.on("error", reject);
    socket.once("close", () => reject(Object.assign(new Error("closed"), { code: "ECONNRESET" })));
  });
  try {
    await orAborted(opened, signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

function isAddress(host: string): boolean {
  return isIPv6(host) || /^\d+\.\d+\.\d+\.\d+$/.test(host);
}
