/** Takes a YAML text apart, counting before anything is made of it. */
import type { CST, Parser } from "yaml";
import type { Work, WorkBudget } from "../internal/work.ts";
import { yamlPackage } from "./packages.ts";

/** What reading one lexeme (a word, sign, blank or line end) costs until it is a value, in steps. */
const lexemeCost = 40;

/** How many lexemes an escape in double quotes counts as. */
const escapeCost = 4;

/** How many lexemes count as that each of which is a fault of its own: an anchor, alias or tag, and an escape that is none. */
const faultCost = 1000;

/** An escape; what is none, or may be none, is the first group. */
const escape = /\\(?:[0abefnrtvN_LP "/\\\t\r\n]|x[\da-f]{2}|u[\da-f]{4}|())/gi;

/** Part of {@link lexemeCost} that making tokens of it takes. */
const tokenCost = 15;

/** What stands on the parser's stack beside lists and maps: the document, and what is being read. */
const besideCollections = 2;

/** What the lexer puts before a plain scalar and the text of a block, so that these are not taken for signs. */
const scalarSign = "\x1f";

/** What the lexer puts between the parts of a text, and no text holds. */
const unwrittenSigns = new Set([scalarSign, "\x02", "\x18"]);

/** Where a comment stands, or a directive, which says nothing here either. */
export interface Aside {
  begin: number;
  end: number;
}

/** Why a text has no tokens: too many parts, lists and maps too deep within each other, or so because a line is indented wrongly. */
export type TokensFault = "parts" | "depth" | "indent";

/** The tokens of a text, or what is wrong with it, and where. */
export type TokensRead =
  { ok: true; tokens: CST.Token[]; asides: Aside[] } | { ok: false; fault: TokensFault; offset: number };

/**
 * Reads the tokens of a text; of one whose parts are more than the budget, only these are counted. The parser calls itself for each
 * list or map within another, also for those that one line begins (`a: a: a:`), so it is stopped before they are too many for it.
 */
export function* readTokens(text: string, depth: number, budget: WorkBudget): Work<TokensRead> {
  const read = yield* readLexemes(text, budget);
  if (!("lexemes" in read)) return { ok: false, fault: "parts", ...read };
  const parser = new (yamlPackage().Parser)();
  const tokens: CST.Token[] = [];
  for (const lexeme of read.lexemes) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > depth + besideCollections) return { ok: false, ...faultOf(parser) };
    budget.spend(tokenCost);
    if (budget.isSliceOver()) yield;
  }
  for (const token of parser.end()) tokens.push(token);
  return { ok: true, tokens, asides: read.asides };
}

/** The parser takes each line after one that is indented wrongly for a map in the one before: that one is the fault. */
function faultOf({ stack, offset }: Parser): { fault: TokensFault; offset: number } {
  const misplaced = stack.find((token, at) => {
    const holder = stack[at - 1];
    return token.type === "block-map" && holder?.type === "block-map" && token.indent <= holder.indent;
  });
  return misplaced ? { fault: "indent", offset: misplaced.offset } : { fault: "depth", offset };
}

function* readLexemes(
  text: string,
  budget: WorkBudget,
): Work<{ lexemes: string[]; asides: Aside[] } | { offset: number }> {
  const lexemes: string[] = [];
  const asides: Aside[] = [];
  let offset = 0;
  let last = "";
  for (const lexeme of new (yamlPackage().Lexer)().lex(text)) {
    if (budget.isSliceOver()) yield;
    if (!budget.tryTake(lexemeCost * costOf(lexeme, last))) return { offset };
    if (last !== scalarSign && /^[#%]/.test(lexeme))
      asides.push({ begin: offset, end: offset + lexeme.length });
    last = lexeme;
    if (!unwrittenSigns.has(lexeme)) offset += lexeme.length;
    lexemes.push(lexeme);
  }
  return { lexemes, asides };
}

/** As how many lexemes one counts, after another. */
function costOf(lexeme: string, last: string): number {
  let cost = 1;
  if (lexeme.startsWith('"')) {
    for (const [, wrong] of lexeme.matchAll(escape)) cost += wrong === undefined ? escapeCost : faultCost;
  }
  if (last !== scalarSign && /^[&*!]/.test(lexeme)) cost += faultCost;
  // A key without a value is short, and becomes as much as any.
  if (lexeme === ",") cost += 1;
  return cost;
}
