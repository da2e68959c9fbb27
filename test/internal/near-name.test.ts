import { expect, it } from "vitest";
import { nearName, nearNames } from "../../lib/internal/near-name.ts";

const known = ["sessionIdleSeconds", "sessionMaxSeconds", "clock", "cron", "pendingAgents"];

it.each([
  ["a letter that is missing", "sesionIdleSeconds", "sessionIdleSeconds"],
  ["a letter too many", "sessionMaxxSeconds", "sessionMaxSeconds"],
  ["another letter", "klock", "clock"],
  ["two letters swapped", "colck", "clock"],
  ["other case", "SessionIDLESeconds", "sessionIdleSeconds"],
  ["the name of a variable", "SESSION_MAX_SECONDS", "sessionMaxSeconds"],
  ["the name of a flag", "pending-agents", "pendingAgents"],
  ["a plural that is none", "pendingAgent", "pendingAgents"],
  ["something else", "color", null],
  ["a short name of other letters", "cork", null],
  ["nothing", "", null],
  ["a text too long to be a name", "sessionIdleSeconds".repeat(100), null],
])("for %s: %s", (_, name, expected) => {
  expect(nearName(name, known)).toBe(expected);
});

it.each([
  ["web1", ["web-1", "web-2", "db"], ["web-1"]],
  ["wbe", ["web", "wbe2"], ["web", "wbe2"]],
  ["wbe", ["web", "web"], ["web"]],
  ["production", ["prodcution", "produktion"], ["prodcution", "produktion"]],
  ["x", ["elephant"], []],
  ["production", ["produktiom", "produktion"], ["produktion"]],
  ["production", ["produktion", "produktiom"], ["produktion"]],
  ["production", ["pruduktiom", "produktiom", "production"], ["production"]],
  [
    "abcdefghijklmnopqrst",
    ["abcdefghijklmnopq___rst", "abcdefghijklmnopq123rst"],
    ["abcdefghijklmnopq___rst"],
  ],
  ["abcdefghijklmnopqrst", ["abcdefghijklmnopq123rst"], ["abcdefghijklmnopq123rst"]],
  ["abcdefghijklmnopqrst", ["abcdefghijklmnopq1234rst"], []],
  ["abcd", ["abcx", "abxy"], ["abcx"]],
  ["abcd", ["abxy"], []],
  ["abcde", ["abcxy"], ["abcxy"]],
  ["", ["web"], []],
])("of %j among %j all that are equally near are found: %j", (name, names, expected) => {
  expect(nearNames(name, names)).toEqual(expected);
});
