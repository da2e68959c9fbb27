/** The packages with native code, as small as they work: they stand beside the program, which does without where they are missing. */
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Architecture } from "./node.ts";
import { fetchPackage, lockedPackage } from "./registry.ts";
import { repository } from "./tools.ts";

/** What is the same everywhere, by package. */
const common: Readonly<Record<string, readonly string[]>> = {
  koffi: ["package.json", "LICENSE.txt", "index.cjs", "src/koffi/index.cjs", "src/koffi/src/static.cjs"],
  "@lydell/node-pty": ["package.json", "LICENSE", "index.js"],
};

const nativeParts = ["@koromix/koffi-linux", "@lydell/node-pty-linux"];

/** Puts what is the same everywhere into `node_modules` of a folder. */
export function placeShared(folder: string): void {
  for (const [name, files] of Object.entries(common))
    for (const file of files) copy(join(repository, "node_modules", name, file), folder, `${name}/${file}`);
}

/**
 * Puts what is for one kind of machine into `node_modules` of a folder.
 *
 * @param cache - Folder for what was brought from the registry before.
 */
export function placeNatives(folder: string, architecture: Architecture, cache: string): void {
  for (const part of nativeParts) {
    const name = `${part}-${architecture}`;
    const installed = join(repository, "node_modules", name);
    copy(existsSync(installed) ? installed : fetchPackage(lockedPackage(name), cache), folder, name);
  }
}

function copy(from: string, folder: string, path: string): void {
  const to = join(folder, "node_modules", path);
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true });
}
