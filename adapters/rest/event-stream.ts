/** Server-sent events (HTML Living Standard, 9.2) from a subscription: `id` and `data` of each item, and a sign of life. */

/** Media type of an event stream. */
export const eventStreamMediaType = "text/event-stream";

/** How often something is sent where nothing happens, so that proxies and readers know that the connection lives. */
const pingMs = 15_000;

/** How soon a reader that was cut off comes back, milliseconds. */
const retryMs = 2000;

/** Nobody keeps it, and compressors, which would wait until a piece is worth it, leave it alone. */
export const eventStreamCacheControl = "no-store, no-transform";

/** Proxies pass on what comes as it comes. */
const headers = {
  "content-type": eventStreamMediaType,
  "cache-control": eventStreamCacheControl,
  "x-accel-buffering": "no",
};

const encoder = new TextEncoder();
const ping = encoder.encode(": ping\n\n");

/** An item of a subscription: tRPC's `tracked`, which is its id and what it says. */
type TrackedItem = readonly [id: string, data: unknown, ...rest: unknown[]];

/**
 * Answers with a subscription. Nothing is read ahead of the reader: one that is slow holds up the subscription alone.
 *
 * @param open - Starts the subscription; the signal ends it.
 * @returns After the first item is there, so that a refusal is still a refusal.
 */
export async function toEventStream(
  open: (signal: AbortSignal) => Promise<AsyncIterable<TrackedItem>>,
): Promise<Response> {
  const ended = new AbortController();
  const items = (await open(ended.signal))[Symbol.asyncIterator]();
  const pending = new PendingStep(items);
  await pending.settled();
  let prefix = `retry: ${retryMs}\n`;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await pending.settledWithin(pingMs);
        const step = pending.take();
        if (step === null) return controller.enqueue(ping);
        if (step.done === true) return controller.close();
        controller.enqueue(encoder.encode(prefix + toFrame(step.value)));
        prefix = "";
      },
      async cancel() {
        ended.abort();
        await items.return?.();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

function toFrame([id, data]: TrackedItem): string {
  return `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The next item of a subscription, which is waited for again and again: each wait leaves nothing behind. */
class PendingStep {
  readonly #items: AsyncIterator<TrackedItem>;
  #step: IteratorResult<TrackedItem> | null = null;
  #failure: { error: unknown } | null = null;
  #wake = (): void => {};

  constructor(items: AsyncIterator<TrackedItem>) {
    this.#items = items;
    this.#ask();
  }

  /** The item, and the next is asked for; null where there is none yet. Throws what the subscription threw. */
  take(): IteratorResult<TrackedItem> | null {
    if (this.#failure) throw this.#failure.error;
    const step = this.#step;
    this.#step = null;
    if (step && step.done !== true) this.#ask();
    return step;
  }

  /** Resolves when there is an item; rejects where there will be none. */
  async settled(): Promise<void> {
    if (!this.#isSettled()) await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#failure) throw this.#failure.error;
  }

  /** Resolves when there is an item, or after a time. */
  settledWithin(ms: number): Promise<void> {
    if (this.#isSettled()) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #isSettled(): boolean {
    return this.#step !== null || this.#failure !== null;
  }

  #ask(): void {
    this.#items.next().then(
      (step) => {
        this.#step = step;
        this.#wake();
      },
      (error: unknown) => {
        this.#failure = { error };
        this.#wake();
      },
    );
  }
}
