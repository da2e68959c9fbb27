import { lookup } from "node:dns/promises";
import type { Socket } from "node:net";
import { type Clock, systemClock } from "../../clock.ts";
import { isWithin, parseNetwork, type Network } from "../../internal/network.ts";
import { parsedUrl } from "../../internal/url-text.ts";
import { canonicalAddress, canonicalHost, specialKind, type Host } from "./addresses.ts";
import { checkHeaders, exchange } from "./exchange.ts";
import { OutboundFault, toFailure } from "./fault.ts";
import { openSocket, secureSocket } from "./open-socket.ts";
import type { Answered, Connected, ConnectOptions, Outbound, OutboundRequest } from "./outbound.ts";
import { orAborted, TimeLimit } from "./time-limit.ts";

/** Settings of a {@link CheckedOutbound}. */
export interface CheckedOutboundOptions {
  /**
   * Networks (`10.0.0.0/8`, `fd00::/8`) and addresses that may be connected to although they are not public. Default: none.
   * `0.0.0.0/0` and `::/0` take the protection away.
   */
  allow?: readonly string[];
  /** Most milliseconds for looking a name up, connecting and TLS. Default 5000. */
  connectTimeoutMs?: number;
  /** Most milliseconds for a request, connecting included. Default 10_000. */
  requestTimeoutMs?: number;
  /** Certificates of authorities (PEM) to trust instead of those that Node trusts. */
  certificateAuthorities?: readonly string[];
  /** Default: the process's own. */
  clock?: Clock;
  /** All addresses of a name. Default: as the system looks names up. */
  resolve?: (name: string) => Promise<readonly string[]>;
}

/**
 * Connections to public addresses, and to those that are allowed beside them.
 *
 * A name is looked up once; all that it leads to is checked, and the connection goes to what was checked. A name that leads
 * to any address that is not allowed is refused as a whole. Certificates are checked for the name. Redirects are told, never
 * followed. Each request has a connection of its own.
 *
 * @throws {RangeError} for a network in `allow` that is none.
 */
export class CheckedOutbound implements Outbound {
  readonly certificateAuthorities?: readonly string[];
  readonly #allowed: readonly Network[];
  readonly #clock: Clock;
  readonly #connectTimeoutMs: number;
  readonly #requestTimeoutMs: number;
  readonly #resolve: (name: string) => Promise<readonly string[]>;

  constructor(options: CheckedOutboundOptions = {}) {
    const { allow = [], connectTimeoutMs = 5000, requestTimeoutMs = 10_000 } = options;
    const { certificateAuthorities, clock = systemClock, resolve = resolveBySystem } = options;
    if (certificateAuthorities) this.certificateAuthorities = certificateAuthorities;
    this.#allowed = allow.map(readNetwork);
    this.#clock = clock;
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#resolve = resolve;
  }

  async request(
    text: string,
    { method, headers = {}, body = "", signal }: OutboundRequest,
  ): Promise<Answered> {
    using limit = new TimeLimit(this.#clock, this.#requestTimeoutMs, {
      within: signal,
      error: "there was no answer in time",
    });
    try {
      const url = readUrl(text);
      checkHeaders(headers);
      const tls = url.protocol === "https:";
      const port = url.port === "" ? (tls ? 443 : 80) : Number(url.port);
      const socket = await this.#open(url.hostname, port, { tls, signal: limit.signal });
      const sent = typeof body === "string" ? new TextEncoder().encode(body) : body;
      const answer = await exchange({ url, method, headers, body: sent }, socket, limit.signal);
      const retryAfter = answer.headers["retry-after"];
      return { ok: true, status: answer.statusCode ?? 0, ...(retryAfter !== undefined && { retryAfter }) };
    } catch (error) {
      return toFailure(error);
    }
  }

  async connect(host: string, port: number, options: ConnectOptions): Promise<Connected> {
    try {
      return { ok: true, socket: await this.#open(host, port, options) };
    } catch (error) {
      return toFailure(error);
    }
  }

  async #open(text: string, port: number, { tls, signal }: ConnectOptions): Promise<Socket> {
    const host = canonicalHost(text);
    if (!host) throw new OutboundFault("the host is not valid", { permanent: true });
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw new OutboundFault("the port is not valid", { permanent: true });
    using limit = new TimeLimit(this.#clock, this.#connectTimeoutMs, {
      within: signal,
      error: "no connection could be made in time",
    });
    const addresses = await this.#addressesOf(host, limit.signal);
    const socket = await openSocket({ host: host.host, addresses, port }, limit.signal);
    if (!tls) return socket;
    const { certificateAuthorities } = this;
    return await secureSocket(socket, { host: host.host, certificateAuthorities }, limit.signal);
  }

  /** All addresses of a host, each of which may be connected to. */
  async #addressesOf({ kind, host }: Host, signal: AbortSignal): Promise<string[]> {
    const found = kind === "address" ? [host] : await orAborted(this.#resolve(host), signal);
    if (found.length === 0) throw new OutboundFault("the name of the host is not known");
    return found.map((text) => {
      const address = canonicalAddress(text);
      const special = address === null ? "an unknown kind of" : specialKind(address);
      if (address !== null && (special === null || this.#allowed.some((each) => isWithin(each, address))))
        return address;
      const leads = kind === "address" ? "the host is" : "the name of the host leads to";
      throw new OutboundFault(`${leads} ${special} address, which channelNetworks does not allow`, {
        permanent: true,
      });
    });
  }
}

/** Reads the address of a request. Throws a permanent {@link OutboundFault} for one that is not for requests. */
function readUrl(text: string): URL {
  const refuse = (why: string): never => {
    throw new OutboundFault(why, { permanent: true });
  };
  // Readers of addresses take these away or for slashes, and do not agree which.
  const url = /[\s\\\p{C}]/u.test(text) ? null : parsedUrl(text);
  if (url === null) return refuse("the address is not valid");
  if (url.protocol !== "http:" && url.protocol !== "https:")
    return refuse("the address is neither http nor https");
  if (/^[a-z]+:\/*[^/?#]*@/i.test(text)) return refuse("the address has a user or a password in it");
  return url;
}

function readNetwork(text: string): Network {
  const network = parseNetwork(text);
  if (!network) throw new RangeError(`"${text}" is neither a network nor an address`);
  return network;
}

async function resolveBySystem(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}
