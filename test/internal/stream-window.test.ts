import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type StreamItem, StreamWindow } from "../../lib/internal/stream-window.ts";

const wide = { maxItems: 100, maxBytes: Infinity };
const open = new AbortController().signal;

async function take<T>(reader: AsyncGenerator<StreamItem<T>>, count: number): Promise<StreamItem<T>[]> {
  const items: StreamItem<T>[] = [];
  while (items.length < count) {
    const { done, value } = await reader.next();
    if (done === true) break;
    items.push(value);
  }
  return items;
}

describe("a window", () => {
  it("tells what is pushed after the reading began, and its first item is where that is", async () => {
    const window = new StreamWindow<string>("w", wide);
    window.push("before");
    const reader = window.read({ signal: open });
    expect(await take(reader, 1)).toEqual([{ kind: "position", id: "w-1" }]);
    window.push("a");
    window.push("b");
    expect(await take(reader, 2)).toEqual([
      { kind: "value", id: "w-2", value: "a" },
      { kind: "value", id: "w-3", value: "b" },
    ]);
  });

  it("goes on after an id, and from the start", async () => {
    const window = new StreamWindow<number>("w", wide);
    for (let value = 0; value < 5; value += 1) window.push(value);
    window.end();
    const values = async (after: string): Promise<number[]> =>
      (await take(window.read({ after, signal: open }), 9)).flatMap((item) =>
        item.kind === "value" ? [item.value] : [],
      );
    expect(await values("w-3")).toEqual([3, 4]);
    expect(await values("start")).toEqual([0, 1, 2, 3, 4]);
  });

  it.each([
    ["of another window", "v-1"],
    ["from the future", "w-99"],
    ["of what is dropped", "w-1"],
    ["that is none", "w"],
    ["with a sign", "w-+3"],
  ])("answers an id %s with a reset", async (_which, after) => {
    const window = new StreamWindow<number>("w", { maxItems: 3, maxBytes: Infinity });
    for (let value = 0; value < 10; value += 1) window.push(value);
    const [first] = await take(window.read({ after, signal: open }), 1);
    expect(first).toEqual({ kind: "reset", id: "w-10" });
  });

  it("answers the start with a reset where what came first is gone", async () => {
    const window = new StreamWindow<number>("w", { maxItems: 3, maxBytes: Infinity });
    for (let value = 0; value < 3; value += 1) window.push(value);
    expect(await take(window.read({ after: "start", signal: open }), 1)).toEqual([
      { kind: "position", id: "w-0" },
    ]);
    window.push(3);
    expect(await take(window.read({ after: "start", signal: open }), 1)).toEqual([
      { kind: "reset", id: "w-4" },
    ]);
  });

  it.each(["w", "a-b", "0199d3a0-5f3c-7c1e", "a-1", "-"])(
    "named %s has a reader who missed nothing, or as much as is kept, go on without a reset",
    async (name) => {
      const window = new StreamWindow<number>(name, { maxItems: 3, maxBytes: Infinity });
      const begins = async (at: number): Promise<unknown> =>
        (await take(window.read({ after: `${name}-${at}`, signal: open }), 1))[0];
      for (let pushed = 0; pushed <= 8; pushed += 1) {
        if (pushed > 0) window.push(pushed);
        for (let at = Math.max(0, pushed - 3); at <= pushed; at += 1)
          expect(await begins(at)).toEqual({ kind: "position", id: `${name}-${at}` });
        for (const at of [pushed - 4, pushed + 1])
          expect(await begins(at)).toEqual({ kind: "reset", id: `${name}-${pushed}` });
      }
    },
  );

  it("is watched until the last of its readers has gone", async () => {
    const window = new StreamWindow<number>("w", wide);
    const readers = [1, 2, 3].map(() => window.read({ signal: open }));
    expect(window.isWatched).toBe(false);
    for (const reader of readers) await reader.next();
    const seen: boolean[] = [];
    for (const reader of readers) {
      seen.push(window.isWatched);
      await reader.return();
    }
    expect([...seen, window.isWatched]).toEqual([true, true, true, false]);
  });

  it("counts the bytes of what it keeps, whatever the sizes of what it dropped", () => {
    const window = new StreamWindow<number>("w", { maxItems: 5, maxBytes: Infinity });
    const sizes = Array.from({ length: 40 }, (_, at) => (at * 7) % 11);
    for (const [at, size] of sizes.entries()) {
      window.push(at, size);
      const kept = sizes.slice(Math.max(0, at - 4), at + 1);
      expect(window.bytes).toBe(kept.reduce((sum, each) => sum + each, 0));
    }
  });

  it("keeps no more bytes than it may, but always the newest value", async () => {
    const window = new StreamWindow<string>("w", { maxItems: 100, maxBytes: 10 });
    window.push("a", 4);
    window.push("b", 4);
    window.push("c", 4);
    expect(window.bytes).toBe(8);
    window.push("huge", 50);
    expect(window.bytes).toBe(50);
    const items = await take(window.read({ after: "w-3", signal: open }), 2);
    expect(items.map((item) => ("value" in item ? item.value : item.kind))).toEqual(["position", "huge"]);
  });

  it("ends a reader who waits when the signal is aborted, and forgets it", async () => {
    const window = new StreamWindow<number>("w", wide);
    const controller = new AbortController();
    const reader = window.read({ signal: controller.signal });
    await reader.next();
    const waiting = reader.next();
    await Promise.resolve();
    expect(window.isWatched).toBe(true);
    controller.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(window.isWatched).toBe(false);
  });

  it("tells a reader who wants little where it is, so that it can come back there", async () => {
    const window = new StreamWindow<number>("w", { maxItems: 10_000, maxBytes: Infinity });
    const reader = window.read({ signal: open, accepts: (value) => value === 1200 });
    await reader.next();
    for (let value = 0; value <= 1200; value += 1) window.push(value);
    expect(await take(reader, 3)).toEqual([
      { kind: "position", id: "w-500" },
      { kind: "position", id: "w-1000" },
      { kind: "value", id: "w-1201", value: 1200 },
    ]);
  });
});

