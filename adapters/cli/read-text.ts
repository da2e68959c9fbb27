import { readFileSync } from "node:fs";
import { codeOf } from "../client/system-error.ts";
import type { CommandContext } from "./context.ts";
import { UsageError } from "./failure.ts";

/** Reads a file that a command names; `-` is standard input. */
export async function readText(context: Pick<CommandContext, "readInput">, file: string): Promise<string> {
  if (file === "-") return context.readInput();
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} can't be read (${codeOf(error)}).`);
  }
}
