/** What becomes of a body that nobody reads, because its request was answered before. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * So much of it is read and dropped: for the sake of the next request on the connection, and of clients that send all before
 * they read. Past it the connection is reset, and those find no answer.
 */
const mostBytes = 16 * 1024 * 1024;
/** While something of it comes, with no longer pauses than this, milliseconds, and no longer than that in all. */
const pauseMs = 5_000;
const longestMs = 30_000;

/**
 * Has the rest of a request's body read and dropped once its answer is out. Left where it is, it would stand before the next
 * request on the connection, which behind a proxy is anybody's.
 */
export function dropUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  const { headers } = request;
  if (headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0") return;
  // Node takes it away from a request whose body was given up.
  const { socket } = request;
  request.once("close", () => {
    if (!request.complete && !response.headersSent) response.shouldKeepAlive = false;
  });
  // Node ends the connection of a last answer by now, which resets it where something is unread: it has to wait for that.
  response.prependOnceListener("finish", () => {
    if (request.complete) return;
    socket.destroySoon = () => void socket.end();
    // What nobody began to read Node would drop by itself, and nobody could see whether more of it comes.
    request.read(0);
  });
  response.once("finish", () => {
    Reflect.deleteProperty(socket, "destroySoon");
    drop(request, socket);
  });
}

function drop(request: IncomingMessage, socket: Socket): void {
  if (socket.destroyed || request.readableEnded) return;
  const timers = [pauseMs, longestMs].map((ms) => setTimeout(() => socket.destroy(), ms));
  const done = (): void => timers.forEach(clearTimeout);
  socket.once("close", done);
  if (request.destroyed) {
    // Whoever read it gave it up, and Node reads no further: the answer was the last on this connection.
    if (request.complete) return done();
    socket.end();
    return;
  }
  let bytes = 0;
  request.once("end", () => {
    done();
    socket.off("close", done);
    if (socket.writableEnded) socket.destroySoon();
  });
  // Whoever began to read it may have stopped in the middle.
  request.removeAllListeners("data").removeAllListeners("readable");
  request.on("data", (piece: Uint8Array) => {
    bytes += piece.length;
    timers[0]?.refresh();
    if (bytes > mostBytes) socket.destroy();
  });
  request.resume();
}
