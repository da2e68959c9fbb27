/** Bytes that are sent exactly as written, on a connection of their own. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A connection, and all that came back on it. */
export interface RawConnection {
  socket: Socket;
  /** Everything that came so far. */
  text(): string;
  /** Resolves when what came matches. */
  until(pattern: RegExp): Promise<string>;
  /** Resolves with everything when the other side has closed. */
  closed: Promise<string>;
}

/** Connects to a port of loopback and sends something. */
export async function sendRaw(port: number, bytes: string): Promise<RawConnection> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  let received = "";
  socket.setEncoding("latin1");
  socket.on("data", (piece: string) => (received += piece));
  // A server that resets has closed, too.
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => socket.once("close", () => resolve(received)));
  socket.write(bytes);
  return {
    socket,
    closed,
    text: () => received,
    async until(pattern) {
      while (!pattern.test(received)) {
        const ended = await Promise.race([once(socket, "data").then(() => false), closed.then(() => true)]);
        if (ended && !pattern.test(received)) throw new Error(`It closed after ${JSON.stringify(received)}.`);
      }
      return received;
    },
  };
}
