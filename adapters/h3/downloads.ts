/** Files on their way to machines: whole or from where a download broke off, so many at a time, and none that is held open for nothing. */
import { open, type FileHandle } from "node:fs/promises";
import { OrchestratorError } from "fleetwright";
import { namesEntityTag } from "../http/entity-tags.ts";
import type { AgentArtifact } from "./agent-artifacts.ts";
import { readRange, type ByteRange } from "./byte-range.ts";
import { DownloadPlaces, type PlaceLimits } from "./download-places.ts";
import { Patience } from "./slow-readers.ts";

/** What downloads may take. */
export interface DownloadLimits extends PlaceLimits {
  /** Bytes a second; who takes less over a longer time is cut off. */
  slowestBytesPerSecond: number;
  /** Milliseconds that one who takes nothing is waited for at the beginning; five times as long after much was taken. */
  patienceMs: number;
}

/** 45 MB take 24 minutes at the slowest. */
export const downloadLimits: DownloadLimits = {
  most: 64,
  mostOfSource: 8,
  mostOfNetwork: 32,
  slowestBytesPerSecond: 32 * 1024,
  patienceMs: 30_000,
};

/** When who was refused may ask again, seconds: a download of a machine that is near takes a few. */
const retrySeconds = 10;

const pieceBytes = 64 * 1024;

/** Who asks for a file, and for which part of it. */
export interface DownloadRequest {
  method: string;
  headers: Headers;
  /** Null: unknown. */
  address: string | null;
}

/** What is sent. */
export interface DownloadFile extends AgentArtifact {
  path: string;
}

/** Answers with files. */
export class Downloads {
  readonly #limits: DownloadLimits;
  readonly #places: DownloadPlaces;

  constructor(limits: DownloadLimits = downloadLimits) {
    this.#limits = limits;
    this.#places = new DownloadPlaces(limits);
  }

  /**
   * Answers with a file, or that it is the one that the caller has.
   *
   * @throws {OrchestratorError} `RATE_LIMITED`; `UNAVAILABLE` where the file is not as it was built.
   */
  async answer({ method, headers: asked, address }: DownloadRequest, file: DownloadFile): Promise<Response> {
    const { size, sha256 } = file;
    const etag = `"${sha256}"`;
    const headers = { etag, "cache-control": "no-cache", "accept-ranges": "bytes" };
    if (namesEntityTag(asked.get("if-none-match") ?? undefined, etag))
      return new Response(null, { status: 304, headers });
    const range = method === "GET" ? readRange(asked, { etag, size }) : null;
    if (range === "unsatisfiable")
      return new Response(null, {
        status: 416,
        headers: { ...headers, "content-length": "0", "content-range": `bytes */${size}` },
      });
    const part = range ?? { from: 0, to: size };
    const answer = {
      status: range === null ? 200 : 206,
      headers: {
        ...headers,
        "content-type": "application/octet-stream",
        "content-disposition": `attachment; filename="${file.file}"`,
        "content-length": String(part.to - part.from),
        ...(range !== null && { "content-range": `bytes ${part.from}-${part.to - 1}/${size}` }),
      },
    };
    if (method === "HEAD") return new Response(null, answer);
    const leave = this.#enter(address);
    try {
      return new Response(this.#send(await openAsBuilt(file), part, leave), answer);
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Takes a place; the function returned gives it back. */
  #enter(address: string | null): () => void {
    const leave = this.#places.take(address);
    if (leave !== null) return leave;
    throw new OrchestratorError("RATE_LIMITED", {
      message: "Too many machines fetch the agent; try again.",
      details: { retry_after_seconds: retrySeconds },
    });
  }

  #send(handle: FileHandle, { from, to }: ByteRange, leave: () => void): ReadableStream<Uint8Array> {
    const { patienceMs, slowestBytesPerSecond } = this.#limits;
    const patience = new Patience(patienceMs, slowestBytesPerSecond);
    const everyMs = Math.max(10, patienceMs / 12);
    let at = from;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      clearInterval(timer);
      leave();
      void handle.close();
    };
    let cut: (fault: Error) => void = () => {};
    const timer = setInterval(() => {
      if (patience.lasts(everyMs, { taken: at - from, isWaiting: true })) return;
      end();
      cut(new Error("It was read too slowly."));
    }, everyMs);
    timer.unref();
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (cut = (fault) => controller.error(fault)),
        async pull(controller) {
          try {
            const wanted = Math.min(pieceBytes, to - at);
            const { bytesRead, buffer } = await handle.read(new Uint8Array(wanted), 0, wanted, at);
            if (isOver) return;
            if (bytesRead === 0 && wanted > 0) throw new Error("The file became shorter while it was sent.");
            at += bytesRead;
            if (bytesRead > 0) controller.enqueue(buffer.subarray(0, bytesRead));
            if (at < to) return;
            end();
            controller.close();
          } catch (error) {
            // The file is closed under a read where the reader was cut off.
            if (isOver) return;
            end();
            controller.error(error);
          }
        },
        cancel: end,
      },
      // What nobody reads is not held in memory.
      { highWaterMark: 0 },
    );
  }
}

/** Opens a file that is as long as it was when it was built. */
async function openAsBuilt({ path, size }: DownloadFile): Promise<FileHandle> {
  const handle = await open(path).catch(refuseUnreadable);
  try {
    if ((await handle.stat()).size === size) return handle;
  } catch (error) {
    await handle.close();
    refuseUnreadable(error);
  }
  await handle.close();
  throw new OrchestratorError("UNAVAILABLE", {
    message: "The agent is not as it was built: run `npm run build:agent` again.",
  });
}

function refuseUnreadable(cause: unknown): never {
  throw new OrchestratorError("UNAVAILABLE", { message: "The agent that was built can't be read.", cause });
}
