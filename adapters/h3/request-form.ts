/**
 * What is wrong with a request by its form alone, looked at before anything answers it: what two parts of a way (a proxy and this
 * server) may read differently is refused, not guessed.
 */
import type { IncomingMessage } from "node:http";
import { OrchestratorError } from "fleetwright";
import { parsedUrl } from "../http/parsed-url.ts";

/** Longest address of a request, bytes; queries of the API are shorter by far. */
const longestUrl = 8_192;

/** Most bytes of all header fields together, and most fields; clients and proxies send 1 or 2 KiB. */
const mostHeaderBytes = 16_384;
const mostHeaders = 200;

/** Headers that a request has once or not at all; of several, Node keeps the first, others the last. */
const single: ReadonlySet<string> = new Set(["host", "authorization", "content-type"]);

/** Segments that say where others are: `.`, `..`, and the same percent-encoded. A separator that is encoded is part of a value. */
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/** What of a request is looked at. */
export type RequestForm = Pick<IncomingMessage, "url" | "headers" | "rawHeaders"> &
  Partial<Pick<IncomingMessage, "httpVersion">>;

/** Says what is wrong with a request; null where nothing is. */
export function checkForm({
  url = "/",
  headers,
  rawHeaders,
  httpVersion,
}: RequestForm): OrchestratorError | null {
  if (url.length > longestUrl) return new OrchestratorError("URL_TOO_LONG");
  if (areTooLarge(rawHeaders)) return new OrchestratorError("HEADERS_TOO_LARGE");
  const twice = headerTwice(rawHeaders);
  if (twice !== null) return wrong(`The header ${twice} is there twice.`);
  if (httpVersion === "1.1" && headers.host === undefined) return wrong("The header Host is missing.");
  const fault = url.startsWith("/") || url === "*" ? null : faultOfAuthority(url, headers.host);
  if (fault !== null) return fault;
  const path = url.split("?", 1)[0]!;
  // Whoever takes them out in between would see another path, perhaps of another surface: here nothing stands at such a path.
  if (path.includes("\\") || dotSegment.test(path))
    return new OrchestratorError("NOT_FOUND", {
      message: "Nothing is at a path with segments that lead elsewhere (`.`, `..`).",
    });
  const coding = headers["content-encoding"];
  if (coding === undefined || coding.toLowerCase() === "identity") return null;
  return new OrchestratorError("UNSUPPORTED_MEDIA_TYPE", {
    message: "A body is taken as it is, without Content-Encoding.",
  });
}

function areTooLarge(rawHeaders: readonly string[]): boolean {
  let bytes = 0;
  for (const text of rawHeaders) bytes += text.length;
  return bytes > mostHeaderBytes || rawHeaders.length > 2 * mostHeaders;
}

/** The name of a header that may be there once and is there twice. */
function headerTwice(rawHeaders: readonly string[]): string | null {
  let seen: string[] | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    // Nearly every name is of another length.
    if (name.length !== 4 && name.length !== 12 && name.length !== 13) continue;
    const lower = name.toLowerCase();
    if (!single.has(lower)) continue;
    if (seen?.includes(lower) === true) return name;
    (seen ??= []).push(lower);
  }
  return null;
}

/** A request as for a proxy names the server in its address, too (RFC 9112, 3.2.2): it must be the one of `Host`. */
function faultOfAuthority(url: string, host: string | undefined): OrchestratorError | null {
  const named = /^https?:\/\//i.test(url) ? parsedUrl(url) : null;
  if (named === null) return wrong("The address of the request is none.");
  // With the scheme of the address, which says what port goes without saying.
  const { protocol, host: asked } = named;
  if (host !== undefined && parsedUrl(`${protocol}//${host}`)?.host === asked) return null;
  return new OrchestratorError("MISDIRECTED", { message: `This server does not answer for ${asked}.` });
}

function wrong(message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message });
}
