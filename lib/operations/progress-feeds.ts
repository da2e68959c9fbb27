/** What running operations tell before they end, kept for whoever watches; bounded, and gone when they have ended. */
import { sizeUpTo } from "../internal/size-up-to.ts";
import { StreamWindow } from "../internal/stream-window.ts";
import type { ResourceResult } from "../state/result.ts";
import type { AgentMessage, MessageOf, OperationOutput } from "../wire/messages.ts";
import type { OperationDocument } from "./documents.ts";

/** One thing that a running operation told. Any of them may be missing: the end of the operation has all of it. */
export type ProgressStep =
  | { type: "operation"; operation: Readonly<OperationDocument> }
  | { type: "resources"; resources: readonly ResourceResult[] }
  | { type: "output"; output: readonly OperationOutput[] };

/** What an agent tells of an operation that it works on. */
export function toStep(message: MessageOf<AgentMessage, "progress" | "output">): ProgressStep {
  return message.type === "progress"
    ? { type: "resources", resources: message.results }
    : { type: "output", output: message.output };
}

/** What one operation tells. */
export type ProgressFeed = StreamWindow<ProgressStep>;

/** Bounds of one operation. */
const limits = { maxItems: 5000, maxBytes: 1_048_576 };

/** Bytes kept of all operations that nobody watches. */
const maxTotalBytes = 33_554_432;

export class ProgressFeeds {
  readonly #feeds = new Map<string, ProgressFeed>();
  #made = 0;
  #bytes = 0;

  /** What an operation told so far and goes on to tell; ends with {@link ProgressFeeds.end}. */
  of(operationId: string): ProgressFeed {
    const known = this.#feeds.get(operationId);
    if (known) return known;
    // Each has a name of its own: an id of one that was given up says nothing of what the next tells.
    const feed: ProgressFeed = new StreamWindow(`${operationId}.${this.#made++}`, limits);
    this.#feeds.set(operationId, feed);
    return feed;
  }

  push(operationId: string, step: ProgressStep): void {
    const bytes = sizeUpTo(limits.maxBytes, step);
    // No honest agent tells so much at once; the result has it.
    if (bytes > limits.maxBytes) return;
    const feed = this.of(operationId);
    this.#bytes -= feed.bytes;
    feed.push(step, bytes);
    this.#bytes += feed.bytes;
    if (this.#bytes > maxTotalBytes) this.#forgetSome();
  }

  /** The operation has ended: whoever watches reads the rest of it, then from the storage. */
  end(operationId: string): void {
    const feed = this.#feeds.get(operationId);
    if (!feed) return;
    this.#forget(operationId, feed);
  }

  /** Those that began first and that nobody watches make room. */
  #forgetSome(): void {
    for (const [operationId, feed] of this.#feeds) {
      if (!feed.isWatched) this.#forget(operationId, feed);
      if (this.#bytes <= maxTotalBytes) return;
    }
  }

  /** Ended, too: whoever was about to read it looks whether the operation goes on, and follows it anew. */
  #forget(operationId: string, feed: ProgressFeed): void {
    feed.end();
    this.#feeds.delete(operationId);
    this.#bytes -= feed.bytes;
  }
}
