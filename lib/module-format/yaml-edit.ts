/** Puts other values into a YAML text. */
import type { Issue } from "../errors.ts";
import type { YamlText } from "./yaml-text.ts";

/** A value and the YAML to stand in its place, in one line. */
export interface YamlEdit {
  path: Issue["path"];
  text: string;
}

/** An edit with its place in the text. */
export interface PlacedEdit {
  begin: number;
  end: number;
  written: string;
}

/** Finds the place of an edit. What was written with properties of YAML that nobody foresaw may come out wrong: read it again. */
export function placeEdit(content: string, text: YamlText, { path, text: written }: YamlEdit): PlacedEdit {
  const { begin, tail } = text.span(path);
  // The end of a block reaches to what follows it in the next line.
  const rest = /\n *$/.exec(content.slice(begin, tail))?.[0] ?? "";
  return { begin, end: tail, written: written + rest };
}

/**
 * Makes edits, none of which is in another, and leaves out every comment of the text: which value one is about can't be told. The line
 * of a comment stays.
 */
export function makeEdits(content: string, text: YamlText, edits: readonly PlacedEdit[]): string {
  const comments = text.asides.map(({ begin, end }) => ({ begin, end, written: "" }));
  const pieces: string[] = [];
  let at = 0;
  for (const { begin, end, written } of [...edits, ...comments].sort((a, b) => a.begin - b.begin)) {
    // A comment in a value that was replaced is gone.
    if (begin < at) continue;
    const before = content.slice(at, begin);
    pieces.push(written === "" ? before.replace(/(?<=[^ \t])[ \t]+$/, "") : before, written);
    at = end;
  }
  return pieces.join("") + content.slice(at);
}
