import type { Orchestrator } from "fleetwright";
import { createApp } from "../../adapters/h3/app.ts";
import type { SocketRoutes } from "../../adapters/h3/sockets.ts";
import { createContextFactory } from "../../adapters/trpc/context.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import { listenOnLoopback, send, type Answer, type AppOnSocket, type Call } from "./http.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** An orchestrator with its whole surface on a real socket. */
export interface TestServer extends AppOnSocket {
  /** What the surface logged. */
  logger: RecordingLogger;
  call(call: Call): Promise<Answer>;
  /** Sends JSON to a path below `/api/v1`. Without a token it is a stranger's request. */
  rest(
    method: string,
    path: string,
    options?: { token?: string | undefined; body?: unknown },
  ): Promise<Answer>;
}

/** Serves an orchestrator that runs; disposing of the server leaves it running. */
export async function serve(orchestrator: Orchestrator, sockets?: SocketRoutes): Promise<TestServer> {
  const logger = new RecordingLogger();
  const app = createApp({
    router: appRouter,
    createContext: createContextFactory(orchestrator),
    isReady: () => true,
    logger,
    ...(sockets && { sockets }),
  });
  const listening = await listenOnLoopback(app);
  const call = (made: Call): Promise<Answer> => send(listening.port, made);
  return {
    ...listening,
    logger,
    call,
    rest: (method, path, { token, body } = {}) =>
      call({
        method,
        path: `/api/v1${path}`,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  };
}
