import { fsyncSync, writeSync } from "node:fs";

/** Writes all of a text to a new file that is open. A write may take less than it was given, and say so by a number alone. On disk when it returns. */
export function writeWhole(file: number, text: string): void {
  const bytes = Buffer.from(text, "utf8");
  for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
  fsyncSync(file);
}
