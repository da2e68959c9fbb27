/** Listens with an app, and stops in the right order. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { RequestListener, Server } from "node:http";
import { Server as SecureServer } from "node:https";
import { createServer } from "node:net";
import { createSecureContext } from "node:tls";
import type { Listener } from "listhen";
import { OrchestratorError } from "fleetwright";
import { checkOptions, withDefaults } from "fleetwright/options";
import type { App } from "./app.ts";
import { createConnections, leaveConnectionsAlone, limitReading } from "./connections.ts";
import { listenAppOptions } from "./option-table.ts";
import { readProxyHeaders } from "./proxied-connections.ts";
import { cutSlowReaders } from "./slow-readers.ts";
import { answerUnreadable } from "./unreadable.ts";

/** A certificate and its private key, as PEM text; those of authorities between it and the root come after it in `cert`. */
export interface Certificate {
  cert: string;
  key: string;
}

/** Where and how to listen. What is not of this form is refused, all at once: `OPTIONS_INVALID`. */
export interface ListenAppOptions {
  /** Port, 0 to 65,535; 0 takes a free one. A busy one is an error, never another port. */
  port: number;
  /** Address or name to listen on. Any but a loopback one needs `tls`. Default `127.0.0.1`. */
  host?: string;
  /** Certificate and private key, as PEM text. {@link ListeningApp.renewCertificate} takes the next one. */
  tls?: Certificate;
  /** Listens without TLS even on addresses others can reach: for use behind a proxy that terminates TLS. Default false. */
  allowInsecure?: boolean;
  /**
   * Addresses or networks of proxies whose connections begin with a header of the PROXY protocol, version 1 or 2: each belongs to the
   * address that this names, and one without it is ended. A header of anybody else is no HTTP. Default none.
   */
  proxyProtocolFrom?: readonly string[];
  /** Milliseconds that requests in progress get when it closes, 0 to 3,600,000; what is left then is cut. Default 10,000. */
  graceMs?: number;
  /** Milliseconds in which the headers of a request must be whole, before it is cut with 408, 10 to 3,600,000. Default 20,000. */
  headersMs?: number;
  /** Milliseconds in which a request must be whole, its body included, before it is cut with 408, 10 to 86,400,000. Default 60,000. */
  requestMs?: number;
  /**
   * Milliseconds for which a client may take nothing of an answer that is ready, before it is cut, 10 to 3,600,000. Default 60,000. Each
   * 8 KiB that it took give it a second more, up to five times as long in all: who reads at least so fast is never cut.
   */
  stallMs?: number;
}

type Optional = "tls" | "proxyProtocolFrom";
type ResolvedListenOptions = Required<Omit<ListenAppOptions, Optional>> & Pick<ListenAppOptions, Optional>;

/** An app that listens. */
export interface ListeningApp extends AsyncDisposable {
  /** Where it is reached, without a slash at the end, e.g. `https://127.0.0.1:4100`. */
  readonly url: string;
  /** The IP address that it listens on; `0.0.0.0` or `::` for all. */
  readonly address: string;
  readonly port: number;
  /**
   * Shows another certificate from the next connection on; those that are open keep theirs.
   *
   * @throws {OrchestratorError} `CONFIGURATION_INVALID` where it can't be read, does not belong to its key, or the app listens without
   * `tls`; the one before stays.
   */
  renewCertificate(certificate: Certificate): void;
  /**
   * Answers the requests in progress while new ones get 503 with `Retry-After`, then closes the WebSockets and stops listening. May be
   * called twice.
   */
  close(): Promise<void>;
}

/**
 * Listens.
 *
 * @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options.
 * @throws {OrchestratorError} `ADDRESS_IN_USE` when the port is taken or may not be used.
 * @throws {OrchestratorError} `CONFIGURATION_INVALID` for a host that is not loopback, without `tls` and `allowInsecure`;
 * for a host that is not this machine; for a certificate and a key that can't be read or don't belong together.
 */
