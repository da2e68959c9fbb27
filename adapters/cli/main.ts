#!/usr/bin/env node
import { processContext } from "./process-context.ts";
import { runCommandLine } from "./program.ts";

// Whoever reads may stop reading, as `head` does: that ends neither a server nor an apply in the middle of it.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
}

process.exitCode = await runCommandLine(process.argv.slice(2), processContext);
