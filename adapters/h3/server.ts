/** An orchestrator with its whole surface on one listener: what `fleetwright serve` runs, and what a program can run inside itself. */
import { Orchestrator, orchestratorOptions, SocketTransport } from "fleetwright";
import type { OrchestratorOptions } from "fleetwright";
import { checkOptions, handshakeOptionTable, optionsOf } from "fleetwright/options";
import type { OptionTable } from "fleetwright/options";
import { createRequestIds } from "../http/request-id.ts";
import { createMetricsPages } from "./metrics-pages.ts";
import {
  installOptions,
  listenAppOptions,
  ownMetricsOptions,
  proxyOptions,
  reachOptions,
  serverFaultsTogether,
  stopOptions,
} from "./option-table.ts";
import { agentPath, createOrchestratorApp } from "./orchestrator-app.ts";
import { mountHome } from "./pages.ts";
import { listenApp } from "./serve.ts";
import type { Certificate, ListenAppOptions, ListeningApp } from "./serve.ts";

/** What a server is made of: the options of the orchestrator, and where to listen. Agents are reached over its sockets. */
export interface ServerOptions extends Omit<OrchestratorOptions, "transport"> {
  /** Where and how to listen. */
  listen: ListenAppOptions;
  /** Addresses or networks of proxies whose `X-Forwarded-For` is believed. Default none. */
  trustedProxies?: readonly string[];
  /**
   * Whether connections from `trustedProxies` begin with a PROXY protocol header, version 1 or 2, which says where they come from; a
   * connection without it is closed. For proxies that pass bytes through. Default false.
   */
  proxyProtocol?: boolean;
  /** Host names that the service has, without a port; see {@link createApp}. Default any. */
  allowedHosts?: readonly string[];
  /**
   * Agent handshakes at one time, 1 to 1,000,000; further agents are turned away and told when to try again. Each may hold a frame
   * of 1 MiB. Default 256.
   */
  maxHandshakes?: number;
  /**
   * Of these, handshakes from one address (IPv6: one /64), 1 to 1,000,000. Agents behind one proxy that is not trusted share one. Default
   * 64.
   */
  maxHandshakesPerAddress?: number;
  /**
   * Seconds over which agents are disconnected when the server stops, one after the other, 0 to 3,600. Meanwhile it is not ready
   * (`/readyz`), but still serves. For fleets with another server behind the same address; 30 is a good value there. Default 0.
   */
  drainSeconds?: number;
  /**
   * Port on 127.0.0.1 for `GET /metrics`: figures of the server itself, for Prometheus, without sign-in, 0 to 65,535; 0: none. A busy one
   * is an error. Default 0.
   */
  metricsPort?: number;
  /**
   * Token for `GET /metrics` on the server's main port, as `Authorization: Bearer TOKEN`, 16 to 200 printable characters. Default none:
   * there is no such path.
   */
  metricsToken?: string;
  /** Folder of the agent made by `npm run build:agent`, which `/install.sh` installs on machines. Default none. */
  agentDir?: string;
}

const { transport: _, ...orchestratorRows } = orchestratorOptions;

/** What the options of a server may be. */
export const serverOptions: OptionTable<ServerOptions> = {
  ...orchestratorRows,
  ...reachOptions,
  ...handshakeOptionTable,
  ...stopOptions,
  ...proxyOptions,
  ...ownMetricsOptions,
  agentDir: { ...installOptions.agentDir, defaultText: "none" },
  listen: { rule: optionsOf<ListenAppOptions>(listenAppOptions), isRequired: true },
};

/** A server that runs. */
export interface RunningServer extends AsyncDisposable {
  /** Where it is reached, without a slash at the end, e.g. `http://127.0.0.1:4748`. */
  readonly url: string;
  /** Where agents connect, e.g. `ws://127.0.0.1:4748/agent/v1`. */
  readonly agentUrl: string;
  readonly orchestrator: Orchestrator;
  /** Shows another certificate from the next connection on; see {@link ListeningApp.renewCertificate}. */
  renewCertificate(certificate: Certificate): void;
  /**
   * Lets agents go for as long as `drainSeconds` says, not ready and serving. Then it answers who is there (waiting calls with the state so
   * far), refuses new requests with 503 meanwhile and closes the storage. May be called twice.
   */
  close(): Promise<void>;
}

function urlsAt(url: string): Pick<RunningServer, "url" | "agentUrl"> {
  return { url, agentUrl: `${url.replace(/^http/, "ws")}${agentPath}` };
}

/**
 * Starts an orchestrator and listens.
 *
 * @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options, those of the listener among them.
 * @throws {OrchestratorError} What {@link Orchestrator.start} and {@link listenApp} throw; nothing is left open then.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  checkOptions(options, serverOptions, { of: "startServer", together: serverFaultsTogether });
  const { listen, trustedProxies, allowedHosts, maxHandshakes, maxHandshakesPerAddress, ...others } = options;
  const { drainSeconds = stopOptions.drainSeconds.default, proxyProtocol = false, ...rest } = others;
  const { metricsPort: port = 0, metricsToken: token = null, agentDir, ...own } = rest;
  const transport = new SocketTransport({
    ...(maxHandshakes !== undefined && { maxHandshakes }),
    ...(maxHandshakesPerAddress !== undefined && { maxHandshakesPerAddress }),
  });
  const orchestrator = new Orchestrator({ ...own, transport });
  let isReady = true;
  const app = createOrchestratorApp({
    orchestrator,
    transport,
    isReady: async () => {
      if (isReady) await orchestrator.checkReady();
      return isReady;
    },
    ...(options.logger && { logger: options.logger }),
    ...(trustedProxies && { trustedProxies }),
    ...(allowedHosts && { allowedHosts }),
    ...(agentDir !== undefined && { agentDir }),
    ...(own.agentUrl !== undefined && { agentUrl: own.agentUrl }),
  });
  const metrics = await createMetricsPages({ app, orchestrator, port, token });
  mountHome({ h3: app.h3, mountPath: "", createRequestId: createRequestIds() });
  await orchestrator.start();
  const begin = async (): Promise<ListeningApp> => {
    await metrics.listen();
    return listenApp(metrics.counted, {
      ...listen,
      ...(proxyProtocol && trustedProxies && { proxyProtocolFrom: trustedProxies }),
    });
  };
  const listening = await begin().catch(async (error: unknown) => {
    await metrics.stop();
    await orchestrator.stop();
    throw error;
  });
  orchestrator.servedAt({
    host: listening.address,
    port: listening.port,
    isSecure: listening.url.startsWith("https:"),
    path: agentPath,
  });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    isReady = false;
    orchestrator.beginDrain();
    if (drainSeconds > 0) await transport.drain(drainSeconds * 1_000);
    orchestrator.letGo();
    await listening.close();
    await metrics.stop();
    await orchestrator.stop();
  };
  const stop = (): Promise<void> => (closing ??= close());
  const renewCertificate = (certificate: Certificate): void => listening.renewCertificate(certificate);
  const urls = urlsAt(listening.url);
  return { ...urls, orchestrator, renewCertificate, close: stop, [Symbol.asyncDispose]: stop };
}
