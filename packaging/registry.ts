/** Packages of the npm registry for another kind of machine than this one, each held against a hash that is known beforehand. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { NotBuilt, ProgramFailed, repository, run } from "./tools.ts";

/** A package and its hash, as npm writes it. */
export interface Wanted {
  name: string;
  version: string;
  /** `sha512-` and base64. */
  integrity: string;
}

/**
 * Brings a package.
 *
 * @param cache - Folder for what was brought before.
 * @returns The folder of the package.
 * @throws {NotBuilt} Where it can't be had.
 */
export function fetchPackage({ name, version, integrity }: Wanted, cache: string): string {
  const folder = join(cache, `${name.replace("/", "-")}-${version}`);
  if (existsSync(folder)) return join(folder, "package");
  const partial = `${folder}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { recursive: true });
  const archive = join(partial, packInto(partial, `${name}@${version}`));
  const found = `sha512-${createHash("sha512").update(readFileSync(archive)).digest("base64")}`;
  if (found !== integrity) {
    rmSync(partial, { recursive: true });
    throw new Error(`${name}@${version} is not what it was: its hash is ${found}, not ${integrity}.`);
  }
  run("tar", ["-xzf", archive, "-C", partial]);
  rmSync(archive);
  renameSync(partial, folder);
  return join(folder, "package");
}

function packInto(folder: string, spec: string): string {
  try {
    const told = run("npm", ["pack", spec, "--json", "--pack-destination", folder], { cwd: folder });
    const [packed] = JSON.parse(told) as { filename: string }[];
    return packed?.filename.replace("@", "").replace("/", "-") ?? "";
  } catch (error) {
    if (!(error instanceof ProgramFailed)) throw error;
    const [line = ""] = error.message.match(/npm error [^;]*/) ?? [];
    throw new NotBuilt(`the npm registry did not give ${spec} (${line})`);
  }
}

/** What the lock file says about a package, be it for another kind of machine. */
export function lockedPackage(name: string): Wanted {
  const lock = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version: string; integrity: string } | undefined>;
  };
  const found = lock.packages[`node_modules/${name}`];
  if (found === undefined) throw new NotBuilt(`package-lock.json has no ${name}`);
  return { name, version: found.version, integrity: found.integrity };
}
