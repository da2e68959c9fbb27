/** Has a server read what proxies say at the beginning of their connections before anything else reads them. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { readProxyHeader, type ProxiedSource } from "./proxy-header.ts";
import { createNetworkCheck } from "./source-address.ts";

/** Whose connections begin with a header. */
export interface ProxiedConnectionsOptions {
  /** Addresses and networks of proxies that begin each connection with a header. */
  proxies: readonly string[];
  /** Milliseconds in which a header must be whole. */
  headerMs: number;
}

/**
 * From now on a connection of one of the proxies belongs to the address that its header names; one without a header is ended. What
 * others send is served as ever: a header of theirs is no HTTP. Call it when all listeners of the server are in place.
 *
 * @returns Ends the connections of which no header is there yet, for a server that closes.
 */
export function readProxyHeaders(
  server: Server,
  { proxies, headerMs }: ProxiedConnectionsOptions,
): () => void {
  const isProxy = createNetworkCheck(proxies);
  const listeners = server.listeners("connection");
  const waiting = new Set<Socket>();
  const known = new WeakSet<Socket>();
  /** By the ends that the system knows, which the socket of TLS above has, too. */
  const sources = new Map<string | null, ProxiedSource>();
  const begin = (socket: Socket): void => {
    for (const listener of listeners) listener.call(server, socket);
  };
  const take = (socket: Socket): void => {
    const { remoteAddress = null } = socket;
    // One that is given back to the server has been through.
    if (known.has(socket) || !isProxy(remoteAddress)) return begin(socket);
    known.add(socket);
    waiting.add(socket);
    readHeader(socket, headerMs, (source) => {
      waiting.delete(socket);
      if (source === undefined) return void socket.destroy();
      if (source !== null) {
        const ends = endsOf(socket);
        sources.set(ends, source);
        socket.once("close", () => sources.delete(ends));
        comesFrom(socket, source);
      }
      begin(socket);
    });
  };
  server.removeAllListeners("connection");
  server.on("connection", take);
  server.prependListener("secureConnection", (socket: Socket) => {
    const source = sources.get(endsOf(socket));
    if (source) comesFrom(socket, source);
  });
  return () => {
    for (const socket of waiting) socket.destroy();
  };
}

/** Ends of the connections whose header says something else. */
const ends = new WeakMap<Socket, string>();

/**
 * Both ends of a connection as the system knows them: two proxies may say the same of theirs, and one client may come to two addresses.
 * The socket of TLS has those of the one below it. Null where there is none any more.
 */
export function endsOf(socket: Socket): string | null {
  const { remoteAddress, remotePort, localAddress, localPort } = socket;
  if (remoteAddress === undefined) return null;
  return ends.get(socket) ?? `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

function comesFrom(socket: Socket, { address, port }: ProxiedSource): void {
  const known = endsOf(socket);
  if (known !== null) ends.set(socket, known);
  Object.defineProperties(socket, {
    remoteAddress: { value: address, configurable: true },
    remotePort: { value: port, configurable: true },
  });
}

/** Takes the header off a connection; undefined where there is none in time. */
function readHeader(
  socket: Socket,
  headerMs: number,
  done: (source: ProxiedSource | null | undefined) => void,
): void {
  let head = Buffer.alloc(0);
  const finish = (source: ProxiedSource | null | undefined): void => {
    clearTimeout(timer);
    socket.off("readable", read).off("end", fail).off("close", fail);
    done(source);
    // From here on the server hears of errors.
    socket.off("error", fail);
  };
  const fail = (): void => finish(undefined);
  const read = (): void => {
    for (let piece = socket.read() as Buffer | null; piece !== null; piece = socket.read() as Buffer | null) {
      head = Buffer.concat([head, piece]);
      const header = readProxyHeader(head);
      if (header.kind === "wrong") return fail();
      if (header.kind === "more") continue;
      if (head.length > header.length) socket.unshift(head.subarray(header.length));
      return finish(header.source);
    }
  };
  const timer = setTimeout(fail, headerMs);
  socket.on("readable", read).once("end", fail).once("close", fail).once("error", fail);
}
