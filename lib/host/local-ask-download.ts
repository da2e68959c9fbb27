/** Asking a server whether a file can be had, without fetching it. */
import type { Clock } from "../clock.ts";
import { toPublicUrl } from "../internal/url-text.ts";
import { brokenOff, defaultMaxBytes, follow, tooLong } from "./download-request.ts";
import { parseDownloadUrl } from "./download-url.ts";
import type { DownloadQuestion } from "./host.ts";

/** A plan waits no longer for one server. */
const patienceMs = 10_000;

/**
 * Answers about the method, not about the file: a server need not know HEAD, and an address that was signed for one method is
 * refused for another.
 */
const sayNothing: ReadonlySet<number> = new Set([400, 403, 405, 406, 501]);

/** As {@link Host.askDownload}. */
export async function askDownload(
  { url: text, headers, maxBytes = defaultMaxBytes }: DownloadQuestion,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | null> {
  signal.throwIfAborted();
  const url = parseDownloadUrl(text);
  const limit = new AbortController();
  const timer = clock.setTimer(patienceMs, () => limit.abort());
  let talksTo: URL | null = null;
  const target = {
    url,
    headers: headers ?? {},
    accepts: sayNothing,
    onConnect: (to: URL): unknown => (talksTo = to),
  };
  try {
    const asking = AbortSignal.any([signal, limit.signal]);
    const found = await follow("HEAD", target, asking);
    const { statusCode: status, headers: answer } = found.response;
    found.response.destroy();
    if (status !== 200) return untold(found.url, `the server answers HEAD with ${status}`);
    if (Number(answer["content-length"] ?? 0) > maxBytes) throw tooLong(url, maxBytes);
    return null;
  } catch (error) {
    signal.throwIfAborted();
    if (!limit.signal.aborted) throw error;
    // Who takes the call and says nothing may answer a download; who can't be reached can't.
    if (talksTo === null) throw brokenOff(url, { code: "ETIMEDOUT" });
    return untold(talksTo, `the server did not answer HEAD in ${patienceMs / 1000} s`);
  } finally {
    timer.cancel();
  }
}

function untold(url: URL, why: string): string {
  return `Whether ${toPublicUrl(url.href)} can be downloaded can't be told: ${why}.`;
}
