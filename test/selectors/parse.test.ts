import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isOrchestratorError } from "../../lib/errors.ts";
import { parseSelector } from "../../lib/selectors/parse.ts";
import { printSelector } from "../../lib/selectors/print.ts";
import { anySelector } from "../support/selectors.ts";

const accepted: [text: string, canonical: string][] = [
  ["*", "*"],
  ["env", "env"],
  ["env=prod", "env=prod"],
  ["env == prod", "env=prod"],
  ["  env\t=\nprod  ", "env=prod"],
  ["env!=prod", "env!=prod"],
  ["env=prod,role in (web,api),!legacy", "env=prod,role in (web,api),!legacy"],
  ["env=prod and role=web", "env=prod,role=web"],
  ["a or b,c", "a or (b,c)"],
  ["(a or b),c", "(a or b),c"],
  ["a,(b,c)", "a,(b,c)"],
  ["not a=b", "!a=b"],
  ["!!a", "!!a"],
  ["not (a or b)", "!(a or b)"],
  ["role notin ( web , 'a b' )", 'role notin (web,"a b")'],
  ["role in (in,or,not)", "role in (in,or,not)"],
  ["attr.cpu.count>=4", "attr.cpu.count>=4"],
  ["attr.load < 1.50", "attr.load<1.5"],
  ["x>-2e3", "x>-2000"],
  ["x>-0", "x>0"],
  ["name=~web-*", "name=~web-*"],
  ["node_id=ab12", "node_id=ab12"],
  ['"name"=x', '"name"=x'],
  ['"or"', '"or"'],
  ["'env'=prod", "env=prod"],
  ['a="say \\"hi\\" \\\\ it\'s"', 'a="say \\"hi\\" \\\\ it\'s"'],
  ["a=''", 'a=""'],
  ["app.kubernetes.io/name=x", "app.kubernetes.io/name=x"],
  ["version=1.2.3+rc:1@x/y%z", "version=1.2.3+rc:1@x/y%z"],
  ["constructor=__proto__", "constructor=__proto__"],
];

const refused: [name: string, text: string, column: number][] = [
  ["nothing", "", 1],
  ["blanks", "  \n ", 1],
  ["a word after a term", "env prod", 5],
  ["a missing value", "env=", 5],
  ["a symbol for a value", "env=,a", 5],
  ["a trailing comma", "a,", 3],
  ["a doubled comma", "a,,b", 3],
  ["an open parenthesis", "(a", 3],
  ["a stray parenthesis", "a)", 2],
  ["an empty set", "a in ()", 7],
  ["a set without parentheses", "a in b", 6],
  ["an unclosed quote", "a='b", 3],
  ["an unknown escape", "a='\\n'", 4],
  ["a word of the grammar as key", "a, or", 4],
  ["a key with a wrong letter", "a:b=c", 1],
  ["a key that is too long", "k".repeat(64), 1],
  ["an attribute without a name", "attr.=1", 1],
  ["an attribute that begins with a capital", "attr.Os=1", 1],
  ["text compared as number", "a>b", 3],
  ["a quoted number", 'a>"1"', 3],
  ["a hexadecimal number", "a>0x10", 3],
  ["a number past all bounds", "a>1e999", 3],
  ["a control character", "a=\u0000", 3],
  ["an unbreakable space", "a=b\u00a0", 4],
  ["a lone star in a term", "*=a", 2],
];

describe("parseSelector", () => {
  it.each(accepted)("reads %j as %j", (text, canonical) => {
    expect(printSelector(parseSelector(text))).toBe(canonical);
  });

  it.each(refused)("points at the fault: %s", (_name, text, column) => {
    expect(faultOf(text)).toMatchObject({ code: "SELECTOR_INVALID", issues: [{ path: [], column }] });
  });

  it.each([
    ["", "it is empty; every agent is written *"],
    ["env prod", 'unexpected "prod"'],
    ["env=", "a value is expected, not the end"],
    ["a,", "a key is expected, not the end"],
    ["a,,b", 'a key is expected, not ","'],
    ["a:b=c", '"a:b" is not a key'],
    ["'a b'", '"a b" is not a key'],
    ["a, or", '"or" is a word of the grammar; quote it to mean a tag'],
    ["(a", '")" is expected, not the end'],
    ["a in b", '"(" is expected, not "b"'],
    ["a>b", 'a number is expected, not "b"'],
    ["a='b", "the quote is not closed"],
    ["a='\\n'", "a backslash stands only before a quote or a backslash"],
    ["a=\u0000", 'unexpected character "\\u0000"'],
    ["a".repeat(4097), "longer than 4096 characters"],
    ["!".repeat(101), "nested deeper than 100"],
    [Array(501).fill("a").join(), "more than 500 terms and values"],
  ])("says what is wrong: %.20s", (text, message) => {
    const fault = faultOf(text);
    expect(fault).toMatchObject({ issues: [{ message }] });
    expect(fault?.message).toMatch(/^The selector can't be read at column \d+: /);
    expect(fault?.message.endsWith(message)).toBe(true);
  });

  it("reads zero as zero, whatever its sign", () => {
    expect(parseSelector("a>-0")).toEqual(parseSelector("a>0"));
  });

  it("reads back what it printed", () => {
    fc.assert(
      fc.property(anySelector, (selector) => {
        expect(parseSelector(printSelector(selector))).toEqual(selector);
      }),
      { numRuns: 500 },
    );
  });

  it("refuses any text with the one error or reads it", () => {
    const pieces = fc.constantFrom(
      "a",
      "=",
      "!",
      "(",
      ")",
      ",",
      "in",
      "or",
      "*",
      "'",
      '"',
      "\\",
      " ",
      ">",
      "~",
      "1",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(pieces).map((all) => all.join("")),
        ),
        (text) => {
          const fault = faultOf(text);
          expect(fault === null || isOrchestratorError(fault, "SELECTOR_INVALID")).toBe(true);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("keeps its bounds of length, depth and terms", () => {
    expect(faultOf("a".repeat(4097))).toMatchObject({ issues: [{ column: 4097 }] });
    expect(faultOf(`${"(".repeat(100)}a${")".repeat(100)}`)).toBeNull();
    expect(faultOf(`${"(".repeat(101)}a${")".repeat(101)}`)).toMatchObject({ issues: [{ column: 102 }] });
    expect(faultOf(`${"!".repeat(101)}a`)).toMatchObject({ issues: [{ column: 102 }] });
    expect(faultOf(Array(500).fill("a").join())).toBeNull();
    expect(faultOf(Array(501).fill("a").join())).toMatchObject({ code: "SELECTOR_INVALID" });
    expect(faultOf(`a in (${Array(501).fill("b").join()})`)).toMatchObject({ code: "SELECTOR_INVALID" });
  });
});

function faultOf(text: string): Error | null {
  try {
    parseSelector(text);
    return null;
  } catch (error) {
    return error as Error;
  }
}
