/** A client that costs little beside the server: of an answer it reads the head, and of the rest it counts the bytes. */
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

/** Opens connections to a port of this machine. */
export async function openConnections(port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (const socket of sockets) socket.setNoDelay(true);
  return sockets;
}

/** The bytes of a GET request. */
export function writeGet(path: string, headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from([`GET ${path} HTTP/1.1`, "host: 127.0.0.1", ...lines, "", ""].join("\r\n"));
}

/** Sends one request and waits for the end of its answer, which must be a 200. */
export function ask(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let isLast: ((piece: Buffer) => boolean) | null = null;
    const onData = (piece: Buffer): void => {
      if (isLast === null && piece.toString("latin1", 0, 12) !== "HTTP/1.1 200")
        return reject(new Error(piece.toString()));
      isLast ??= createEnd(piece);
      if (!isLast(piece)) return;
      socket.off("data", onData);
      resolve();
    };
    socket.on("data", onData);
    socket.write(request);
  });
}

const lastChunk = Buffer.from("\r\n0\r\n\r\n");

/** Makes what is shown every piece of an answer and tells the last one. The first holds the whole head. */
function createEnd(first: Buffer): (piece: Buffer) => boolean {
  const head = first.toString("latin1", 0, first.indexOf("\r\n\r\n") + 4);
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  if (length !== undefined) {
    let missing = head.length + Number(length);
    return (piece) => (missing -= piece.length) <= 0;
  }
  let tail: Buffer = Buffer.alloc(0);
  return (piece) => {
    tail = Buffer.concat([tail, piece]).subarray(-lastChunk.length);
    return tail.equals(lastChunk);
  };
}
