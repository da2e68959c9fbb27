import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What is given at a path: bytes, or an answer of one's own. */
export type Served = string | Buffer | ((request: IncomingMessage, response: ServerResponse) => void);

/** A server of files on loopback. */
export interface FileServer {
  url: string;
  /** What is given, by path; may be changed while it runs. */
  files: Record<string, Served>;
  stop(): Promise<void>;
}

/** Serves files on a free port of loopback until it is stopped: `/hello` by way of `/redirect`, and `/endless`. */
export async function serveFiles(files: Record<string, Served> = {}): Promise<FileServer> {
  const all: Record<string, Served> = {
    "/hello": "hello",
    "/redirect": redirectTo("/hello"),
    "/endless": (_request, response) => void response.writeHead(200).write("h"),
    ...files,
  };
  const server = createServer((request, response) => {
    const served = all[new URL(request.url ?? "/", "http://localhost").pathname];
    if (typeof served === "function") served(request, response);
    else response.writeHead(served === undefined ? 404 : 200).end(served);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    files: all,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An answer that says where else to look. */
export function redirectTo(location: string): Served {
  return (_request, response) => response.writeHead(302, { location }).end();
}
