/** What is answered to bytes of which Node makes no request: too large a head, none that is HTTP, one that does not come to its end. */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { OrchestratorError } from "fleetwright";
import type { Connections } from "./connections.ts";

/**
 * Bytes of address, names and values at which Node itself gives a head up. What is longer than allowed and shorter than this comes as
 * a request, and is refused by its form. Less than Node reads at once: of most heads that are given up, the first line is seen.
 */
const mostHeadBytes = 32 * 1024;

/** For so long, and so many bytes, the rest of what was sent is read and dropped: who still sends would miss the answer. */
const longestMs = 5_000;
const mostBytes = 4 * 1024 * 1024;

/** An error of Node's parser. */
interface ParseError extends Error {
  code?: string;
  /** What came last, and how much of it was read. */
  rawPacket?: Buffer;
  bytesParsed?: number;
}

/** What answers. */
export interface UnreadableOptions {
  connections: Pick<Connections, "whenAnswered">;
  /** Ends a connection with a problem. */
  refuse: (error: OrchestratorError, socket: Duplex) => void;
}

/** Has a server answer with problems where Node would answer by itself. */
export function answerUnreadable(server: Server, { connections, refuse }: UnreadableOptions): void {
  const refused = new WeakMap<Socket, number>();
  Object.assign(server, { maxHeaderSize: mostHeadBytes, requireHostHeader: false });
  // An expectation that nobody knows may be passed over (RFC 9110, 10.1.1).
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  server.on("clientError", (error: ParseError, duplex) => {
    const socket = duplex as Socket;
    const readBefore = refused.get(socket);
    if (readBefore !== undefined) {
      // The parser fails again with each piece that it is given.
      if (socket.bytesRead - readBefore > mostBytes) socket.destroy();
      return;
    }
    const refusal = toRefusal(error);
    if (refusal === null) {
      socket.destroy();
      return;
    }
    refused.set(socket, socket.bytesRead);
    connections.whenAnswered(socket, (isOpen) => {
      if (!isOpen || !socket.writable) return void socket.destroySoon();
      refuse(refusal, socket);
      const timer = setTimeout(() => socket.destroy(), longestMs);
      socket.once("close", () => clearTimeout(timer));
    });
  });
}

/** What is wrong with what was sent; null where the connection itself broke. */
function toRefusal(error: ParseError): OrchestratorError | null {
  const { code = "" } = error;
  if (code === "HPE_HEADER_OVERFLOW")
    return new OrchestratorError(brokeOffInAddress(error) ? "URL_TOO_LONG" : "HEADERS_TOO_LARGE");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new OrchestratorError("REQUEST_TIMEOUT");
  if (!code.startsWith("HPE_")) return null;
  return new OrchestratorError("VALIDATION_FAILED", {
    message: `What was sent is no HTTP/1.1 request: ${error.message.replace(/^Parse Error: /, "")}.`,
  });
}

/**
 * Whether a head that was given up had not got past its first line. Where the line began in a piece that is gone, an address is
 * told from a header by what stands in queries.
 */
function brokeOffInAddress({ rawPacket, bytesParsed = 0 }: ParseError): boolean {
  const read = rawPacket?.subarray(0, bytesParsed).toString("latin1") ?? "";
  const last = read.slice(read.lastIndexOf("\r\n\r\n") + 1).trimStart();
  // In two patterns: one for both tries each of many percent signs to the end of what a stranger sent.
  const isOfAddress = !/\s/.test(last) && /[?&%]/.test(last);
  return !last.includes("\n") && (/^[A-Z]+ \S/.test(last) || isOfAddress);
}
