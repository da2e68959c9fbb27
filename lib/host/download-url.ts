/** Addresses to download from. */
import { OrchestratorError } from "../errors.ts";
import { parsedUrl, toPublicUrl } from "../internal/url-text.ts";

/** Reads an address. `DOWNLOAD_FAILED` for anything but http and https. */
export function parseDownloadUrl(text: string): URL {
  const url = parsedUrl(text);
  if (url && isHttp(url)) return url;
  throw new OrchestratorError("DOWNLOAD_FAILED", { message: "The address is neither http nor https." });
}

/**
 * Where a redirect leads. A user and password stay with their own server.
 *
 * @throws {OrchestratorError} `DOWNLOAD_FAILED` where it leaves http and https, or leads from https to http.
 */
export function redirectTarget(from: URL, location: string): URL {
  const to = parsedUrl(location, from.href);
  if (!to || !isHttp(to))
    throw downloadFailed(from, "it redirects to something that is neither http nor https");
  if (from.protocol === "https:" && to.protocol === "http:")
    throw downloadFailed(from, "it redirects from https to http");
  const own = to.origin === from.origin;
  to.username = own ? from.username : "";
  to.password = own ? from.password : "";
  return to;
}

/** The error for a file that can't be had. */
export function downloadFailed(
  url: URL,
  why: string,
  { cause, ...details }: { cause?: unknown; status?: number } = {},
): OrchestratorError {
  const shown = toPublicUrl(url.href);
  const message = `${shown} can't be downloaded: ${why}.`;
  return new OrchestratorError("DOWNLOAD_FAILED", { message, details: { url: shown, ...details }, cause });
}

function isHttp({ protocol }: URL): boolean {
  return protocol === "http:" || protocol === "https:";
}
