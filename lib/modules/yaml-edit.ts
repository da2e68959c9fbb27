/** Puts other values into a YAML text. */
import type { Issue } from "../errors.ts";
import type { YamlText } from "./yaml-text.ts";

/** A value and the YAML to stand in its place, in one line. */
export interface YamlEdit {
  path: Issue["path"];
  text: string;
}

/**
 * Replaces values, none of which is in another. Of each of them no comment stays, neither in it nor between it and the value before.
 * What was written with properties of YAML that nobody foresaw may come out wrong: read it again.
 */
export function replaceValues(content: string, text: YamlText, edits: readonly YamlEdit[]): string {
  const found = edits.map(({ path, text: written }) => ({ ...text.span(path), written }));
  let result = "";
  let at = 0;
  for (const { after, begin, tail, written } of found.sort((a, b) => a.begin - b.begin)) {
    const from = Math.max(at, after);
    const comments = content.slice(from, begin).replaceAll(/#[^\n]*/g, "");
    // The end of a block reaches to what follows it in the next line.
    const end = /\n *$/.exec(content.slice(begin, tail))?.[0] ?? "";
    result += content.slice(at, from) + comments + written + end;
    at = tail;
  }
  return result + content.slice(at);
}
