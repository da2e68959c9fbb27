/** Answers on a connection itself, where there is no `ServerResponse`. */
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { OrchestratorError } from "fleetwright";
import { createReplies } from "../rest/replies.ts";

const replies = createReplies("");

/** Ends a connection with a problem. */
export function endRefused(socket: Duplex, error: OrchestratorError, requestId: string): void {
  const { status, headers, body } = replies.failure(error, requestId);
  const lines = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`];
  for (let index = 0; index < headers.length; index += 2)
    lines.push(`${headers[index]}: ${headers[index + 1]}`);
  if (error.code === "METHOD_NOT_ALLOWED") lines.push("allow: GET");
  lines.push(`content-length: ${Buffer.byteLength(body ?? "")}`, "connection: close");
  socket.end(`${lines.join("\r\n")}\r\n\r\n${String(body ?? "")}`);
}
