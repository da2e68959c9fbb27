import { isOrchestratorError } from "../errors.ts";
import { printKey } from "./key.ts";
import { parseSelector } from "./parse.ts";
import type { Selector } from "./selector.ts";
import { isWord } from "./tokens.ts";

/**
 * A selector as it is kept: in its canonical form, or, where that is past the limits, as it was written. What is kept can always be
 * given again.
 *
 * @throws {OrchestratorError} `SELECTOR_INVALID`.
 */
export function toKeptSelector(text: string): string {
  const printed = printSelector(parseSelector(text));
  try {
    parseSelector(printed);
    return printed;
  } catch (error) {
    if (!isOrchestratorError(error, "SELECTOR_INVALID")) throw error;
    return text;
  }
}

/** Writes a selector in its canonical form, which may be past the limits: `parseKeptSelector(printSelector(x))` is `x`. */
export function printSelector(selector: Selector): string {
  switch (selector.kind) {
    case "all":
      return "*";
    case "exists":
      return printKey(selector.key);
    case "equals":
      return `${printKey(selector.key)}${selector.negated ? "!=" : "="}${printValue(selector.value)}`;
    case "in":
      return `${printKey(selector.key)} ${selector.negated ? "notin" : "in"} (${selector.values.map(printValue).join(",")})`;
    case "compare":
      return `${printKey(selector.key)}${selector.operator}${selector.value}`;
    case "glob":
      return `${printKey(selector.key)}=~${printValue(selector.pattern)}`;
    case "not":
      return `!${printOperand(selector.operand)}`;
    case "and":
      return selector.operands.map(printOperand).join(",");
    case "or":
      return selector.operands.map(printOperand).join(" or ");
  }
}

/** Parentheses keep the shape: a group inside a group stays one. */
function printOperand(selector: Selector): string {
  const text = printSelector(selector);
  return selector.kind === "and" || selector.kind === "or" ? `(${text})` : text;
}

function printValue(value: string): string {
  return isWord(value) ? value : `"${value.replace(/["\\]/g, "\\$&")}"`;
}
