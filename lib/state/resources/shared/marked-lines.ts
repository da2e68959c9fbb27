/** Lines of ours in a file of others, between two marks. Only lines between both marks are ours. */
import { OrchestratorError } from "../../../errors.ts";

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

/**
 * Refuses a text in which a mark of a name is missing or stands twice: between a mark that was left over and the next one may be lines of
 * others.
 *
 * @param where - What the text is, e.g. the path of a file.
 * @throws {OrchestratorError} `HOST_ERROR`.
 */
export function requirePair(text: string, name: string, where: string): void {
  const lines = text.split("\n");
  const { begin, end } = marksOf(name);
  const [begins, ends] = [begin, end].map((mark) => lines.filter((line) => line === mark).length);
  if (begins === ends && (begins === 0 || (begins === 1 && locate(lines, name)))) return;
  throw new OrchestratorError("HOST_ERROR", {
    message: `The marks "${begin}" and "${end}" in ${where} are not one pair: make them one around our lines, or take all of them out.`,
    details: { name },
  });
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
  const between = content === null || content === "" ? [] : content.replace(/\n$/, "").split("\n");
  const inner = content === null ? [] : [begin, ...between, end];
  if (place) return lines.toSpliced(place.from, place.to - place.from + 1, ...inner).join("\n");
  if (content === null) return text;
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}${inner.join("\n")}\n`;
}

/** The line, from 0, of the first mark of a name; null where it has none. */
export function lineOfMarks(text: string, name: string): number | null {
  return locate(text.split("\n"), name)?.from ?? null;
}

/** The text with new lines between two marks before a line, from 0. */
export function insertMarked(
  text: string,
  name: string,
  { content, line }: { content: string; line: number },
): string {
  const marked = writeMarked("", name, content).split("\n").slice(0, -1);
  return text
    .split("\n")
    .toSpliced(line, 0, ...marked)
    .join("\n");
}

/** Whether the marks of a name end the text. */
export function isLast(text: string, name: string): boolean {
  return text.endsWith(`${marksOf(name).end}\n`);
}

/** Whether there is nothing in a text but marked lines, of any names. */
export function isAllOurs(text: string): boolean {
  const marked = /# BEGIN fleetwright: (.*)\n(?:[^\n]*\n)*?# END fleetwright: \1\n/y;
  if (text === "") return false;
  while (marked.test(text)) if (marked.lastIndex === text.length) return true;
  return false;
}
