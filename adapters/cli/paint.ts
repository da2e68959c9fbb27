/** Colours, on a terminal that wants them. What is painted was made safe before: no colour comes from elsewhere. */
import type { CommandContext } from "./context.ts";

/** Paints lines of text; all as they are where there are no colours. */
export interface Paint {
  /** A table: its heading, and words in it that tell good from bad. */
  table(lines: readonly string[]): string[];
  /** Lines about resources, which begin with a sign. */
  results(text: string): string;
  /** What a command says when it fails. */
  failure(text: string): string;
}

const noColours: Paint = { table: (lines) => [...lines], results: (text) => text, failure: (text) => text };

/** Colours for where results go: a terminal, unless `NO_COLOR` is set or it can't. */
export function paintFor({ isOutputTerminal, environment }: CommandContext): Paint {
  const { NO_COLOR = "", TERM } = environment;
  return isOutputTerminal === true && NO_COLOR === "" && TERM !== "dumb" ? colours : noColours;
}

const codes = { bold: "1", red: "31", green: "32", yellow: "33" } as const;
type Colour = keyof typeof codes;

function dye(text: string, colour: Colour): string {
  return `\u001b[${codes[colour]}m${text}\u001b[0m`;
}

/** Words of a status, as the API has them. */
const meanings: Readonly<Record<string, Colour>> = {
  approved: "green",
  succeeded: "green",
  in_sync: "green",
  ok: "green",
  pending: "yellow",
  drifted: "yellow",
  partial: "yellow",
  paused: "yellow",
  degraded: "yellow",
  warning: "yellow",
  failed: "red",
  rejected: "red",
  interrupted: "red",
  timed_out: "red",
  cancelled: "red",
  critical: "red",
};

const signs: Readonly<Record<string, Colour>> = {
  "+": "green",
  "~": "yellow",
  "-": "red",
  "?": "yellow",
  "!": "red",
};

const colours: Paint = {
  table: ([heading, ...lines]) => [
    ...(heading === undefined ? [] : [dye(heading, "bold")]),
    // A word by itself is a cell, or a part of one: two spaces stand between cells.
    ...lines.map((line) =>
      line.replace(/(?<=^| {2})[a-z_]+(?= {2}|$)/g, (word) =>
        Object.hasOwn(meanings, word) ? dye(word, meanings[word]!) : word,
      ),
    ),
  ],
  results: (text) => text.replace(/^ {2}([+~?!-]) .*$/gm, (line, sign: string) => dye(line, signs[sign]!)),
  failure: (text) => text.replace(/^fleetwright:/gm, (start) => dye(start, "red")),
};
