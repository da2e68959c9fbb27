/** What is between agents and their server, and fails: it cuts, holds up, swallows and refuses. */
import { once } from "node:events";
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Both halves of a connection. */
interface Pair {
  near: Socket;
  far: Socket;
  /** Whether what comes is thrown away. */
  isSwallowed: boolean;
}

/** A TCP proxy on loopback. */
export class CuttingProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  /** New connections end at once while it is so. */
  isRefusing = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens on a free port and passes on to another one. */
  static async start(targetPort: number): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server);
    server.on("connection", (near) => proxy.#accept(near, targetPort));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Ends every connection that a chooser picks, on both sides. */
  cut(picks: () => boolean): void {
    for (const pair of this.#pairs) if (picks()) this.#end(pair);
  }

  /** Half-open: ends the server's side, and leaves the agent with a connection on which nothing comes any more; or the other way round. */
  halfOpen(picks: () => boolean, left: "near" | "far"): void {
    for (const pair of this.#pairs) {
      if (!picks()) continue;
      pair.isSwallowed = true;
      pair[left === "near" ? "far" : "near"].destroy();
    }
  }

  /** Swallows what both sides say, without a word to either. */
  swallow(picks: () => boolean): void {
    for (const pair of this.#pairs) if (picks()) pair.isSwallowed = true;
  }

  /** Holds everything up until the returned function is called. */
  stall(): () => void {
    const held = [...this.#pairs];
    for (const { near, far } of held) for (const socket of [near, far]) socket.pause();
    return () => {
      for (const { near, far } of held) for (const socket of [near, far]) socket.resume();
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut(() => true);
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(near: Socket, port: number): void {
    if (this.isRefusing) {
      near.destroy();
      return;
    }
    const far = createConnection({ host: "127.0.0.1", port });
    const pair: Pair = { near, far, isSwallowed: false };
    this.#pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true);
      from.on("data", (bytes) => {
        if (!pair.isSwallowed) to.write(bytes);
      });
      // A reset ends it; "close" tells.
      from.on("error", () => {});
      from.on("close", () => {
        if (!pair.isSwallowed) this.#end(pair);
        else if (near.destroyed && far.destroyed) this.#pairs.delete(pair);
      });
    }
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.near.destroy();
    pair.far.destroy();
  }
}
