import { readFileSync } from "node:fs";
import { codeOf } from "../client/system-error.ts";
import type { CommandContext } from "./context.ts";
import { UsageError } from "./failure.ts";

/**
 * Reads a file that a command names; `-` is standard input.
 *
 * @throws {UsageError} Where it can't be read or is no UTF-8, and where nothing comes on standard input: whatever writes into the pipe has failed.
 */
export async function readText(context: Pick<CommandContext, "readInput">, file: string): Promise<string> {
  if (file === "-") {
    const text = await context.readInput();
    if (text === "") throw new UsageError("Standard input is empty.");
    return text;
  }
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new UsageError(`${file} can't be read (${codeOf(error)}).`);
  }
  return decodeText(bytes, file);
}

/**
 * Reads bytes as UTF-8. Others than text would come out as something else, which nobody is told: a secret can't be read back.
 *
 * @param from - What they were read from.
 * @throws {UsageError} Where they are none.
 */
export function decodeText(bytes: Uint8Array, from: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`${from} is no text in UTF-8.`);
  }
}
