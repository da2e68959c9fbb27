/** Programs of the machine that change it: started without a shell, their messages in English, their failure an error. */
import { OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";

/** Where a program runs and what it reads. */
export interface SystemProgramOptions {
  host: Host;
  signal: AbortSignal;
  /** For secrets: what a program reads is on no command line. Its messages are kept out of the error then. */
  stdin?: string;
}

/** Lines and characters of a program's complaint that an error quotes. */
const quotedLines = 3;
const quotedLength = 500;

/**
 * Runs a program of the machine to its end.
 *
 * @throws {OrchestratorError} `COMMAND_FAILED` with the exit code and the last lines of its standard error; `HOST_ERROR`
 *   where it can't be started.
 */
export async function runSystemProgram(
  argv: readonly [string, ...string[]],
  { host, signal, stdin }: SystemProgramOptions,
): Promise<void> {
  signal.throwIfAborted();
  const environment = { LC_ALL: "C" };
  const result = await host.run({ argv, environment, ...(stdin !== undefined && { stdin }) }, signal);
  const { exitCode, signal: killedBy } = result;
  if (exitCode === 0) return;
  const how = exitCode === null ? `was ended by ${killedBy}` : `exited with ${exitCode}`;
  const complaint = stdin === undefined ? lastLines(result.stderr) : "";
  throw new OrchestratorError("COMMAND_FAILED", {
    message: `${argv[0]} ${how}${complaint === "" ? "." : `: ${complaint}`}`,
    details: { program: argv[0], exit_code: exitCode, signal: killedBy },
  });
}

function lastLines(stderr: string): string {
  return stderr.trim().split("\n").slice(-quotedLines).join(" | ").slice(-quotedLength);
}
