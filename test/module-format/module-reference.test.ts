/** Names of modules with and without revisions, also where one is called like something that every object has. */
import { expect, it } from "vitest";
import {
  namedOf,
  parseReferences,
  pinOf,
  printReferences,
} from "../../lib/module-format/module-reference.ts";

const names = ["web", "constructor", "web.constructor"];

it.each(names)("%s is the newest where no revision is said, and nothing is named of it", (name) => {
  const { names: parsed, pins } = parseReferences([name]);
  expect(parsed).toEqual([name]);
  for (const given of [pins, {}, undefined]) {
    expect(pinOf(given, name)).toBeUndefined();
    expect(printReferences([name], given)).toEqual([name]);
  }
  for (const named of [{}, { other: {} }, undefined]) expect(namedOf(named, name)).toBeUndefined();
});

it.each(names)("%s is pinned to the revision that is said, and named as it is named", (name) => {
  const texts = [`${name}@7`, "other"];
  const { names: parsed, pins } = parseReferences([...texts, `${name}@7`]);
  expect([parsed, pins]).toEqual([[name, "other"], { [name]: 7 }]);
  expect(printReferences(parsed, pins)).toEqual(texts);
  expect(namedOf({ [name]: { revision: 7 } }, name)).toEqual({ revision: 7 });
});
