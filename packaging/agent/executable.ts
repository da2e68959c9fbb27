/** The agent as one executable with Node inside: Node's single executable applications. */
import { chmodSync, copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchNode, type Architecture } from "../node.ts";
import { repository, run } from "../tools.ts";

/** The mark in Node's binary that says whether it has a program inside. */
const fuse = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** 10 MB less; what the agent computes at length, such as hashes and signatures, is not computed in JavaScript. */
const lessMemory = "--optimize-for-size";

/** What an executable is made of. */
export interface ExecutableParts {
  /** The bundled program. */
  program: string;
  architecture: Architecture;
  /** Folder for what is brought and made on the way. */
  cache: string;
}

/**
 * Makes the executable.
 *
 * @param target - The file to make.
 */
export function makeExecutable(target: string, parts: ExecutableParts): void {
  const { program, architecture, cache } = parts;
  const node = join(fetchNode(architecture, cache), "bin/node");
  const blob = join(cache, `program-${architecture}.blob`);
  // The compiled code of the program is good for this very Node alone, which must run here to make it.
  const isOwn = architecture === process.arch;
  const maker = isOwn ? node : join(fetchNode(process.arch as Architecture, cache), "bin/node");
  const settings = join(cache, `program-${architecture}.json`);
  const configuration = {
    main: program,
    output: blob,
    disableExperimentalSEAWarning: true,
    useCodeCache: isOwn,
    execArgv: [lessMemory],
    // NODE_OPTIONS of a machine is not for its agent.
    execArgvExtension: "none",
  };
  writeFileSync(settings, JSON.stringify(configuration));
  // Compiled code is good for a Node with the same options alone.
  run(maker, [lessMemory, "--experimental-sea-config", settings]);
  copyFileSync(node, target);
  chmodSync(target, 0o755);
  const postject = join(repository, "node_modules/postject/dist/cli.js");
  run(process.execPath, [postject, target, "NODE_SEA_BLOB", blob, "--sentinel-fuse", fuse]);
}
