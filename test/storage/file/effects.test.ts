import { expect, test } from "vitest";
import { effectsFromText, effectsToText } from "../../../lib/storage/file/effects.ts";
import { StoredText } from "../../../lib/storage/stored-text.ts";
import type { Effect } from "../../../lib/storage/writes.ts";

const oddTexts = [
  "",
  "plain",
  'a "b"',
  "back\\",
  '\\","revision":9,"value":{}',
  "tab\tfeed\n",
  "ü \u{1f600}",
];
const value = { "text\t": 'a "quoted"\tone\n', list: [1, { deep: null }], key: "x" };

function put(collection: string, key: string, revision: number): Effect {
  return { kind: "put", collection, document: new StoredText(key, revision, JSON.stringify(value)) };
}

const effects: Effect[] = [
  ...oddTexts.map((text, index) => put("agents", text, index + 1)),
  ...oddTexts.map((text) => put(text, "key", 1_234_567)),
  { kind: "delete", collection: "agents", key: "a\tb" },
  {
    kind: "append",
    log: "audit",
    entry: { sequence: 7, at: 8.5, hash: "00ff", value },
    text: JSON.stringify(value),
  },
  { kind: "trim", log: "audit", base: { sequence: 3, hash: null } },
];

/** An append is not written again: its text is not read back. */
const withoutText = (effect: Effect): Effect => (effect.kind === "append" ? { ...effect, text: "" } : effect);

test("effects come back from the text of a record, whatever their names hold", () => {
  expect(effectsFromText(effectsToText(effects))).toEqual(effects.map(withoutText));
  for (const effect of effects)
    expect(effectsFromText(effectsToText([effect]))).toEqual([withoutText(effect)]);
  expect(effectsFromText(effectsToText([]))).toEqual([]);
});

test("the text is one line of JSON, and is read without the tabs that it had not at first", () => {
  const text = effectsToText(effects);
  expect(text).not.toContain("\n");
  expect(effectsFromText(JSON.stringify(JSON.parse(text)))).toEqual(effects.map(withoutText));
});

test("a document is parsed when it is read, and can't be changed", () => {
  const [effect] = effectsFromText(effectsToText([put("agents", "a", 2)]));
  const document = effect?.kind === "put" ? effect.document.parse() : null;
  expect(document).toEqual({ key: "a", revision: 2, value });
  expect(Object.isFrozen(document)).toBe(true);
  expect(Object.isFrozen(document?.value["list"])).toBe(true);
});

test("a text that is no list of effects is refused", () => {
  for (const text of ["", "[\t", '[\t{"delete":]', '[\t{"put":"a","key":"b","revision":x,"value":{}}]']) {
    expect(() => effectsFromText(text), text).toThrow(SyntaxError);
  }
});
