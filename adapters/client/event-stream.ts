/** Reading server-sent events (HTML Living Standard, 9.2.6), and coming back where a connection broke off. */
import type { ApiError } from "./api-error.ts";
import { isPassing, jittered, pause, unlessAborted } from "./retry.ts";

/** One item of a stream, with the id to go on after. */
interface Frame {
  id: string | null;
  data: string;
}

/** First and longest pause before a stream is opened again, milliseconds. */
const firstPauseMs = 500;
const longestPauseMs = 30_000;

/** How long nothing may come, not even the server's sign of life, before the connection counts as dead. */
const silenceMs = 60_000;

/** Opens a stream, after an item where one is named. */
export type OpenStream = (
  lastEventId: string | null,
  signal: AbortSignal,
) => Promise<ReadableStream<Uint8Array>>;

/** What a reader of a stream says beside how it is opened. */
export interface ReadOptions {
  signal?: AbortSignal | undefined;
  /** Hears why the stream can't be opened, once until it is open again. */
  onAway?: ((error: ApiError) => unknown) | undefined;
}

/**
 * Tells the items of a stream until the caller stops or the signal is aborted. A connection that breaks off is opened
 * again, with pauses that grow, after the last item that came.
 *
 * @throws {ApiError} When the server refuses the stream. What the signer throws, where somebody has to sign in for it.
 */
export function readEvents<Item>(
  open: OpenStream,
  { signal, onAway }: ReadOptions = {},
): AsyncGenerator<Item, void> {
  return endedByReturn((left) => readOn<Item>(open, { signal: left, onAway }), signal);
}

/**
 * A stream that ends when its reader leaves it, also while a step of it is waited for: of a generator alone, `return` would wait for the
 * next item, which may never come.
 *
 * @param read - Reads until the signal that it is given is aborted.
 */
export function endedByReturn<Item>(
  read: (signal: AbortSignal) => AsyncGenerator<Item, void>,
  signal?: AbortSignal,
): AsyncGenerator<Item, void> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const items = readWithin();
  const [end, fail] = [items.return.bind(items), items.throw.bind(items)];
  items.return = (value) => (leave(), end(value));
  items.throw = (error) => (leave(), fail(error));
  return items;

  async function* readWithin(): AsyncGenerator<Item, void> {
    if (signal?.aborted) leave();
    signal?.addEventListener("abort", leave, { once: true });
    try {
      yield* read(left.signal);
    } finally {
      signal?.removeEventListener("abort", leave);
    }
  }
}

async function* readOn<Item>(open: OpenStream, { signal, onAway }: ReadOptions): AsyncGenerator<Item, void> {
  let lastEventId: string | null = null;
  let failures = 0;
  let isAway = false;
  const isAborted = (): boolean => signal?.aborted === true;
  const raise = (error: unknown): void => {
    if (!isAborted()) throw error;
  };
  while (!isAborted()) {
    const ended = new AbortController();
    const end = (): void => ended.abort();
    signal?.addEventListener("abort", end, { once: true });
    let isOpen = false;
    try {
      const stream = await open(lastEventId, ended.signal);
      isOpen = true;
      isAway = false;
      for await (const { id, data } of readFrames(stream, ended.signal)) {
        failures = 0;
        lastEventId = id ?? lastEventId;
        yield JSON.parse(data) as Item;
      }
    } catch (error) {
      if (isAborted()) return;
      // A stream that is open can only break off. Before that it may be the key that can't sign, which nobody would be told.
      if (!isOpen) {
        if (!isPassing(error)) throw error;
        if (!isAway) await unlessAborted(Promise.resolve(onAway?.(error)), ended.signal).catch(raise);
        if (isAborted()) return;
        isAway = true;
      }
    } finally {
      signal?.removeEventListener("abort", end);
      ended.abort();
    }
    await pause(jittered(Math.min(longestPauseMs, firstPauseMs * 2 ** failures)), signal);
    failures += 1;
  }
}

async function* readFrames(
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Frame, void> {
  const reader = stream.getReader();
  // Said to the reader, too: fetch of Node 20 forgets a signal when memory is cleaned up, once the head of an answer is there.
  const cancel = (): void => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read());
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const frames = text.split(/\r\n\r\n|\n\n|\r\r/);
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const parsed = parseFrame(frame);
        if (parsed) yield parsed;
      }
    }
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

/** Null for what carries no data: comments, and how soon to come back. */
function parseFrame(frame: string): Frame | null {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of frame.split(/\r\n|\n|\r/)) {
    const [, field, value = ""] = /^([^:]+)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "id") id = value;
    if (field === "data") data.push(value);
  }
  return data.length === 0 ? null : { id, data: data.join("\n") };
}

async function withinSilence<T>(promise: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("Nothing came for too long.")), silenceMs);
  });
  try {
    return await Promise.race([promise, silence]);
  } finally {
    clearTimeout(timer);
  }
}
