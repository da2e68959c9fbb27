/** A project of somebody else, with the package as it is published. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../architecture/source-tree.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Packs the build into the `node_modules` of a new folder, beside what it depends on; gives the folder. */
export function packedProject(): string {
  const folder = temporaryFolder();
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(join(repository, "node_modules"))) {
    if (!name.startsWith(".")) symlinkSync(join(repository, "node_modules", name), join(modules, name));
  }
  const pack = ["pack", "--ignore-scripts", "--offline", "--silent", "--pack-destination", folder];
  const file = execFileSync("npm", pack, { cwd: repository, encoding: "utf8" }).trim();
  execFileSync("tar", ["-xzf", join(folder, file), "-C", folder]);
  renameSync(join(folder, "package"), join(modules, "fleetwright"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}
