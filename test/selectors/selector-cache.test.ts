import { expect, it } from "vitest";
import { isOrchestratorError } from "../../lib/errors.ts";
import { SelectorCache } from "../../lib/selectors/selector-cache.ts";

it("a selector is parsed once, for as long as it is remembered", () => {
  const cache = new SelectorCache();
  const first = cache.parse("env=prod");
  expect(cache.parse("env=prod")).toBe(first);
  for (let n = 0; n < 1_000; n += 1) cache.parse(`env=${n}`);
  expect(cache.parse("env=prod")).not.toBe(first);
  expect(cache.parse("env=prod")).toEqual(first);
});

it("a fault points at the field that a selector is in, and at the column", () => {
  const cache = new SelectorCache();
  // The second time, too: what can't be read is not remembered.
  for (let n = 0; n < 2; n += 1) {
    try {
      cache.parse("env=");
      expect.unreachable();
    } catch (error) {
      if (!isOrchestratorError(error, "SELECTOR_INVALID")) throw error;
      expect(error.message).toBe("The selector can't be read at column 5: a value is expected, not the end");
      expect(error.issues).toEqual([
        { path: ["selector"], message: "a value is expected, not the end", column: 5 },
      ]);
    }
  }
});
