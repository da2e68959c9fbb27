/** Asking a server for a file, over redirects: the same for a download and for a look whether it can be had. */
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { downloadFailed, redirectTarget } from "./download-url.ts";
import { errnoWords } from "./errno-words.ts";
import { errnoOf } from "./host-error.ts";
import type { HostDownload } from "./host.ts";

const maxRedirects = 5;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Most bytes of a download that names no other limit. */
export const defaultMaxBytes: number = 4 * 1024 ** 3;

/** What is asked for. */
export interface DownloadTarget {
  url: URL;
  headers?: HostDownload["headers"];
  /** Statuses that are an answer, beside 200. Default: none. */
  accepts?: ReadonlySet<number>;
  /** Called with each address whose server took the call. */
  onConnect?: (url: URL) => void;
}

/** The last answer that is no redirect, and who gave it. */
export interface Followed {
  url: URL;
  response: IncomingMessage;
}

/**
 * Asks, and asks again where the answer points to. `DOWNLOAD_FAILED` for any answer but one that is accepted; the caller
 * destroys the response.
 */
export async function follow(
  method: "GET" | "HEAD",
  { url: first, headers, accepts, onConnect = () => {} }: DownloadTarget,
  signal: AbortSignal,
): Promise<Followed> {
  let url = first;
  for (let hops = 0; ; hops += 1) {
    // What is meant for one server is no other server's business.
    const own = url.origin === first.origin ? headers : {};
    const response = await ask(method, { url, headers: own, onConnect }, signal);
    const { statusCode: status = 0, headers: answer } = response;
    if (status === 200 || accepts?.has(status)) return { url, response };
    response.destroy();
    if (!redirects.has(status) || answer.location === undefined)
      throw downloadFailed(url, `the server answered ${status}`, { status });
    if (hops === maxRedirects) throw downloadFailed(first, `it redirects more than ${maxRedirects} times`);
    url = redirectTarget(url, answer.location);
  }
}

function ask(
  method: string,
  { url, headers, onConnect }: DownloadTarget,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const start = url.protocol === "https:" ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(brokenOff(url, error));
    try {
      // Compressed on the way, the bytes would not be those that were hashed.
      const all = { ...headers, "accept-encoding": "identity" };
      const call = start(url, { method, agent: false, headers: all, signal });
      call.on("error", fail);
      call.once("socket", (socket) => socket.once("connect", () => onConnect?.(url)));
      call.once("response", resolve);
      // Who changes to another protocol gives no answer: the call would end without a word.
      call.once("upgrade", (response, socket) => {
        socket.destroy();
        resolve(response);
      });
      call.once("close", () => fail({ code: "ECONNRESET" }));
      call.end();
    } catch (error) {
      fail(error);
    }
  });
}

/** The text of a network error may quote the address: its name alone is told. */
export function brokenOff(url: URL, cause: unknown): Error {
  const errno = errnoOf(cause);
  const isOther = /^(?:HPE_|ERR_HTTP)/.test(errno);
  const why = isOther ? "the answer is not HTTP" : `the connection failed (${errnoWords(errno)})`;
  return downloadFailed(url, why, { cause });
}

/** The error for a content that is longer than it may be. */
export function tooLong(url: URL, maxBytes: number): Error {
  return downloadFailed(url, `it is longer than ${maxBytes} bytes`);
}
