/** The agent as one JavaScript file. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { repository } from "../tools.ts";

/** What is loaded from beside the file, where it is there: native code, and figures of machines without /proc. */
const external = ["koffi", "@lydell/node-pty", "systeminformation"];

/** Paths of the two forms. */
export interface Bundled {
  script: string;
  program: string;
}

const source = (path: string): string => join(repository, path);

const shared: BuildOptions = {
  bundle: true,
  platform: "node",
  format: "cjs",
  write: false,
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  logLevel: "error",
};

/** Messages of zod in fifty languages are a fifth of the program; the agent speaks English. */
const onlyEnglish: Plugin = {
  name: "only-english",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({
      contents: 'export { default as en } from "./en.js";',
    }));
  },
};

/** The agent, for a Node that is known to be new enough. */
async function bundleProgram(): Promise<string> {
  return textOf({
    ...shared,
    entryPoints: [source("adapters/cli/agent-main.ts")],
    target: "node20.19",
    external,
    plugins: [onlyEnglish],
    alias: {
      fleetwright: source("lib/index.ts"),
      "fleetwright/agent": source("lib/agent/index.ts"),
      "fleetwright/errors": source("lib/errors.ts"),
      "fleetwright/options": source("lib/option-table.ts"),
      "fleetwright/ports": source("lib/ports.ts"),
    },
    // Where what is loaded from beside the file is looked for: __filename is the executable where there is one.
    define: { "import.meta.url": "__fileUrl" },
    banner: { js: 'const __fileUrl = require("node:url").pathToFileURL(__filename).href;' },
  });
}

/**
 * Wraps the program for whatever Node there is on a machine. An older one can't even read the program, so it is a text to it until the
 * version is known.
 */
async function wrapProgram(program: string): Promise<string> {
  const check = await textOf({
    ...shared,
    entryPoints: [source("adapters/cli/node-version.ts")],
    target: "node8",
    format: "iife",
    globalName: "check",
  });
  return `#!/usr/bin/env node
"use strict";
${check.trim()}
var refusal = check.refuseNode(process.versions.node);
if (refusal !== null) {
  process.stderr.write(refusal);
  process.exitCode = 1;
} else {
  var vm = require("vm");
  var program = ${JSON.stringify(program)};
  vm.compileFunction(program, ["require", "module", "exports", "__filename", "__dirname"], {
    filename: __filename,
    importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })(require, module, exports, __filename, __dirname);
}
`;
}

/**
 * Writes `fleetwright-agent.js`, which any Node runs or refuses to run, and `program.cjs`, of which executables are made.
 *
 * @param folders - Where to.
 */
export async function bundleAgent(folders: Bundled): Promise<Bundled> {
  const text = await bundleProgram();
  const script = join(folders.script, "fleetwright-agent.js");
  const program = join(folders.program, "program.cjs");
  writeFileSync(program, text);
  writeFileSync(script, await wrapProgram(text), { mode: 0o755 });
  return { script, program };
}

async function textOf(options: BuildOptions): Promise<string> {
  const { outputFiles = [] } = await build(options);
  return outputFiles.map(({ text }) => text).join("");
}
