/** The surface of an orchestrator that runs in somebody else's program: everything that its server must hand over, in two functions. */
import type { Orchestrator, SocketTransport } from "fleetwright";
import { checkOptions } from "fleetwright/options";
import { createRequestIds } from "../http/request-id.ts";
import { defaultBasePath } from "../rest/handler.ts";
import { createContextFactory } from "../trpc/context.ts";
import { appRouter } from "../trpc/router.ts";
import { createAgentSocket } from "./agent-socket.ts";
import { createApp } from "./app.ts";
import type { App, AppOptions } from "./app.ts";
import { mountInstallPages } from "./install-pages.ts";
import { orchestratorAppOptions } from "./option-table.ts";
import { createSourceAddress } from "./source-address.ts";
import { createTerminalSocket, terminalPath } from "./terminal-socket.ts";

/** What the surface is made of. What is not of this form is refused when it is made, all at once: `OPTIONS_INVALID`. */
export interface OrchestratorAppOptions extends Partial<
  Omit<AppOptions<never>, "router" | "createContext" | "basePath" | "resourceTypes">
> {
  /** Started and stopped by the program. */
  orchestrator: Orchestrator;
  /** The orchestrator's transport: agents connect at `<mountPath>/agent/v1`. Default no agent connects here. */
  transport?: SocketTransport;
  /** Folder of the agent made by `npm run build:agent`, which `/install.sh` installs on machines. Default none. */
  agentDir?: string;
  /** Address for agents that `/install.sh` names, a ws or wss address; null: the server's own in each network. Default the host that was asked. */
  agentUrl?: string | null;
}

/** Where agents connect, below the mount path. */
export const agentPath = "/agent/v1";

/**
 * Makes the surface of an orchestrator: REST, tRPC, streams, pages, and the sockets of agents.
 *
 * Hand every request below the mount path to `listener` (a `node:http` handler: Express, Fastify, plain Node) or to `fetch` (`Request` to
 * `Response`: Hono, h3), with its path and body untouched, and every upgrade of the server to `sockets.upgrade`.
 *
 * @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options.
 */
export function createOrchestratorApp(options: OrchestratorAppOptions): App {
  checkOptions<OrchestratorAppOptions>(options, orchestratorAppOptions, { of: "createOrchestratorApp" });
  const { orchestrator, transport, mountPath = "", sockets = new Map(), ...others } = options;
  const { agentDir = null, agentUrl = null, ...rest } = others;
  const ready = async (): Promise<boolean> => {
    await orchestrator.checkReady();
    return true;
  };
  const sourceAddress = createSourceAddress(rest.trustedProxies);
  const agents = transport
    ? [[mountPath + agentPath, createAgentSocket(transport, sourceAddress)] as const]
    : [];
  const basePath = mountPath + defaultBasePath;
  const app = createApp({
    ...rest,
    isReady: rest.isReady ?? ready,
    mountPath,
    router: appRouter,
    resourceTypes: orchestrator.resourceTypes,
    createContext: createContextFactory(orchestrator, rest.allowedHosts),
    sockets: new Map([
      [basePath + terminalPath, createTerminalSocket(orchestrator, sourceAddress)],
      ...sockets,
      ...agents,
    ]),
  });
  const { createRequestId = createRequestIds(), trustedProxies = [] } = rest;
  mountInstallPages(
    { h3: app.h3, mountPath, createRequestId },
    { orchestrator, agentDir, agentUrl, agentPath: mountPath + agentPath, trustedProxies },
  );
  return app;
}
