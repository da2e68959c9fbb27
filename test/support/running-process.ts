/** A process with a host of its own that runs one program and writes what that wrote. Gets a state folder. */
import { LocalHost } from "../../lib/host/local-host.ts";

const host = new LocalHost({ stateFolder: process.argv[2] ?? "" });
const command = { argv: ["/bin/sh", "-c", 'echo "$(id -u) $HOME"'] } as const;
const { stdout } = await host.run({ argv: [...command.argv] }, new AbortController().signal);
process.stdout.write(stdout);
