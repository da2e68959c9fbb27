// Not the whole package: fifteen files more, none of which is used, for each program that imports the library.
import { createPatch } from "diff/lib/patch/create.js";

/** Longest diff in a result, bytes of UTF-8. */
export const maxDiffBytes = 16_384;

/** Beyond this many edits a diff costs more than it tells. */
const maxEdits = 2000;

/** A unified diff of two texts, cut at 16 KiB; null where either is no text or there is too much between them. */
export function diffText(name: string, before: Uint8Array, after: Uint8Array): string | null {
  const [from, to] = [decodeText(before), decodeText(after)];
  if (from === null || to === null) return null;
  if (from === "") return diffFromNothing(name, to);
  const patch = createPatch(name, from, to, undefined, undefined, { maxEditLength: maxEdits });
  if (patch === undefined) return null;
  // The first two lines are an index for patch files of many parts.
  return cut(patch.slice(patch.indexOf("\n---") + 1));
}

/** What the library would say of a new file, which most diffs are about, without looking for common lines. */
function diffFromNothing(name: string, to: string): string | null {
  const lines = to.split("\n");
  const isEnded = lines.at(-1) === "";
  if (isEnded) lines.pop();
  if (lines.length > maxEdits) return null;
  const head = `--- ${name}\n+++ ${name}\n`;
  if (lines.length === 0) return head;
  const body = `@@ -0,0 +1,${lines.length} @@\n+${lines.join("\n+")}\n`;
  return cut(head + body + (isEnded ? "" : "\\ No newline at end of file\n"));
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** UTF-8 without NUL is a text; anything else is null. */
export function decodeText(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return null;
  }
}

function cut(text: string): string {
  // A character takes at most three bytes of UTF-8 for each of its units.
  if (text.length * 3 <= maxDiffBytes) return text;
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= maxDiffBytes) return text;
  const mark = "\n… cut\n";
  // Without `fatal` a character cut in two becomes a replacement character, which is dropped.
  const kept = new TextDecoder().decode(bytes.subarray(0, maxDiffBytes - mark.length - 2));
  return kept.replace(/\uFFFD$/, "") + mark;
}
