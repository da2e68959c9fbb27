/** The command line, to run inside another program. */
export { exitCode } from "./context.ts";
export type { CommandContext, ExitCode } from "./context.ts";
export { processContext } from "./process-context.ts";
export { runCommandLine } from "./program.ts";
