/** Servers that messages are sent to, for the test that runs now. */
import { createServer as createHttpServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { onTestFinished } from "vitest";

/** A request that came. */
export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** How a receiver is to be. */
export interface ReceiverOptions {
  /** Default 127.0.0.1. */
  host?: string;
  /** Default: one that is free. */
  port?: number;
  /** With a certificate: TLS. */
  tls?: TlsOptions;
}

/** A server that keeps what came and answers as it is told to. */
export async function startReceiver(
  answer: (response: ServerResponse, request: Received) => void,
  { tls, ...at }: ReceiverOptions = {},
): Promise<{ url: string; port: number; received: Received[] }> {
  const received: Received[] = [];
  const server = tls ? createHttpsServer(tls) : createHttpServer();
  server.on("request", (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url: path = "", headers } = incoming;
      const request = { method, path, headers, body: Buffer.concat(chunks).toString() };
      received.push(request);
      answer(response, request);
    });
  });
  const port = await listen(server, at);
  return { url: `${tls ? "https" : "http"}://127.0.0.1:${port}`, port, received };
}

/** A server of bare connections. */
export async function startSocketServer(
  serve: (socket: Socket) => void,
  { tls, ...at }: ReceiverOptions = {},
): Promise<{ port: number; connections: () => number }> {
  let connections = 0;
  const accept = (socket: Socket): void => {
    connections += 1;
    socket.on("error", () => {});
    serve(socket);
  };
  const port = await listen(tls ? createTlsServer(tls, accept) : createServer(accept), at);
  return { port, connections: () => connections };
}

async function listen(server: Server, { host = "127.0.0.1", port = 0 }: ReceiverOptions): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  );
  return (server.address() as AddressInfo).port;
}
