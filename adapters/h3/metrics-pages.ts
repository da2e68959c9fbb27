/** `GET /metrics`: figures of the server itself, at a port of their own, or beside all else for who has the token. Neither is there by default. */
import { createHash, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { OrchestratorError } from "fleetwright";
import type { Orchestrator } from "fleetwright";
import { appRouter } from "../trpc/router.ts";
import type { App } from "./app.ts";
import { createRouteNames } from "./route-names.ts";

/** What the figures are of, and where they are read. */
export interface MetricsPagesOptions {
  app: App;
  orchestrator: Orchestrator;
  /** 0: none of their own. */
  port: number;
  /** Null: not beside all else. */
  token: string | null;
}

/** The figures of one server. */
export interface MetricsPages {
  /** The app, whose requests are counted where somebody may ask for it. */
  counted: App;
  /**
   * Listens at the port of their own.
   *
   * @throws {OrchestratorError} `ADDRESS_IN_USE`.
   */
  listen(): Promise<void>;
  /** Counts nothing any more, and listens no more. */
  stop(): Promise<void>;
}

/** Prepares the figures of a server. */
export async function createMetricsPages(options: MetricsPagesOptions): Promise<MetricsPages> {
  const { app, orchestrator, port, token } = options;
  if (port === 0 && token === null)
    return { counted: app, listen: () => Promise.resolve(), stop: () => Promise.resolve() };
  // What counts brings OpenTelemetry along, which nobody pays for who does not count.
  const { createOwnMetrics } = await import("./own-metrics.ts");
  const metrics = createOwnMetrics(orchestrator, createRouteNames(appRouter));
  const answer = async (accept: string | null): Promise<Response> => {
    const { contentType, body } = await metrics.text(accept ?? undefined);
    return new Response(body, { headers: { "content-type": contentType, "cache-control": "no-store" } });
  };
  if (token !== null)
    app.h3.get("/metrics", ({ req }) => {
      if (!isToken(req.headers.get("authorization"), token)) throw new OrchestratorError("UNAUTHENTICATED");
      return answer(req.headers.get("accept"));
    });
  let server: Server | null = null;
  return {
    counted: {
      ...app,
      listener: (request, response) => {
        metrics.count(request, response);
        app.listener(request, response);
      },
    },
    async listen() {
      if (port !== 0) server = await listenAlone(port, answer);
    },
    async stop() {
      metrics.stop();
      server?.closeAllConnections();
      server?.close();
      server = null;
    },
  };
}

/** A page of a stranger in a browser of this machine would ask by a name of its own. */
const ownHost = /^(127\.0\.0\.1|localhost)(:\d+)?$/i;

/** Compared by their hashes, which takes as long whatever is wrong. */
function isToken(authorization: string | null, token: string): boolean {
  const hashOf = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hashOf(authorization ?? ""), hashOf(`Bearer ${token}`));
}

/** At the loopback address alone: whoever is to ask from elsewhere has the token, and the TLS of the server. */
async function listenAlone(
  port: number,
  answer: (accept: string | null) => Promise<Response>,
): Promise<Server> {
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    const isAsked =
      request.method === "GET" &&
      request.url?.split("?", 1)[0] === "/metrics" &&
      ownHost.test(request.headers.host ?? "");
    const made = isAsked
      ? answer(request.headers.accept ?? null)
      : Promise.resolve(new Response("", { status: 404 }));
    made.then(
      async (found) =>
        response.writeHead(found.status, Object.fromEntries(found.headers)).end(await found.text()),
      () => response.writeHead(503).end(),
    );
  });
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new OrchestratorError("ADDRESS_IN_USE", {
      message: `The port ${port} for metrics can't be listened at.`,
      cause,
    });
  }
  return server;
}
