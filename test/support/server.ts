import { expect } from "vitest";
import type { Orchestrator } from "fleetwright";
import { createApp } from "../../adapters/h3/app.ts";
import type { SocketRoutes } from "../../adapters/h3/sockets.ts";
import { codesOf } from "../../adapters/rest/openapi/problems.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { createContextFactory } from "../../adapters/trpc/context.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
import { undescribedHeaders, undescribedMediaType } from "./described-headers.ts";
import { listenOnLoopback, send, type Answer, type AppOnSocket, type Call } from "./http.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** An orchestrator with its whole surface on a real socket. */
export interface TestServer extends AppOnSocket {
  /** What the surface logged. */
  logger: RecordingLogger;
  /** An answer below `/api/v1` with a header or a media type that the OpenAPI description does not name fails the test. */
  call(call: Call): Promise<Answer>;
  /**
   * Sends JSON to a path below `/api/v1`. Without a token it is a stranger's request. A refusal that the OpenAPI description does not
   * tell of fails the test.
   */
  rest(
    method: string,
    path: string,
    options?: { token?: string | undefined; body?: unknown },
  ): Promise<Answer>;
}

const basePath = "/api/v1";

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
  const call = async (made: Call): Promise<Answer> => {
    const answer = await send(listening.port, made);
    const { method = "GET", path } = made;
    if (path.startsWith(basePath)) {
      const asked = { ...answer, method, path: path.slice(basePath.length) };
      expect(undescribedHeaders(asked), `${method} ${path}: ${answer.status}`).toEqual([]);
      expect(undescribedMediaType(asked), `${method} ${path}: ${answer.status}`).toBeNull();
    }
    return answer;
  };
  return {
    ...listening,
    logger,
    call,
    async rest(method, path, { token, body } = {}) {
      const answer = await call({
        method,
        path: `${basePath}${path}`,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      expectDescribed(method, path, answer);
      return answer;
    },
  };
}

const described = restProcedures(appRouter).map(([name, procedure]) => {
  const { method, path } = (procedure._def.meta as ProcedureMeta).openapi!;
  const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}(?:\\?|$)`);
  return {
    method,
    pattern,
    codes: codesOf(name, procedure) as ReadonlySet<string>,
    isLiteral: !path.includes("{"),
  };
});

function expectDescribed(method: string, path: string, { status, json }: Answer): void {
  const code = (json as { code?: string } | undefined)?.code;
  const codes = describedCodes(method, path);
  if (status >= 400 && codes) expect(codes, `${method} ${path}`).toContain(code);
}

/** The codes that the description tells of for a path below `/api/v1`; undefined where it has no such path. */
export function describedCodes(method: string, path: string): readonly string[] | undefined {
  const found = described.filter((each) => each.method === method && each.pattern.test(path));
  const operation = found.find(({ isLiteral }) => isLiteral) ?? found[0];
  return operation && [...operation.codes];
}