it("whoever is cut off and comes back again and again misses nothing without being told so", async () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.record({ push: fc.integer({ min: 1, max: 30 }) }) },
    { weight: 5, arbitrary: fc.record({ read: fc.integer({ min: 1, max: 30 }) }) },
    { weight: 2, arbitrary: fc.constant("cut" as const) },
    { weight: 1, arbitrary: fc.constant("restart" as const) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      let windows = 0;
      const create = (): StreamWindow<number> =>
        new StreamWindow(`w${(windows += 1)}`, { maxItems: 20, maxBytes: Infinity });
      let window = create();
      let pushed = 0;
      let lastId: string | undefined;
      let known = 0;
      let controller = new AbortController();
      let reader = window.read({ signal: controller.signal });
      const connect = (): void => {
        controller.abort();
        controller = new AbortController();
        reader = window.read({ after: lastId, signal: controller.signal });
      };
      const readOne = async (): Promise<void> => {
        const { value: item } = await reader.next();
        if (!item) return;
        lastId = item.id;
        // After a reset the reader looks at everything anew, which is what there is at that moment.
        if (item.kind === "reset") known = pushed;
        if (item.kind !== "value") return;
        known += 1;
        expect(item.value).toBe(known);
      };
      await readOne();
      for (const each of steps) {
        if (each === "cut") connect();
        else if (each === "restart") {
          window = create();
          connect();
        } else if ("push" in each) {
          for (let left = each.push; left > 0; left -= 1) window.push((pushed += 1));
        } else {
          for (let left = each.read; left > 0 && known < pushed; left -= 1) await readOne();
        }
      }
      while (known < pushed) await readOne();
      controller.abort();
    }),
  );
});
