/** Lines of ours in a file of others, between two marks. Only lines between both marks are ours. */

/** The two marks of a name. */
function marksOf(name: string): { begin: string; end: string } {
  return { begin: `# BEGIN fleetwright: ${name}`, end: `# END fleetwright: ${name}` };
}

/** Where the marked lines are: indexes of both marks. Null where either is missing. */
function locate(lines: readonly string[], name: string): { from: number; to: number } | null {
  const { begin, end } = marksOf(name);
  const from = lines.indexOf(begin);
  const to = from === -1 ? -1 : lines.indexOf(end, from);
  return to === -1 ? null : { from, to };
}

/** The text between the marks, with its line breaks; null where there is none. */
export function readMarked(text: string, name: string): string | null {
  const lines = text.split("\n");
  const place = locate(lines, name);
  if (!place) return null;
  return lines
    .slice(place.from + 1, place.to)
    .map((line) => `${line}\n`)
    .join("");
}

/** The text with other lines between the marks, at its end where they are new; null takes them and the marks away. */
export function writeMarked(text: string, name: string, content: string | null): string {
  const lines = text.split("\n");
  const { begin, end } = marksOf(name);
  const place = locate(lines, name);
  const inner = content === null ? [] : [begin, ...content.replace(/\n$/, "").split("\n"), end];
  if (place) return lines.toSpliced(place.from, place.to - place.from + 1, ...inner).join("\n");
  if (content === null) return text;
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${inner.join("\n")}\n`;
}
