import { describe, expect, it } from "vitest";
import {
  namesEntityTag,
  toChangeOptions,
  toEntityTag,
  toVersionTag,
} from "../../../adapters/http/entity-tags.ts";

describe("a change under If-Match", () => {
  it.each<[string | null, readonly number[] | undefined]>([
    [null, undefined],
    ["*", undefined],
    [" * ", undefined],
    [toVersionTag(0), [0]],
    [toVersionTag(17), [17]],
    [toEntityTag(17, "{}"), [17]],
    ['"1", "2-abc_-9" ,"3"', [1, 2, 3]],
    // What matches nothing must not match everything.
    ["", []],
    ["17", []],
    ['W/"17"', []],
    ['W/"17", "18"', [18]],
    ['"v17"', []],
    ['"-17"', []],
    ['"17-"', []],
    ['"1234567890123456"', []],
    ['"*"', []],
  ])("%j is for the versions %j alone", (ifMatch, versions) => {
    expect(toChangeOptions(ifMatch).ifVersion).toEqual(versions);
  });
});

describe("a read under If-None-Match", () => {
  const tag = toEntityTag(3, "{}");
  it.each<[string | undefined, boolean]>([
    [undefined, false],
    [tag, true],
    [`W/${tag}`, true],
    [`"other", ${tag}`, true],
    [`"other",W/${tag} , "more"`, true],
    ["*", true],
    ["", false],
    [toVersionTag(3), false],
    [toEntityTag(4, "{}"), false],
    [toEntityTag(3, "[]"), false],
    [`w/${tag}`, false],
  ])("%j names what is there: %s", (ifNoneMatch, named) => {
    expect(namesEntityTag(ifNoneMatch, tag)).toBe(named);
  });
});
