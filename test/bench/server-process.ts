/** One server under test, in a process of its own: `server-process.ts <module>`. Tells its port and, when asked, its CPU time. */
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** What a module under `servers/` exports by default. */
export interface ServerUnderTest {
  listener: RequestListener;
  /** The path that is asked for. */
  path: string;
  /** The headers of the request. */
  headers: Record<string, string>;
}

/** What the process tells when it listens. */
export interface Ready {
  port: number;
  path: string;
  headers: Record<string, string>;
}

const [, , module = ""] = process.argv;
const { default: create } = (await import(pathToFileURL(resolve(module)).href)) as {
  default: () => Promise<ServerUnderTest>;
};
const { listener, path, headers } = await create();
const server = createServer(listener);
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ port, path, headers } satisfies Ready);
});
process.on("message", () => {
  const { user, system } = process.cpuUsage();
  process.send?.(user + system);
});
process.on("disconnect", () => process.exit());
