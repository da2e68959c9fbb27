import { OrchestratorError } from "../errors.ts";

/** A piece of a selector's text. */
export interface Token {
  /** A symbol stands for itself; "end" comes once, last. */
  kind: "word" | "quoted" | "symbol" | "end";
  /** The word, the text inside the quotes, or the symbol. */
  text: string;
  /** Where it begins, from 1. */
  column: number;
}

/** Longest first, so that `>=` is not read as `>`. */
const symbols = ["!=", "==", "=~", ">=", "<=", "=", "!", ">", "<", "(", ")", ","] as const;

const space = /[ \t\r\n]/;
/** What a word can't hold: space, symbols, quotes, the backslash and control characters. */
const word = /[^\s,()=!<>~"'\\\p{Cc}]+/uy;

/** Whether a text can be written in a selector without quotes. */
export function isWord(text: string): boolean {
  word.lastIndex = 0;
  return word.exec(text)?.[0] === text;
}

/** An error that points at a place of a selector's text. */
export function selectorFault(column: number, message: string): OrchestratorError {
  return new OrchestratorError("SELECTOR_INVALID", {
    message: `The selector can't be read at column ${column}: ${message}`,
    issues: [{ path: [], message, column }],
  });
}

/** Takes a selector's text apart. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    if (space.test(text.charAt(at))) {
      at += 1;
      continue;
    }
    const { token, end } = readToken(text, at);
    tokens.push(token);
    at = end;
  }
  tokens.push({ kind: "end", text: "", column: text.length + 1 });
  return tokens;
}

function readToken(text: string, start: number): { token: Token; end: number } {
  const column = start + 1;
  const symbol = symbols.find((candidate) => text.startsWith(candidate, start));
  if (symbol) return { token: { kind: "symbol", text: symbol, column }, end: start + symbol.length };
  const first = text.charAt(start);
  if (first === '"' || first === "'") return readQuoted(text, start);
  word.lastIndex = start;
  const found = word.exec(text)?.[0];
  if (found === undefined) throw selectorFault(column, `unexpected character ${JSON.stringify(first)}`);
  return { token: { kind: "word", text: found, column }, end: start + found.length };
}

function readQuoted(text: string, start: number): { token: Token; end: number } {
  const quote = text.charAt(start);
  let value = "";
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === quote) {
      return { token: { kind: "quoted", text: value, column: start + 1 }, end: at + 1 };
    }
    if (character !== "\\") {
      value += character;
      continue;
    }
    at += 1;
    const escaped = text.charAt(at);
    if (escaped !== '"' && escaped !== "'" && escaped !== "\\") {
      throw selectorFault(at, "a backslash stands only before a quote or a backslash");
    }
    value += escaped;
  }
  throw selectorFault(start + 1, "the quote is not closed");
}
