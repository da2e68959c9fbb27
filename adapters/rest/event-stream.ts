/** Server-sent events (HTML Living Standard, 9.2) from a subscription: `id` and `data` of each item, and a sign of life. */

/** Media type of an event stream. */
export const eventStreamMediaType = "text/event-stream";

/** How often something is sent where nothing happens, so that proxies and readers know that the connection lives. */
const pingMs = 15_000;

/** How soon a reader that was cut off comes back, milliseconds. */
const retryMs = 2000;

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
  let next = items.next();
  const first = await next;
  next = Promise.resolve(first);
  let prefix = `retry: ${retryMs}\n`;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const step = await within(next, pingMs);
        if (step === null) return controller.enqueue(ping);
        if (step.done === true) return controller.close();
        next = items.next();
        // Who has gone away is noticed at the next pull; until then nobody must trip over it.
        next.catch(() => {});
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
  return new Response(body, { headers: { "content-type": eventStreamMediaType, "x-accel-buffering": "no" } });
}

function toFrame([id, data]: TrackedItem): string {
  return `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** What a promise resolves to; null where that takes longer. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => (timer = setTimeout(resolve, ms, null)));
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
