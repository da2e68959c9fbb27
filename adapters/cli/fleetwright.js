#!/usr/bin/env node
/**
 * Starts the command line that the build has made. It is there before the first build: npx links the commands of a folder once, when it is
 * first asked for one, and would never find one that came later.
 */
import { existsSync } from "node:fs";

const main = new URL("../../dist/program/main.js", import.meta.url);
if (existsSync(main)) {
  void import(main.href);
} else {
  process.stderr.write(
    "fleetwright: not built yet. Run `npm run build`, or `npm start`, which builds and serves.\n",
  );
  process.exitCode = 2;
}
