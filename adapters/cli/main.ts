#!/usr/bin/env node
import { processContext } from "./process-context.ts";
import { runCommandLine } from "./program.ts";

process.exitCode = await runCommandLine(process.argv.slice(2), processContext);
