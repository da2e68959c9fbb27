/** The toy on a real socket on loopback. */
import type { Logger } from "fleetwright";
import { createApp } from "../../../adapters/h3/app.ts";
import type { AppOptions } from "../../../adapters/h3/app.ts";
import type { RequestContext } from "../../../adapters/trpc/context.ts";
import { listenOnLoopback, send } from "../../support/http.ts";
import type { Call } from "../../support/http.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";

export type { Call } from "../../support/http.ts";

/** Collects what is logged. */
export function recordingLogger(): Logger & { errors: { message: string; fields: unknown }[] } {
  const errors: { message: string; fields: unknown }[] = [];
  return {
    errors,
    debug() {},
    info() {},
    warn() {},
    error: (message, fields) => errors.push({ message, fields }),
  };
}

/** Starts the toy on a free port. */
export async function startToy(extra: Partial<AppOptions<RequestContext>> = {}) {
  const toy = new Toy();
  const logger = recordingLogger();
  const app = createApp({
    router: toyRouter,
    createContext: toyContexts(toy),
    isReady: () => true,
    logger,
    ...extra,
  });
  const listening = await listenOnLoopback(app);
  const { port, url } = listening;
  return {
    toy,
    app,
    logger,
    port,
    url,
    call: (call: Call) => send(port, { ...call, headers: { ...signedIn, ...call.headers } }),
    [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose](),
  };
}

const signedIn = { authorization: "Bearer fw_good" };
