/** The toy on a real socket on loopback. */
import { createServer, request as httpRequest } from "node:http";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { createApp } from "../../../adapters/h3/app.ts";
import type { AppOptions } from "../../../adapters/h3/app.ts";
import { Toy, toyContexts, toyRouter } from "../toy.ts";
import type { RequestContext } from "../../../adapters/trpc/context.ts";
import type { Logger } from "fleetwright";

/** What the server answered. */
export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  json: unknown;
}

/** A request as it goes over the wire: the path is sent exactly as written. */
export interface Call {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Sends the body without announcing its length. */
  chunked?: boolean;
}

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
  const server = createServer(app.listener);
  server.on("upgrade", app.sockets.upgrade);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    toy,
    app,
    logger,
    port,
    url: `http://127.0.0.1:${port}`,
    call: (call: Call) => send(port, call),
    async [Symbol.asyncDispose]() {
      app.sockets.closeAll();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const signedIn = { authorization: "Bearer fw_good" };

function send(
  port: number,
  { method = "GET", path, headers = {}, body, chunked = false }: Call,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined || chunked ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const all = { ...signedIn, ...length, ...headers };
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
    const request = httpRequest(
      { host: "127.0.0.1", port, method, path, headers: given, agent: false },
      (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(pieces).toString();
          const isJson = /json/.test(response.headers["content-type"] ?? "") && text !== "";
          const json: unknown = isJson ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
        });
      },
    );
    request.on("error", reject);
    if (chunked) request.flushHeaders();
    request.end(body);
  });
}
