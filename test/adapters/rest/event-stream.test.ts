/** Server-sent events of a subscription that says little: signs of life, an end, a break, and nothing that is read ahead. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { toEventStream } from "../../../adapters/rest/event-stream.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A subscription that says what a test has it say. */
function scripted() {
  const waiting: ((result: IteratorResult<readonly [string, unknown]> | Error) => void)[] = [];
  let signal: AbortSignal | undefined;
  let asked = 0;
  let returned = 0;
  const items: AsyncIterableIterator<readonly [string, unknown]> = {
    [Symbol.asyncIterator]: () => items,
    next: () =>
      new Promise((resolve, reject) => {
        asked += 1;
        waiting.push((result) => (result instanceof Error ? reject(result) : resolve(result)));
      }),
    async return() {
      returned += 1;
      return { done: true, value: undefined };
    },
  };
  const settle = async (result: IteratorResult<readonly [string, unknown]> | Error): Promise<void> => {
    waiting.shift()!(result);
    await vi.advanceTimersByTimeAsync(0);
  };
  return {
    open: async (given: AbortSignal) => {
      signal = given;
      return items;
    },
    say: (id: string, data: unknown) => settle({ done: false, value: [id, data] }),
    end: () => settle({ done: true, value: undefined }),
    fail: (error: Error) => settle(error),
    asked: () => asked,
    returned: () => returned,
    isAborted: () => signal?.aborted === true,
  };
}

/** Begins a stream whose first item is `1`, and reads it as text. */
async function begun() {
  const script = scripted();
  const opening = toEventStream(script.open);
  await vi.advanceTimersByTimeAsync(0);
  await script.say("a-1", { n: 1 });
  const response = await opening;
  const reader = response.body!.getReader();
  const read = async (): Promise<string | undefined> => {
    const { value } = await reader.read();
    return value && new TextDecoder().decode(value);
  };
  return { script, response, reader, read };
}

test("says once how soon to come back, and each item with its id", async () => {
  const { script, response, read } = await begun();
  expect(Object.fromEntries(response.headers)).toEqual({
    "content-type": "text/event-stream",
    // A compressor of the program around it would hold back what is short.
    "cache-control": "no-store, no-transform",
    "x-accel-buffering": "no",
  });
  expect(await read()).toBe('retry: 2000\nid: a-1\ndata: {"n":1}\n\n');
  await script.say("a-2", "two\nlines");
  expect(await read()).toBe('id: a-2\ndata: "two\\nlines"\n\n');
  await script.end();
  expect(await read()).toBeUndefined();
});

test("gives a sign of life each 15 seconds in which nothing happens, and loses nothing by it", async () => {
  const { script, read } = await begun();
  await read();
  for (let times = 0; times < 3; times += 1) {
    const piece = read();
    let isThere = false;
    void piece.then(() => (isThere = true));
    await vi.advanceTimersByTimeAsync(14_999);
    expect(isThere).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await piece).toBe(": ping\n\n");
  }
  // All these waits were for one and the same item.
  expect(script.asked()).toBe(2);
  const late = read();
  await vi.advanceTimersByTimeAsync(14_000);
  await script.say("a-2", 2);
  expect(await late).toBe("id: a-2\ndata: 2\n\n");
  expect(vi.getTimerCount()).toBe(0);
});

test("asks for one item beyond what was read, and no more", async () => {
  const { script, read } = await begun();
  expect(script.asked()).toBe(1);
  await read();
  await script.say("a-2", 2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(script.asked()).toBe(2);
});

test("breaks off where the subscription does, between two items as well as before the first", async () => {
  const { script, read } = await begun();
  await read();
  const broken = read();
  broken.catch(() => {});
  await script.fail(new Error("The storage failed."));
  await expect(broken).rejects.toThrow("The storage failed.");

  const refused = scripted();
  const opening = toEventStream(refused.open);
  opening.catch(() => {});
  await vi.advanceTimersByTimeAsync(0);
  await refused.fail(new Error("No."));
  await expect(opening).rejects.toThrow("No.");
});

test("ends the subscription when its reader leaves", async () => {
  const { script, reader, read } = await begun();
  await read();
  expect([script.isAborted(), script.returned()]).toEqual([false, 0]);
  await reader.cancel();
  expect([script.isAborted(), script.returned()]).toEqual([true, 1]);
});
