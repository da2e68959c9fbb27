/**
 * Downloading a file:
 *
 * ```
 * temporary file opened ──request, at most 5 redirects──> streaming, hashed on the way ──right──> renamed to its place
 *          └──────── any failure, abort: temporary file removed ────────┘
 * ```
 * The temporary file is named after its target: what one left is removed by the next download to the same place, what a kill
 * left by the next life of the agent.
 */
import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { isOrchestratorError } from "../errors.ts";
import { brokenOff, defaultMaxBytes, follow, tooLong } from "./download-request.ts";
import { downloadFailed, parseDownloadUrl } from "./download-url.ts";
import { errnoOf, hostError } from "./host-error.ts";
import type { FileDigest, HostDownload } from "./host.ts";
import type { LocalPaths } from "./local-paths.ts";
import type { PendingWrites } from "./local-sync.ts";
import { begin, dress, lookAtPlace, place } from "./place-file.ts";
import { beginPart, discard } from "./temporary-files.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;

/** What a download needs of the host it belongs to. */
export interface LocalDownloadParts {
  paths: LocalPaths;
  pending: PendingWrites;
}

/** Fetches a file, as {@link HostDownload} says. */
export async function downloadFile(
  request: HostDownload,
  { paths, pending }: LocalDownloadParts,
  signal: AbortSignal,
): Promise<FileDigest> {
  signal.throwIfAborted();
  const { path } = request;
  const url = parseDownloadUrl(request.url);
  try {
    // The folder stays the one that was found: what is opened here is what the file is put into, however long it takes.
    return await paths.use(path, async (real, lasting, linksOf) => {
      const placing = lookAtPlace({ path, real, linksOf }, request.attributes);
      pending.begin(lasting);
      const temporary = beginPart(real);
      const handle = await open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      try {
        begin(handle.fd, placing);
        const digest = await receive({ ...request, handle, url }, signal);
        signal.throwIfAborted();
        put({ temporary, real, fd: handle.fd, linksOf }, request);
        pending.addFile(lasting);
        return digest;
      } finally {
        await handle.close();
        discard(temporary);
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    throw isOrchestratorError(error) ? error : hostError(path, errnoOf(error), error);
  }
}

interface Receiving extends Omit<HostDownload, "url"> {
  url: URL;
  handle: FileHandle;
}

/** Streams the content into the open file. `DOWNLOAD_FAILED` unless it is the one that was asked for. */
async function receive(request: Receiving, signal: AbortSignal): Promise<FileDigest> {
  const { url, handle, maxBytes = defaultMaxBytes } = request;
  const { response } = await follow("GET", request, signal);
  const hash = createHash("sha256");
  let sizeBytes = 0;
  try {
    if (Number(response.headers["content-length"] ?? 0) > maxBytes) throw tooLong(url, maxBytes);
    for await (const piece of response.iterator({ destroyOnReturn: true }) as AsyncIterable<Buffer>) {
      sizeBytes += piece.length;
      if (sizeBytes > maxBytes) throw tooLong(url, maxBytes);
      hash.update(piece);
      await writeAll(handle, piece, request.path);
    }
  } catch (error) {
    throw isOrchestratorError(error) ? error : brokenOff(url, error);
  } finally {
    response.destroy();
  }
  const sha256 = hash.digest("hex");
  if (sha256 === request.sha256) return { sha256, sizeBytes };
  throw downloadFailed(url, `its SHA-256 is ${sha256}, not ${request.sha256}`);
}

/** A full disk is the machine's fault, not the server's. */
async function writeAll(handle: FileHandle, piece: Uint8Array, path: string): Promise<void> {
  try {
    for (let at = 0; at < piece.length;) at += (await handle.write(piece, at)).bytesWritten;
  } catch (error) {
    throw hostError(path, errnoOf(error), error);
  }
}

/** Puts the finished file in its place, with what it is to have there beside its content. */
function put(
  { temporary, real, fd, linksOf }: { temporary: string; real: string; fd: number; linksOf: number | null },
  { path, attributes }: HostDownload,
): void {
  // The server took its time: what stands there now is what counts.
  const placing = lookAtPlace({ path, real, linksOf }, attributes);
  dress(fd, placing);
  place({ temporary, fd }, real, placing);
}
