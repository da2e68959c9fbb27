/** Modules that a command is given as files, as folders, or on standard input. */
import { statSync } from "node:fs";
import { FolderError, readFolder } from "../sync/read-folder.ts";
import type { CommandContext } from "./context.ts";
import { UsageError } from "./failure.ts";
import { readText } from "./read-text.ts";

/** A module, and the file that it stands in. */
export interface GivenModule {
  /** As it was given, or below the folder that was; `-` is standard input. */
  file: string;
  content: string;
}

/**
 * Reads all of them before anything is done with the first. Of a folder these are the files that end with `.yaml` or `.yml`, at any depth, in
 * the order of their paths.
 *
 * @throws {UsageError} Where a file can't be read, a folder has none, or two files are one module: each upload would undo the other.
 */
export async function readModules(
  context: Pick<CommandContext, "readInput">,
  paths: readonly string[],
): Promise<GivenModule[]> {
  const given: GivenModule[] = [];
  for (const path of paths)
    if (isFolder(path)) given.push(...(await readBelow(path)));
    else given.push({ file: path, content: await readText(context, path) });
  requireApart(given);
  return given;
}

function requireApart(given: readonly GivenModule[]): void {
  const files = new Map<string, string>();
  for (const { file, content } of given) {
    const name = /^name:[ \t]*["']?([a-z0-9][a-z0-9._-]*)/m.exec(content)?.[1];
    if (name === undefined) continue;
    const other = files.get(name);
    if (other !== undefined) throw new UsageError(`${other} and ${file} are both the module ${name}.`);
    files.set(name, file);
  }
}

async function readBelow(folder: string): Promise<GivenModule[]> {
  const { files, faults } = await readFolder(folder).catch((error: unknown) => {
    throw error instanceof FolderError ? new UsageError(error.message) : error;
  });
  const [fault] = faults;
  const place = folder.replace(/\/+$/, "");
  if (fault) throw new UsageError(`${place}/${fault.file}: ${fault.message}`);
  if (files.length === 0) throw new UsageError(`${folder} has no file that ends with .yaml or .yml.`);
  return files.map(({ path, text }) => ({ file: `${place}/${path}`, content: text }));
}

function isFolder(path: string): boolean {
  return path !== "-" && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
