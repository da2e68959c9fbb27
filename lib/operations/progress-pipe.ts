/**
 * Progress of an operation whose agent another process holds:
 *
 *   agent ──▶ feed of the holder ──"operations.watch", a step a line──▶ whoever watches, in another process
 *
 * A pipe that is lost costs steps and nothing else: the operation is followed in the storage meanwhile, and the holder asked again, after
 * what it told last.
 */
import { z } from "zod";
import type { OpenedPipe } from "../cluster/cluster.ts";
import { readLines, writeLine } from "../cluster/json-lines.ts";
import { isOrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { StreamItem } from "../internal/stream-window.ts";
import type { OperationDocument } from "./documents.ts";
import type { OperationParts } from "./operation-parts.ts";
import { isOpen } from "./operation-store.ts";
import type { ProgressFeed, ProgressStep } from "./progress-feeds.ts";

/** The method by which a process is asked what the operations tell whose agents it holds. */
export const progressMethod = "operations.watch";

const requestSchema = z.object({ operation_id: z.string(), after: z.string() });

/** How long the storage alone is followed, milliseconds, before the holder is asked again. */
const retryMs = 2_000;

type FeedParts = Pick<OperationParts, "store" | "feeds">;

/** The feed of an operation, and how the operation stands; null where there is none. */
export async function openFeed(
  { store, feeds }: FeedParts,
  operationId: string,
): Promise<{ feed: ProgressFeed; operation: Readonly<OperationDocument> | null }> {
  const feed = feeds.of(operationId);
  // The feed is there before the operation is read: an end in between ends the feed.
  const operation = await store.find(operationId);
  if (!operation || !isOpen(operation)) feeds.end(operationId);
  return { feed, operation };
}

/** Tells another process what an operation tells, to its end. */
export async function serveProgress(parts: FeedParts, { body, pipe }: OpenedPipe): Promise<void> {
  const { operation_id, after } = parseInput(requestSchema, body);
  const { feed } = await openFeed(parts, operation_id);
  for await (const step of feed.read({ after, signal: pipe.signal })) await writeLine(pipe, step);
}

/** What one watcher reads of one operation, wherever it runs. */
export class ProgressReader {
  readonly #parts: OperationParts;
  readonly #operationId: string;
  /** Who told something last, and what to go on after. */
  #last: { holder: string; id: string } | null = null;

  constructor(parts: OperationParts, operationId: string) {
    this.#parts = parts;
    this.#operationId = operationId;
  }

  /** Reads until the operation has ended, the signal aborts, or it is time to look again who holds the agent. */
  async *read(
    operation: Readonly<OperationDocument>,
    feed: ProgressFeed,
    signal: AbortSignal,
  ): AsyncGenerator<StreamItem<ProgressStep>, void> {
    const holder = this.#parts.holderOf(operation.node_id);
    if (holder === this.#parts.context.cluster.name || !isOpen(operation))
      return yield* feed.read({ after: "start", signal });
    const done = new AbortController();
    try {
      const late = this.#lateAfter(feed, AbortSignal.any([signal, done.signal]));
      yield* this.#readFrom(holder, AbortSignal.any([signal, late]));
    } catch (error) {
      if (!isOrchestratorError(error)) throw error;
      if (signal.aborted) return;
      this.#parts.context.logger.debug("The progress of an operation is not told by its holder.", { error });
      yield { kind: "reset", id: this.#last?.id ?? this.#operationId };
    } finally {
      done.abort();
    }
    await this.#pause(feed, signal);
  }

  async *#readFrom(holder: string, signal: AbortSignal): AsyncGenerator<StreamItem<ProgressStep>, void> {
    const after = this.#last?.holder === holder ? this.#last.id : "start";
    const body = { operation_id: this.#operationId, after };
    const pipe = await this.#parts.context.cluster.open(holder, progressMethod, { body, signal });
    try {
      void pipe.end();
      for await (const line of readLines(pipe)) {
        const step = line as StreamItem<ProgressStep>;
        this.#last = { holder, id: step.id };
        yield step;
      }
    } finally {
      pipe.abort();
    }
  }

  /**
   * Aborted when the holder goes on telling of an operation for too long that has ended, as the storage says: it may be cut off from the
   * storage, and not know.
   */
  #lateAfter(feed: ProgressFeed, done: AbortSignal): AbortSignal {
    const late = new AbortController();
    const wait = async (): Promise<void> => {
      for await (const _ of feed.read({ signal: done }));
      if (done.aborted) return;
      const timer = this.#parts.context.clock.setTimer(retryMs, () => late.abort());
      done.addEventListener("abort", () => timer.cancel(), { once: true });
    };
    void wait();
    return late.signal;
  }

  /** Waits until the storage says that the operation has ended, this process is told of it itself, or for a time. */
  async #pause(feed: ProgressFeed, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    const timer = this.#parts.context.clock.setTimer(retryMs, () => over.abort());
    try {
      const either = AbortSignal.any([signal, over.signal]);
      for await (const step of feed.read({ signal: either })) if (step.kind === "value") return;
    } finally {
      timer.cancel();
    }
  }
}
