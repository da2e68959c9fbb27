/** Programs that a type runs: as argument arrays, their messages in English, with an error that says what the program said. */
import { OrchestratorError } from "../../../errors.ts";
import type { Host, HostCommand, HostCommandResult } from "../../../host/host.ts";
import { startOf } from "../../../internal/canonical-json.ts";
import { refuseConfined } from "./platform.ts";

/** Where commands run, and what ends them. */
export interface Machine {
  readonly host: Host;
  readonly signal: AbortSignal;
  /** The program gets paths relative to the root folder of the host and acts there alone, so a confined host may run it. */
  readonly staysInRoot?: boolean;
}

/** Last lines of standard error that a failure quotes, and the longest part of each; before them the one that says what is wrong. */
const quotedLines = 3;
const quotedLineLength = 300;

/**
 * Runs a program that changes something. With `reads: "secret"` its messages are not told: they may quote what it read.
 *
 * @throws {OrchestratorError} `COMMAND_FAILED` where it ends otherwise than with 0; `HOST_ERROR` where it can't be started or
 * would act outside of the root folder of a confined host.
 */
export async function act(
  command: HostCommand,
  machine: Machine,
  { reads = "nothing secret" }: { reads?: "secret" | "nothing secret" } = {},
): Promise<HostCommandResult> {
  const result = await start(command, machine);
  const told = reads === "secret" ? { ...result, stderr: "" } : result;
  if (result.exitCode !== 0) throw commandFailed(command, told);
  return result;
}

/** Runs a program that changes something and whose output says how that went. As {@link act}, but any of `codes` is good. */
export async function attempt(
  command: HostCommand,
  machine: Machine,
  codes: readonly number[],
): Promise<HostCommandResult> {
  const result = await start(command, machine);
  if (result.exitCode === null || !codes.includes(result.exitCode)) throw commandFailed(command, result);
  return result;
}

/**
 * Asks a program, which must change nothing. Its output is taken apart, so it must not be cut, and told to nobody else.
 * `COMMAND_FAILED` where it ends with a code that is not among `codes`. Default: 0 alone.
 */
export async function ask(
  command: HostCommand,
  machine: Machine,
  codes: readonly number[] = [0],
): Promise<HostCommandResult> {
  const result = await start({ ...command, asks: true }, machine);
  if (result.exitCode === null || !codes.includes(result.exitCode)) throw commandFailed(command, result);
  if (!result.truncated.stdout) return result;
  const message = `The output of ${command.argv[0]} is longer than can be read.`;
  throw new OrchestratorError("HOST_ERROR", { message, details: { program: command.argv[0] } });
}

/** The error for a program that ended with an error; quotes what it wrote last, which the engine hides where it is secret. */
export function commandFailed({ argv }: HostCommand, result: HostCommandResult): OrchestratorError {
  const { exitCode, signal, stderr } = result;
  const how = exitCode === null ? `was ended by ${signal}` : `exited with ${exitCode}`;
  const quoted = lastLines(stderr);
  return new OrchestratorError("COMMAND_FAILED", {
    message: `${argv[0]} ${how}${quoted === "" ? "." : `: ${quoted}`}`,
    details: { program: argv[0], exit_code: exitCode, signal },
  });
}

async function start(
  command: HostCommand,
  { host, signal, staysInRoot = false }: Machine,
): Promise<HostCommandResult> {
  if (!staysInRoot) refuseConfined(host, command.argv[0]);
  signal.throwIfAborted();
  const environment = { ...command.environment, LC_ALL: "C" };
  const result = await host.run({ ...command, environment }, signal);
  // What an abort ended has no result worth reading.
  signal.throwIfAborted();
  return result;
}

function lastLines(text: string): string {
  const lines = text
    .replace(/[^\P{Cc}\n]/gu, " ")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const last = lines.slice(-quotedLines);
  // Git names what is in the way in between, and says last what could be done.
  const telling = lines.slice(0, -quotedLines).find((line) => /^(?:error|fatal): /.test(line));
  return [...(telling === undefined ? [] : [telling]), ...last]
    .map((line) => startOf(line, quotedLineLength))
    .join(" | ");
}
