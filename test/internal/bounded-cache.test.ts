import { describe, expect, test } from "vitest";
import { BoundedCache } from "../../lib/internal/bounded-cache.ts";

describe("what is remembered", () => {
  test("goes when there is no room, what was not used for longest first", () => {
    const cache = new BoundedCache<number>({ entries: 2 });
    cache.set("a", 1);
    cache.set("b", 2);
    expect(cache.get("a")).toBe(1);
    cache.set("c", 3);
    expect(["a", "b", "c"].map((key) => cache.get(key))).toEqual([1, undefined, 3]);
  });

  test("goes by weight, too, until the rest fits, and what is too heavy by itself is not kept", () => {
    const cache = new BoundedCache<number>({ entries: 10, weight: 5 });
    for (const key of ["a", "b", "c"]) cache.set(key, 0, 2);
    expect(["a", "b", "c"].map((key) => cache.get(key))).toEqual([undefined, 0, 0]);
    cache.set("d", 1, 5);
    expect(["b", "c", "d"].map((key) => cache.get(key))).toEqual([undefined, undefined, 1]);
    cache.set("e", 2, 6);
    expect(["d", "e"].map((key) => cache.get(key))).toEqual([1, undefined]);
  });

  test("has its room back when it is replaced or forgotten", () => {
    const cache = new BoundedCache<number>({ entries: 10, weight: 5 });
    cache.set("a", 1, 5);
    cache.set("a", 2, 1);
    cache.set("b", 3, 4);
    expect(["a", "b"].map((key) => cache.get(key))).toEqual([2, 3]);
    cache.delete("b");
    cache.delete("b");
    cache.set("c", 4, 4);
    expect(["a", "b", "c"].map((key) => cache.get(key))).toEqual([2, undefined, 4]);
  });

  test("is not kept by being set again where it is too heavy by then", () => {
    const cache = new BoundedCache<number>({ entries: 10, weight: 5 });
    cache.set("a", 1, 1);
    cache.set("a", 2, 6);
    expect(cache.get("a")).toBeUndefined();
  });
});