export async function listenApp(app: App, options: ListenAppOptions): Promise<ListeningApp> {
  checkOptions<ListenAppOptions>(options, listenAppOptions, { of: "listenApp" });
  const { port, host, tls, allowInsecure, graceMs, headersMs, requestMs, stallMs } =
    withDefaults<ResolvedListenOptions>(options, listenAppOptions);
  const isLoopback = isLoopbackHost(host);
  if (!isLoopback && tls === undefined && !allowInsecure) {
    throw new OrchestratorError("CONFIGURATION_INVALID", {
      message: `Listening at ${host} needs TLS, or allowInsecure where a proxy in front has it.`,
    });
  }
  if (tls !== undefined) assertUsable(tls);
  const connections = createConnections(app);
  const listener = await start(connections.listener, {
    port,
    host,
    tls,
    isPublic: !isLoopback,
    upgrade: (request, socket, head) => {
      if (connections.isBusy(socket)) connections.whenAnswered(socket, () => socket.destroy());
      else app.sockets.upgrade(request, socket, head);
    },
  });
  const server = listener.server as Server;
  leaveConnectionsAlone(server, connections.listener);
  limitReading(server, { headersMs, requestMs });
  answerUnreadable(server, { connections, refuse: app.refuse });
  connections.watch(server);
  const { proxyProtocolFrom: proxies = [] } = options;
  const endWaiting = proxies.length > 0 ? readProxyHeaders(server, { proxies, headerMs: headersMs }) : null;
  const endLooking = cutSlowReaders(connections.unread, stallMs);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    const startedAt = performance.now();
    // Whoever comes now is told when to come again, in place of a connection that is refused.
    app.drain();
    await connections.answered(graceMs);
    // Sockets first: listhen would cut them, and peers would see a broken connection in place of "going away".
    app.sockets.closeAll();
    const closed = listener.close();
    endWaiting?.();
    const endDraining = connections.drain(server, Math.max(0, graceMs - (performance.now() - startedAt)));
    await closed;
    endDraining();
    endLooking();
  };
  const stop = (): Promise<void> => (closing ??= close());
  const { port: takenPort } = listener.address;
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return {
    url: `${tls === undefined ? "http" : "https"}://${shownHost}:${takenPort}`,
    address: addressOf(server) ?? host,
    port: takenPort,
    renewCertificate: (certificate) => renewCertificate(server, certificate),
    close: stop,
    [Symbol.asyncDispose]: stop,
  };
}

function renewCertificate(server: Server, certificate: Certificate): void {
  if (!(server instanceof SecureServer)) {
    throw new OrchestratorError("CONFIGURATION_INVALID", { message: "It listens without TLS." });
  }
  assertUsable(certificate);
  server.setSecureContext(certificate);
}

function addressOf(server: Server): string | null {
  const bound = server.address();
  return typeof bound === "object" ? (bound?.address ?? null) : null;
}

interface StartOptions {
  port: number;
  host: string;
  tls: Certificate | undefined;
  isPublic: boolean;
  upgrade: App["sockets"]["upgrade"];
}

async function start(
  listener: RequestListener,
  { port, host, tls, isPublic, upgrade }: StartOptions,
): Promise<Listener> {
  const inUse = (cause?: unknown): OrchestratorError =>
    new OrchestratorError("ADDRESS_IN_USE", { message: `Can't listen at ${host}:${port}.`, cause });
  // It brings a maker of certificates along, which an app that is part of another server must not load.
  const { listen } = await import("listhen");
  let started: Listener;
  try {
    started = await listen(listener, {
      hostname: host,
      // This port or none: by default listhen takes another one where it is busy. A range that ends before it begins is empty.
      port: { port, ports: [], alternativePortRange: [1, 0], random: port === 0 },
      public: isPublic,
      https: tls ? { cert: toBarePem(tls.cert), key: toBarePem(tls.key) } : false,
      ws: upgrade as never,
      // As in its own tests, listhen writes nothing to the console.
      isTest: true,
      showURL: false,
      qr: false,
      autoClose: false,
      open: false,
      clipboard: false,
    });
  } catch (cause) {
    throw (await hasAddress(host)) ? inUse(cause) : noAddress(host, cause);
  }
  // listhen also takes another port in place of one that browsers refuse to talk to.
  if (port === 0 || started.address.port === port) return started;
  await started.close();
  throw inUse();
}

/** Without what tools write above: listhen takes a text that begins with anything else for the name of a file. */
function toBarePem(text: string): string {
  return text.slice(Math.max(0, text.indexOf("-----BEGIN ")));
}

/** What TLS would say at the first connection, or listhen as a port that is taken. */
function assertUsable(tls: Certificate): void {
  try {
    // OpenSSL takes an empty text for no certificate at all, and says nothing.
    const first = readPart("the certificate", () => new X509Certificate(tls.cert));
    const [firstKey = ""] = /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?-----END /.exec(tls.key) ?? [];
    if (/^-----BEGIN ENCRYPTED |^Proc-Type: 4,ENCRYPTED/m.test(firstKey))
      throw new Error("the private key needs a passphrase, which the server has no way to ask for");
    const key = readPart("the private key", () => createPrivateKey(tls.key));
    if (!first.checkPrivateKey(key))
      throw new Error(
        "the first certificate is not of this private key (the server's own comes first, then those of authorities)",
      );
    createSecureContext(tls);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new OrchestratorError("CONFIGURATION_INVALID", {
      message: `The certificate and its private key can't be used: ${reason}.`,
      cause,
    });
  }
}

/** OpenSSL's own words name neither which of the two files it read nor what there should be. */
function readPart<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Error(`${name} is not there as PEM text, or not whole`, { cause });
  }
}

/** Whether some port of this host can be listened at: listhen doesn't tell a taken port from an address of another machine. */
async function hasAddress(host: string): Promise<boolean> {
  const probe = createServer();
  try {
    probe.listen(0, host);
    await once(probe, "listening");
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

function noAddress(host: string, cause: unknown): OrchestratorError {
  return new OrchestratorError("CONFIGURATION_INVALID", {
    message: `${host} is no address of this machine to listen at.`,
    cause,
  });
}

function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
