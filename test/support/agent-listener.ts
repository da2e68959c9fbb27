/** A real listener on loopback that hands WebSockets to a transport, with or without TLS. */
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { ResolveHooks } from "crossws";
import crossws from "crossws/adapters/node";
import { H3 } from "h3";
import { toNodeHandler } from "h3/node";
import { agentSocketHandler, agentSocketMaxPayload } from "../../adapters/h3/agent-socket.ts";
import type { SocketTransport } from "../../lib/transport/socket-transport.ts";

/** A listener that runs. */
export interface AgentListener {
  url: string;
  close(): Promise<void>;
}

/** Listens on a free port of loopback. */
export async function listenForAgents(
  transport: Pick<SocketTransport, "accept">,
  tls?: { key: string; cert: string },
): Promise<AgentListener> {
  const app = new H3().get("/agent/v1", agentSocketHandler(transport));
  const findHooks = async (request: Request): Promise<unknown> => {
    const response = await app.fetch(request);
    return (response as Response & { crossws?: unknown }).crossws;
  };
  const sockets = crossws({
    resolve: findHooks as ResolveHooks,
    serverOptions: { maxPayload: agentSocketMaxPayload, perMessageDeflate: false },
  });
  const handler = toNodeHandler(app);
  const server = tls ? createTlsServer(tls, handler) : createServer(handler);
  server.on("upgrade", (request, socket, head) => void sockets.handleUpgrade(request, socket, head));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "wss" : "ws"}://127.0.0.1:${port}/agent/v1`,
    async close() {
      sockets.closeAll(1001, "", true);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await sockets.close();
    },
  };
}
