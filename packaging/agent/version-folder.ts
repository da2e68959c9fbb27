/** The folder of one version, as it stands on a machine: the program, what it loads, and what init systems need. */
import { chmodSync, copyFileSync, cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { placeNatives, placeShared } from "../natives.ts";
import { fetchNode, type Architecture } from "../node.ts";
import { NotBuilt, repository } from "../tools.ts";
import { makeExecutable } from "./executable.ts";

/** What is built of, and where to. */
export interface BuildParts {
  version: string;
  /** The bundled agent: for any Node, and for one that is inside. */
  script: string;
  program: string;
  /** Folder for what is brought and made on the way. */
  cache: string;
  /** Folder of the artifacts. */
  target: string;
}

/** Files of this folder that stand in every version. */
export const files = join(import.meta.dirname, "files");
const shared = [
  "fleetwright-agent.service",
  "fleetwright-agent.sysvinit",
  "fleetwright-agent.openrc",
  "supervise",
  "uninstall",
];
const licences = ["LICENSE-MIT", "LICENSE-APACHE"];

/** Fills a folder with the version that has Node inside. */
export function fillWithExecutable(folder: string, architecture: Architecture, parts: BuildParts): void {
  fillShared(folder);
  makeExecutable(join(folder, "fleetwright-agent"), { ...parts, architecture });
  copyFileSync(join(fetchNode(architecture, parts.cache), "LICENSE"), join(folder, "LICENSE-NODE"));
  placeShared(folder);
  placeNatives(folder, architecture, parts.cache);
}

/** Fills a folder with the version that runs on the Node of the machine. */
export function fillWithScript(
  folder: string,
  architectures: readonly Architecture[],
  parts: BuildParts,
): void {
  fillShared(folder);
  copyFileSync(parts.script, join(folder, "fleetwright-agent.js"));
  cpSync(join(files, "launcher"), join(folder, "fleetwright-agent"));
  placeShared(folder);
  for (const architecture of architectures) {
    try {
      placeNatives(folder, architecture, parts.cache);
    } catch (error) {
      if (!(error instanceof NotBuilt)) throw error;
      console.error(`node: without native code for ${architecture}: ${error.message}.`);
    }
  }
}

function fillShared(folder: string): void {
  mkdirSync(folder, { recursive: true });
  // Whoever built it may have had another umask.
  chmodSync(folder, 0o755);
  for (const file of shared) copyFileSync(join(files, file), join(folder, file));
  for (const file of licences) copyFileSync(join(repository, file), join(folder, file));
}
