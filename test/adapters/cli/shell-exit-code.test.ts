import { expect, it } from "vitest";
import { toShellExitCode } from "../../../adapters/cli/work/shell-exit-code.ts";

it.each([
  ["success", 0, 0],
  ["a code of a program", 42, 42],
  ["the greatest code", 255, 255],
  ["a code that a process would cut to success", 256, 1],
  ["a negative code", -1, 1],
  ["no number", Number.NaN, 1],
  ["a fraction", 1.5, 1],
  ["a text", "0", 1],
  ["null", null, 1],
  ["nothing", undefined, 1],
])("An exit code of a remote shell that is %s becomes one that a process can have.", (_, told, expected) => {
  expect(toShellExitCode(told)).toBe(expected);
});
