/** Runs the command line in this process. */
import { exitCode } from "./context.ts";
import { processContext, unwrittenOutput } from "./process-context.ts";
import { runCommandLine } from "./program.ts";

const code = await runCommandLine(process.argv.slice(2), processContext);
process.exitCode = code;
const reason = await unwrittenOutput();
if (reason !== null) {
  process.stderr.write(`fleetwright: the output could not be written: ${reason}\n`);
  process.exitCode = code === exitCode.ok ? exitCode.failure : code;
}
// Nobody waits for a connection that somebody who types a line has given up.
if (process.argv[2] === "complete") process.exit();
// Who does not read the log holds up no end.
setTimeout(() => process.exit(), 1000).unref();
