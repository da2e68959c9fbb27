/**
 * The bundled server, as `npm start` runs it: `fleetwright serve`, set up by flags and environment (docs/configuration.md).
 * To run a server inside a program of your own, see `startServer` of `fleetwright/h3`; without any server, examples/embed.
 */
import { processContext, runCommandLine } from "fleetwright/cli";

process.exitCode = await runCommandLine(["serve", ...process.argv.slice(2)], processContext);
