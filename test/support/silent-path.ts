/** A path to a server that at some point swallows everything in both directions, and tells nobody: as where a NAT forgot a connection. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** A path that is open. */
export interface SilentPath extends AsyncDisposable {
  port: number;
  /** From now on nothing goes through, of connections that stand; they stay open. */
  swallow(): void;
}

/** Opens a path to a port of loopback. */
export async function openSilentPath(toPort: number): Promise<SilentPath> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => {}).once("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    const far = keep(connect(toPort, "127.0.0.1"));
    keep(near).pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    swallow() {
      for (const socket of sockets)
        socket
          .unpipe()
          .removeAllListeners("end")
          .on("data", () => {});
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
