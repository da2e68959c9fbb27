import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isImpossible } from "../../lib/selectors/impossible.ts";
import { matchesSelector } from "../../lib/selectors/match.ts";
import { parseSelector } from "../../lib/selectors/parse.ts";
import { allOf } from "../../lib/selectors/selector.ts";
import { anySelector, anyTarget } from "../support/selectors.ts";

describe("an impossible selector", () => {
  it.each([
    ["env=prod,env=dev", true],
    ["(env=prod,a=1),(b=2,env in (dev,stage))", true],
    ["env in (a,b),env in (b,c),env in (c,d)", true],
    ["name=a,name=b", true],
    ["env in (a,b),env=b", false],
    ["env=prod,attr.env=dev", false],
    ["env=prod,env!=prod", false],
    ["env=prod or env=dev", false],
    ["*", false],
  ])("is known by the values that it demands of one key: %s", (text, impossible) => {
    expect(isImpossible(parseSelector(text))).toBe(impossible);
  });

  it("matches nobody, and several selectors at once match whom each of them matches", () => {
    fc.assert(
      fc.property(fc.array(anySelector, { maxLength: 4 }), anyTarget, (selectors, target) => {
        const all = allOf(selectors);
        expect(matchesSelector(all, target)).toBe(selectors.every((each) => matchesSelector(each, target)));
        if (isImpossible(all)) expect(matchesSelector(all, target)).toBe(false);
      }),
      { numRuns: 1000 },
    );
  });
});
