/** Texts for receivers with limits and with markup of their own. */
import { parsedUrl } from "../../internal/url-text.ts";
import type { Json } from "../../json.ts";
import type { Message, Severity } from "./sender.ts";

/** What is no text: control characters but tab and line feed, half of a character, and what turns the direction of writing. */
const noText =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\p{Surrogate}/gu;

/** How a text is to fit. */
export interface Fit {
  /** Most that the text may be, markup and the mark of a cut included. */
  most: number;
  /** How much a piece is. Default: UTF-16 units, as most receivers count. */
  size?: (text: string) => number;
  /** How a character is written. Default: as it is. */
  escape?: (character: string) => string;
}

/** Bytes of a text in UTF-8. */
export const utf8Size = (text: string): number => Buffer.byteLength(text);

/** Bytes of a text within JSON, where some characters are two or six. */
export const jsonSize = (text: string): number => utf8Size(JSON.stringify(text)) - 2;

/** Writes a text, cut between two characters and marked with "…" where it is too long. */
export function fit(
  text: string,
  { most, size = (piece) => piece.length, escape = (piece) => piece }: Fit,
): string {
  const cutMark = "…";
  let [written, used] = ["", 0];
  let fitting = "";
  for (const character of plain(text)) {
    const piece = escape(character);
    used += size(piece);
    if (used > most) return `${fitting}${cutMark}`;
    written += piece;
    if (used <= most - size(cutMark)) fitting = written;
  }
  return written;
}

/** {@link fit}, on one line. */
export function fitLine(text: string, how: Fit): string {
  return fit(oneLine(text), how);
}

/** A value as JSON on one line: what is no text is escaped, so that reading it gives the same value. */
export function jsonLine(value: Json): string {
  const toEscape = (character: string): string =>
    `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(noText, toEscape);
}

/** A text with a space in place of each line end and run of spaces. */
export function oneLine(text: string): string {
  return text.replace(/\s+/gu, " ").trim();
}

/** A text without what is no text: `\r\n` ends a line, the rest is replaced. */
function plain(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(noText, "\ufffd");
}

const severityWords: Record<Severity, string> = { info: "Info", warning: "Warning", critical: "Critical" };

/** What stands beside title and body wherever people read: a name and a value each. */
export function factsOf({ severity, subject, event_type }: Message): [name: string, value: string][] {
  const about = subject.name === undefined ? subject.id : `${subject.name} (${subject.id})`;
  return [
    ["Severity", severityWords[severity]],
    ["About", `${subject.type} ${about}`],
    ["Event", event_type],
  ];
}

/** The address of a message in a form that no markup can be hidden in; null where there is none. */
export function linkOf({ url }: Message): string | null {
  const parsed = url === undefined ? null : parsedUrl(url);
  if (parsed === null) return null;
  const { protocol, href } = parsed;
  if (protocol !== "https:" && protocol !== "http:") return null;
  return href.length > 1024
    ? null
    : href.replace(/[|<>()[\]"'`*~\\]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
