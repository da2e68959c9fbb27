/** What a shell is told that asks for completion. */
import type { Command } from "commander";
import type { CommandContext } from "../context.ts";
import { toLines } from "../text.ts";
import { findNames } from "./names.ts";
import { placeIn } from "./place.ts";
import type { Word } from "./place.ts";
import { quoteBehind, unquote } from "./quoting.ts";
import type { ShellName } from "./scripts.ts";

/** A line as a shell has it. */
export interface AskedLine {
  shell: ShellName;
  /** The words behind the name of the program; the last one is completed. Of bash and fish as they were typed, quotes and all. */
  words: readonly string[];
  /** Of bash: characters at the beginning of the last word that stay, whatever is chosen. Default 0. */
  kept?: number;
}

/**
 * Answers with a line that says what else the shell completes, `files`, `folders` or `nothing`, and a line for each word, with a tab and
 * what it is behind it but for bash. No word has a control character, so none takes more than a line.
 */
export async function answerCompletion(
  program: Command,
  context: CommandContext,
  { shell, words, kept = 0 }: AskedLine,
): Promise<string> {
  const place = placeIn(
    program,
    words.map((word) => toTyped(shell, word)),
  );
  const { profile } = place.given;
  const environment = {
    ...context.environment,
    ...(profile !== undefined && { FLEETWRIGHT_PROFILE: profile }),
  };
  const names = (await findNames({ ...context, environment }, place)).filter(isName);
  const found = [...place.words, ...names]
    .filter(({ word }) => word.startsWith(place.typed))
    .map(({ word, ...other }) => ({ ...other, word: `${place.before}${word}` }));
  const unique = [...new Map(found.map((each) => [each.word, each])).values()];
  const last = words.at(-1) ?? "";
  const lines = shell === "bash" ? unique.flatMap(behind(last.slice(0, kept))) : unique.map(toDescribed);
  const { source } = place;
  return toLines([source === "files" || source === "folders" ? source : "nothing", ...lines]);
}

function toTyped(shell: ShellName, word: string): string {
  // zsh has unquoted it; fish looks itself which words begin so, whatever the server found by this.
  return shell === "zsh" ? word : shell === "bash" ? unquote(word).text : word.replaceAll(/['"\\]/g, "");
}

/** What others have named so that a terminal or a shell would obey it, and what a command would take for an option, is not told. */
function isName({ word }: Word): boolean {
  return word !== "" && !/\p{C}|[\u2028\u2029]/u.test(word) && !word.startsWith("-");
}

/** Words as bash puts them behind what stays. */
function behind(kept: string): (word: Word) => string[] {
  const { text, quote } = unquote(kept);
  return ({ word }) => {
    const written = word.startsWith(text) ? quoteBehind(word.slice(text.length), quote) : null;
    return written === null ? [] : [written];
  };
}

function toDescribed({ word, about = "" }: Word): string {
  const told = about.replaceAll(/[\p{C}\u2028\u2029]/gu, "");
  return told === "" ? word : `${word}\t${told}`;
}
