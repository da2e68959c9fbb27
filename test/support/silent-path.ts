/** A path to a server that at some point swallows everything in both directions, and tells nobody: as where a NAT forgot a connection. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A path that is open. */
export interface SilentPath extends AsyncDisposable {
  port: number;
  /** What came so far from those who connected. */
  heard(): string;
  /** From now on nothing goes through, of connections that stand; they stay open. New ones go through. */
  swallow(): void;
  /** The same, of new connections too: they are taken, and nobody is at the other end. */
  cut(): void;
  /** Ends every connection, as a proxy does that is started again; new ones as before. */
  end(): void;
  /** New connections go through again; those that were swallowed stay so. */
  mend(): void;
}

/** Opens a path to a port of loopback. */
export async function openSilentPath(toPort: number): Promise<SilentPath> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  };
  let isCut = false;
  let heard = "";
  const server = createServer((near) => {
    if (isCut) return void keep(near).resume();
    const far = keep(connect(toPort, "127.0.0.1"));
    keep(near)
      .on("data", (bytes: Buffer) => (heard += bytes.toString("latin1")))
      .pipe(far)
      .pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const swallow = (): void => {
    for (const socket of sockets)
      socket
        .unpipe()
        .removeAllListeners("end")
        .on("data", () => {});
  };
  const end = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    heard: () => heard,
    swallow,
    cut() {
      isCut = true;
      swallow();
    },
    end,
    mend() {
      isCut = false;
    },
    async [Symbol.asyncDispose]() {
      end();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
