/** One request and one answer on a connection that is open. */
import { request as requestHttp, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { OutboundFault } from "./fault.ts";

/** Most bytes of an answer's body that are waited for; then the connection is cut. */
const maxAnswerBytes = 64 * 1024;

/** What belongs to the connection and is not for callers to set. */
const ownHeaders: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** What is sent. */
export interface Exchange {
  url: URL;
  method: string;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** Throws a permanent {@link OutboundFault} for headers that can't or may not be sent. */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    const fits = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value);
    if (!fits || ownHeaders.has(name.toLowerCase()) || name.toLowerCase().startsWith("proxy-"))
      throw new OutboundFault("a header can't be sent", { permanent: true });
  }
}

/**
 * Sends a request and resolves with the head of its answer, once the body was read away: a server that is cut off while it
 * writes might undo what it did. Whatever becomes of the body, the status is the answer.
 */
export function exchange(
  { url, method, headers, body }: Exchange,
  socket: Socket,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise<IncomingMessage>((resolve, reject) => {
    let answer: IncomingMessage | undefined;
    const finish = (error: unknown): void => {
      signal.removeEventListener("abort", stop);
      socket.destroy();
      if (answer) resolve(answer);
      else reject(error as Error);
    };
    const stop = (): void => finish(signal.reason);
    if (signal.aborted) return stop();
    signal.addEventListener("abort", stop, { once: true });
    const call = requestHttp({
      method,
      path: `${url.pathname}${url.search}`,
      createConnection: () => socket,
      headers: { ...headers, host: url.host, "content-length": body.length, connection: "close" },
    });
    call.on("error", finish);
    call.once("close", () => finish(Object.assign(new Error("closed"), { code: "ECONNRESET" })));
    call.once("response", (response) => {
      answer = response;
      let bytes = 0;
      response.on("data", (chunk: Uint8Array) => {
        bytes += chunk.length;
        if (bytes > maxAnswerBytes) finish(undefined);
      });
      for (const event of ["end", "error", "close"]) response.once(event, finish);
    });
    call.end(body);
  });
}
