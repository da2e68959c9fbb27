import { readFileSync } from "node:fs";
import { codeOf } from "../client/system-error.ts";
import type { CommandContext } from "./context.ts";
import { UsageError } from "./failure.ts";

/**
 * Reads a file that a command names; `-` is standard input.
 *
 * @throws {UsageError} Where it can't be read, and where nothing comes on standard input: whatever writes into the pipe has failed.
 */
export async function readText(context: Pick<CommandContext, "readInput">, file: string): Promise<string> {
  if (file === "-") {
    const text = await context.readInput();
    if (text === "") throw new UsageError("Standard input is empty.");
    return text;
  }
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} can't be read (${codeOf(error)}).`);
  }
}
