/** Modules that earlier versions took in stay readable, though patterns of params mean a little less now. */
import { expect, test } from "vitest";
import { finish } from "../../lib/internal/work.ts";
import { readModule } from "../../lib/module-format/module-document.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";

const withParam = (pattern: string, value: string): string =>
  `name: m\nparams:\n  p: { type: string, pattern: ${JSON.stringify(pattern)}, default: ${JSON.stringify(value)} }\nresources: []\n`;

test.each([
  ["whose default holds a carriage return where a dot takes none any more", ".+", "a\rb"],
  ["with a hyphen behind a backslash", "[\\w\\.-+]+", "a-b"],
  ["with a hyphen before an escaped character", "[A-Za-z0-9\\_-\\.]+", "a-b"],
])("one %s", (_what, pattern, value) => {
  const { name, params } = finish(readModule(withParam(pattern, value), resourceTypes, true));
  expect([name, params]).toMatchObject(["m", { p: { default: value } }]);
});

test("a default that its pattern does not take is refused where a module is new", () => {
  expect(() => finish(readModule(withParam(".+", "a\rb"), resourceTypes))).toThrow(
    expect.objectContaining({ code: "MODULE_INVALID" }),
  );
});
