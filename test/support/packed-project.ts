/** A project of somebody else, with the package as it is published. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../architecture/source-tree.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Packed once for all files of tests that a process runs: it takes seconds, and no build comes in between. */
let packed: Buffer | undefined;

/** Packs the build into the `node_modules` of a new folder, beside what it depends on; gives the folder. */
export function packedProject(): string {
  const folder = temporaryFolder();
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(join(repository, "node_modules"))) {
    if (!name.startsWith(".")) symlinkSync(join(repository, "node_modules", name), join(modules, name));
  }
  const file = join(folder, "fleetwright.tgz");
  writeFileSync(file, (packed ??= pack()));
  execFileSync("tar", ["-xzf", file, "-C", folder]);
  renameSync(join(folder, "package"), join(modules, "fleetwright"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

function pack(): Buffer {
  const folder = temporaryFolder();
  const args = ["pack", "--ignore-scripts", "--offline", "--silent", "--pack-destination", folder];
  const name = execFileSync("npm", args, { cwd: repository, encoding: "utf8" }).trim();
  return readFileSync(join(folder, name));
}
