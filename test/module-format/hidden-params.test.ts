/** What is left of a secret param, and of what names a secret resource, for those who may not read them. */
import { expect, test } from "vitest";
import { finish } from "../../lib/internal/work.ts";
import { hideModule } from "../../lib/module-format/hidden-module.ts";
import { parseModule } from "../../lib/module-format/module-document.ts";
import { resourceTypesWith } from "../../lib/state/own-types.ts";
import type { ResourceType } from "../../lib/state/resource-type.ts";
import { hidden } from "../../lib/state/result.ts";
import { noteType } from "../package/project/own-type.ts";

/** Each type of param with all that it may say of its values. */
const params = {
  string: `default: hunter, pattern: hunter.*, enum: [hunter, hunter-b]`,
  integer: `default: 4242, minimum: 4200, maximum: 4300, enum: [4242, 4243]`,
  number: `default: 4242.5, minimum: 4200.5, maximum: 4300.5, enum: [4242.5]`,
  boolean: `default: true`,
  array: `default: [hunter]`,
  object: `default: { hunter: hunter }`,
};

test.each(Object.entries(params))("of a secret param of type %s nothing tells its values", (type, rest) => {
  const param = `{ type: ${type}, sensitive: true, description: of the database, ${rest} }`;
  const text = `name: m\nparams:\n  secret: ${param}\n  open: { type: ${type}, ${rest} }\nresources: []\n`;
  const types = resourceTypesWith([]);
  const module = parseModule(text, types);
  const found = finish(hideModule(text, module, types))!;
  const shown = { type, sensitive: true, description: "of the database", default: hidden };
  expect(found.params["secret"]).toEqual(shown);
  expect(found.params["open"]).toEqual(module.params["open"]);
  const line = found.content.split("\n").find((each) => each.includes("secret:"));
  expect(JSON.parse(line!.slice(line!.indexOf("{")))).toEqual(shown);
});

test.each([
  ["quotes a value", () => true, "m/n"],
  ["quotes none", () => false, "/etc/hunter"],
  [
    "can't be told to quote a value",
    () => {
      throw new Error("no");
    },
    "m/n",
  ],
])("a secret resource whose identity %s", (_what, identityHoldsValue, identity) => {
  const type = { ...noteType, identityHoldsValue } as unknown as ResourceType;
  const types = resourceTypesWith([type]);
  const plain = resourceTypesWith([noteType as unknown as ResourceType]);
  const text =
    "name: m\nresources:\n  - { id: n, type: note, path: /etc/hunter, text: hunter, sensitive: true }\n";
  const found = finish(hideModule(text, parseModule(text, plain), types))!;
  expect(found.outline.map((each) => each.identity)).toEqual([identity]);
  expect(found.content.includes("/etc/hunter")).toBe(identity === "/etc/hunter");
});
